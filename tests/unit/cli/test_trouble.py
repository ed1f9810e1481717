"""What a person, an agent or the system can do to a command: one clear line, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pannier_hook import events

# Without root's right to pass by every mode.
LESS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def pannier(
    *args: str | bytes, cwd: Path, stdout: int = subprocess.PIPE, **environ: str
) -> subprocess.CompletedProcess[str]:
    """The real command, without any engine in reach, and without root's rights over files."""
    env = {**os.environ, "DOCKER_HOST": f"unix://{cwd}/no-engine.sock", **environ}
    return subprocess.run(
        [*LESS, sys.executable, "-m", "pannier", *args],
        cwd=cwd,
        env=env,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the groups other and scout."""
    home = tmp_path / "home"
    assert pannier("init", str(home), cwd=tmp_path).returncode == 0
    for folder in ("other", "scout"):
        assert pannier("group", "add", folder, cwd=home).returncode == 0
    return home


def _doctor(home: Path) -> dict[str, list[str]]:
    """What doctor says of each subject."""
    done = pannier("doctor", "--json", cwd=home)
    assert done.stderr == ""
    said: dict[str, list[str]] = {}
    for finding in json.loads(done.stdout):
        said.setdefault(finding["subject"], []).append(finding["message"])
    return said


def _report(home: Path, *, text: str, event: str = "stop") -> None:
    new = home / "groups/scout/spool/new"
    new.mkdir(exist_ok=True)
    # As an agent could write it: the hook's own words are clean.
    details = json.dumps({"event": event, "text": text})
    made = events.Event(events.ERROR, id="0" * 16, at=0, client="claude").encode()
    data = made.replace(b'"details":{}', f'"details":{details}'.encode())
    (new / f"{len(list(new.iterdir()))}.json").write_bytes(data)


def test_what_a_hook_reports_cannot_speak_for_pannier(home: Path) -> None:
    """It stays one line of bounded length, and a terminal obeys none of it."""
    _report(home, text="\ud800\x1b]52;c;eA==\x07\r\nok      allowlist: all good")
    _report(home, text="long", event="e" * 2_000)
    done = pannier("doctor", cwd=home)
    assert (done.returncode, done.stderr) == (1, "")
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert "\ufffd]52;c;eA== ok allowlist: all good" in done.stdout
    assert "ok      allowlist: all good" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 1_000
    assert done.stdout.count("rm ") == 1
    assert any("\ufffd]52" in message for message in _doctor(home)["scout"])


@pytest.mark.parametrize("kind", ["link", "file", "shut"])
def test_an_agent_cannot_silence_its_spool(home: Path, kind: str) -> None:
    """Where nothing can be read of reports, doctor says so."""
    new = home / "groups/scout/spool/new"
    if kind == "link":
        new.symlink_to("/etc")
    elif kind == "file":
        new.touch()
    else:
        new.mkdir(mode=0)
    assert any(str(new) in message for message in _doctor(home)["scout"])


def test_a_spool_without_reports_is_no_problem(home: Path) -> None:
    """The hook makes the folder when it has something to report."""
    assert not any("spool" in message for message in _doctor(home)["scout"])


@pytest.mark.parametrize("path", ["memory", "group.yaml", "client", "spool"])
def test_doctor_looks_at_the_rest_when_something_is_shut(home: Path, path: str) -> None:
    """Of the group, and of the others."""
    (home / "groups/other" / path).chmod(0)
    said = _doctor(home)
    assert any("Permission denied" in message for message in said["other"])
    assert any("runs as" in message for message in said["scout"])


@pytest.mark.parametrize(
    "text", ["client: 2001-13-45", "env_from: [2001-13-45]", "client: a\nclient: b", "a: ["]
)
def test_one_broken_group_does_not_hide_the_others(home: Path, text: str) -> None:
    """Neither in doctor nor in the list; the file is named."""
    file = home / "groups/other/group.yaml"
    file.write_text(text)
    said = _doctor(home)
    assert any(str(file) in message for message in said["other"])
    assert any("runs as" in message for message in said["scout"])
    done = pannier("group", "list", cwd=home)
    assert "scout  claude" in done.stdout
    assert "Traceback" not in done.stderr
    if text != "client: 2001-13-45":  # no client, but a name
        assert (done.returncode, str(file) in done.stderr) == (1, True)
        listed = json.loads(pannier("group", "list", "--json", cwd=home).stdout)
        assert str(file) in next(g["error"] for g in listed if g["folder"] == "other")


def test_an_unknown_client_names_the_file_that_says_it(home: Path) -> None:
    """Not only the name that nobody knows."""
    file = home / "groups/other/group.yaml"
    file.write_text("client: clod\n")
    assert _doctor(home)["other"] == [f"{file}: no client is called 'clod'"]


def test_an_agent_of_ones_own_needs_an_image(home: Path) -> None:
    """Said when the group is made."""
    done = pannier("group", "add", "own", "--client", "custom", cwd=home)
    assert f"name its image in {home}/groups/own/group.yaml" in done.stderr


def _shut_groups(home: Path) -> Path:
    (home / "groups").chmod(0)
    return home / "groups"


def _shut_memory(home: Path) -> Path:
    (home / "groups/scout/memory").chmod(0)
    return home / "groups/scout/memory"


def _read_only_groups(home: Path) -> Path:
    (home / "groups").chmod(0o500)
    return home / "groups/new"


def _dangling(home: Path) -> Path:
    (home / "groups/new").symlink_to("nowhere")
    return home / "groups/new"


@pytest.mark.parametrize(
    ("damage", "args"),
    [
        (_shut_groups, ["run", "scout"]),
        (_shut_groups, ["group", "list"]),
        (_shut_groups, ["group", "add", "new"]),
        (_shut_groups, ["mounts", "show", "scout"]),
        (_shut_memory, ["run", "scout"]),
        (_read_only_groups, ["group", "add", "new"]),
        (_dangling, ["group", "add", "new"]),
    ],
)
def test_what_the_system_refuses_is_one_line_with_the_path(
    home: Path, damage: Callable[[Path], Path], args: list[str]
) -> None:
    """1, the path and the reason."""
    path = damage(home)
    done = pannier(*args, cwd=home)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "None" not in done.stderr
    assert str(path) in done.stderr


def test_a_directory_that_was_removed(home: Path, tmp_path: Path) -> None:
    """It stands in the way only of what needs it."""
    gone = tmp_path / "gone"
    program = f"rmdir {gone}; exec {sys.executable} -m pannier"
    for options, status in (("", 2), (f"--home {home}", 0)):
        gone.mkdir()
        shell = ["sh", "-c", f"{program} {options} group list"]
        done = subprocess.run(shell, cwd=gone, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "environ", "status"),
    [
        (["group", "list"], {"PANNIER_HOME": "~nobody-of-this-name/x"}, 2),
        (["--home", "~nobody-of-this-name/x", "group", "list"], {}, 2),
        (["--home", "x" * 5_000, "group", "list"], {}, 1),
        (["init", "x" * 5_000], {}, 1),
        (["init", b"\xff"], {}, 2),
        (["init", "a\nb"], {}, 2),
        (["group", "add", "x", "--image", ""], {}, 2),
        (["group", "add", "x", "--client", ""], {}, 2),
        (["run", "scout", "--image", "", "--dry-run"], {}, 2),
        (["up", "scout", "--client", "", "--dry-run"], {}, 2),
    ],
)
def test_odd_words_get_one_clear_line(
    home: Path, args: list[str | bytes], environ: dict[str, str], status: int
) -> None:
    """No traceback, nothing made, and no page of text."""
    done = pannier(*args, cwd=home, **environ)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 1_000
    assert not (home / "groups/x").exists()


def test_a_full_disk_takes_no_output(home: Path) -> None:
    """Standard output that cannot be written is an error like others."""
    with Path("/dev/full").open("w") as full:
        done = pannier("group", "list", cwd=home, stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, "pannier: No space left on device\n")


def test_names_that_are_no_text_are_shown_all_the_same(home: Path, tmp_path: Path) -> None:
    """A home that somebody moved below such a name is listed, for people and for programs."""
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/\xff"))
    shutil.move(home, odd)
    done = pannier("--home", str(odd), "group", "show", "scout", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{tmp_path}/\\udcff/groups/scout" in done.stdout
    for encoding in ("utf-8", "latin-1"):
        options = ["--home", str(odd), "group", "show", "scout", "--json"]
        done = pannier(*options, cwd=tmp_path, PYTHONIOENCODING=encoding)
        assert json.loads(done.stdout)["path"] == f"{odd}/groups/scout"

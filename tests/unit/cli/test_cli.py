"""The command as a person meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pannier import cli


def pannier(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the real command in a process of its own, without any engine in reach."""
    env = {**os.environ, "DOCKER_HOST": f"unix://{cwd}/no-engine.sock", **environ}
    env.pop("PANNIER_HOME", None)
    return subprocess.run(
        [sys.executable, "-m", "pannier", *args],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the group scout."""
    assert pannier("init", cwd=tmp_path).returncode == 0
    assert pannier("group", "add", "scout", cwd=tmp_path).returncode == 0
    return tmp_path


def test_init_makes_a_home_once(tmp_path: Path) -> None:
    """A second `init` finds the home and changes nothing."""
    first = pannier("init", "agents", cwd=tmp_path)
    assert (first.returncode, first.stdout) == (0, f"Made a home in {tmp_path}/agents\n")
    marker = tmp_path / "agents" / "pannier.yaml"
    marker.write_text("base_image: mine\n")
    second = pannier("init", "agents", cwd=tmp_path)
    assert (second.returncode, second.stdout) == (
        0,
        f"There is a home already in {tmp_path}/agents\n",
    )
    assert marker.read_text() == "base_image: mine\n"


def test_init_dry_run_makes_nothing(tmp_path: Path) -> None:
    """`--dry-run` says what would be made."""
    assert pannier("init", "agents", "--dry-run", cwd=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_new_group_has_its_scaffold_and_its_settings(home: Path) -> None:
    """Memory begins with its map and its rules; `client: claude` unless said otherwise."""
    root = home / "groups" / "scout"
    files = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    assert files == [
        "group.yaml",
        "instructions.prepend.md",
        "memory/index.md",
        "memory/system/definition.md",
        "memory/system/index.md",
    ]
    assert (root / "group.yaml").read_text() == "client: claude\n"


def test_group_add_writes_what_was_chosen(home: Path) -> None:
    """Client, image and handed-on names end up in `group.yaml`."""
    options = ["--client", "codex", "--image", "mine:1", "--env-from", "A", "--env-from", "B"]
    assert pannier("group", "add", "other", *options, cwd=home).returncode == 0
    shown = json.loads(pannier("group", "show", "other", "--json", cwd=home).stdout)
    assert (shown["client"], shown["image"], shown["env_from"]) == ("codex", "mine:1", ["A", "B"])
    listed = json.loads(pannier("group", "list", "--json", cwd=home).stdout)
    assert [group["folder"] for group in listed] == ["other", "scout"]


def test_a_second_group_of_the_same_name_is_refused(home: Path) -> None:
    """Nothing of the first is touched."""
    (home / "groups/scout/group.yaml").write_text("client: codex\n")
    again = pannier("group", "add", "scout", cwd=home)
    assert again.returncode == 2
    assert "there is a group scout already" in again.stderr
    assert (home / "groups/scout/group.yaml").read_text() == "client: codex\n"


@pytest.mark.parametrize(
    ("args", "status", "line"),
    [
        (["group", "add", "Scout"], 2, "'Scout' cannot name a group"),
        (["group", "add", "x", "--client", "nobody"], 2, "no client is called 'nobody'"),
        (["group", "add", "x", "--env-from", "A=B"], 2, "'A=B'"),
        (["group", "show", "nobody"], 2, "no group nobody"),
        (["run", "nobody"], 2, "no group nobody"),
        (["run", "scout", "--thread", "a b", "--dry-run"], 2, "'a b' cannot name a thread"),
        (["run", "scout", "--client", "custom", "--dry-run"], 2, "no image is named"),
        (["run", "scout", "--json"], 2, "--json goes with --dry-run"),
        (["run", "scout", "--cwd", "nowhere", "--dry-run"], 2, "there is no folder"),
        (["run", "scout"], 1, "no engine answers"),
        (["ps"], 1, "no engine answers"),
        (["stop", "scout"], 1, "no engine answers"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_bad_input_gets_one_clear_line(home: Path, args: list[str], status: int, line: str) -> None:
    """A wrong word ends with 2, work that failed with 1, and no traceback is shown."""
    done = pannier(*args, cwd=home)
    assert done.returncode == status, done.stderr
    assert line in done.stderr
    assert "Traceback" not in done.stderr


def test_outside_of_a_home_the_way_out_is_named(tmp_path: Path) -> None:
    """Every command that needs a home says how to make one."""
    done = pannier("group", "list", cwd=tmp_path)
    assert done.returncode == 2
    assert "pannier init" in done.stderr


def test_a_typo_in_the_settings_names_file_and_setting(home: Path) -> None:
    """The nearest known name is offered."""
    file = home / "groups/scout/group.yaml"
    file.write_text("clinet: claude\n")
    done = pannier("run", "scout", cwd=home)
    assert done.returncode == 2
    assert f"{file}: clinet is not a setting" in done.stderr
    assert "Did you mean client?" in done.stderr


def test_dry_run_shows_the_container_and_writes_nothing(home: Path) -> None:
    """All mounts, the user and the image; values that are handed on stay hidden."""
    (home / "groups/scout/group.yaml").write_text("env_from: [SECRET_KEY]\n")
    before = sorted(home.rglob("*"))
    done = pannier("run", "scout", "--dry-run", cwd=home, SECRET_KEY="hush-hush")
    assert done.returncode == 0, done.stderr
    assert f"{home}/groups/scout/memory → /workspace/agent/memory (rw)" in done.stdout
    assert "SECRET_KEY" in done.stdout
    assert "hush-hush" not in done.stdout
    assert sorted(home.rglob("*")) == before


def test_dry_run_for_programs(home: Path) -> None:
    """The same as JSON; the provider switch changes client, HOME and nothing else."""
    both = [
        json.loads(pannier("run", "scout", "--client", c, "--dry-run", "--json", cwd=home).stdout)
        for c in ("claude", "codex")
    ]
    mounts = [{m["target"]: m["source"] for m in plan["mounts"]} for plan in both]
    homes = [m.pop("/home/agent") for m in mounts]
    assert homes == [f"{home}/groups/scout/client/{c}" for c in ("claude", "codex")]
    assert mounts[0] == mounts[1]
    assert set(mounts[0]) == {
        "/workspace/agent/memory",
        "/workspace/agent/files",
        "/workspace/agent/agent-memory",
        "/workspace/agent/conversations",
        "/run/pannier/instructions",
        "/run/pannier/spool",
        "/run/pannier/inbox",
    }


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_has_a_help_with_an_example(tmp_path: Path, name: str) -> None:
    """`--help` works outside of a home, and shows how a command is used."""
    done = pannier(name, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"pannier {name}" in done.stdout.partition("Example:")[2]


def test_doctor_without_an_engine_says_so_and_goes_on(home: Path) -> None:
    """One missing part does not hide the others."""
    done = pannier("doctor", "--json", cwd=home)
    assert done.returncode == 1
    findings = json.loads(done.stdout)
    subjects = {f["subject"]: f["level"] for f in findings}
    assert subjects["engine"] == "problem"
    assert {"allowlist", "scout"} <= set(subjects)


def test_doctor_shows_what_the_hook_reported(home: Path) -> None:
    """An event file of the hook becomes a finding; what is no event does not hide it."""
    new = home / "groups/scout/spool/new"
    new.mkdir()
    (new / "0").write_bytes(b"\xff not an event")
    (new / "link").symlink_to("/etc/passwd")
    hook = Path(__file__).parents[3] / "hooks/bin/pannier-hook"
    subprocess.run(
        [hook, "session-start", "--client", "claude", "--nonsense"],
        env={"PANNIER_ROOT": str(new.parents[1]), "PANNIER_SPOOL": str(new.parent)},
        input="{}",
        text=True,
        check=True,
    )
    done = pannier("doctor", cwd=home)
    assert "the hook reported" in done.stdout
    assert "--nonsense" in done.stdout
    assert "root:" not in done.stdout


def test_doctor_finds_a_hook_that_is_registered_twice(home: Path) -> None:
    """A person's own settings that call our hook, beside the image's, give memory twice."""
    state = home / "groups/scout/client/claude/.claude"
    state.mkdir(parents=True)
    (state / "settings.json").write_text('{"hooks": "pannier-hook session-start"}')
    done = pannier("doctor", cwd=home)
    assert "client/claude/.claude/settings.json calls pannier-hook" in done.stdout

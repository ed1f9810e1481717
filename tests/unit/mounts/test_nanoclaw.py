"""`pannier mounts import`: NanoClaw's mount-allowlist.json."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import assume, given
from hypothesis import strategies as st

from pannier.cli import pannier
from pannier.errors import PannierError, SettingsError
from pannier.mounts import allowlist
from pannier.mounts.edit import with_block
from pannier.mounts.names import Blocked
from pannier.mounts.nanoclaw import translate


def text(**changes: object) -> str:
    return json.dumps({"allowedRoots": [], "blockedPatterns": []} | changes)


@pytest.mark.parametrize(
    ("said", "rw"),
    [
        ({"allowReadWrite": True}, True),
        ({"allowReadWrite": False}, False),
        ({"readOnly": False}, True),
        ({"readOnly": True}, False),
        ({}, False),
        ({"allowReadWrite": True, "readOnly": True}, False),
    ],
)
def test_a_root_is_writable_only_where_the_file_says_so(said: dict[str, bool], rw: bool) -> None:
    """Either spelling counts; without one, or in doubt, it is read-only."""
    (root,) = translate(text(allowedRoots=[{"path": "/a", **said}]), "f").roots
    assert (root.path, root.rw, root.narrowed) == ("/a", rw, "")


def test_what_only_the_main_group_could_write_is_read_only() -> None:
    """There is no main group here, and the line says what was narrowed."""
    roots = [{"path": "/a", "allowReadWrite": True}]
    (root,) = translate(text(allowedRoots=roots, nonMainReadOnly=True), "f").roots
    assert not root.rw
    assert "nonMainReadOnly" in root.narrowed


@given(st.text("abc.-_*[]?", min_size=1, max_size=6), st.text("abc.-_", max_size=3))
def test_what_a_pattern_blocked_there_is_blocked_here(pattern: str, around: str) -> None:
    """Its patterns match inside of a name, so ours get wildcards."""
    assume(pattern.strip("*"))
    (ours,) = translate(text(blockedPatterns=[pattern]), "f").block
    if not set(pattern) & set("*[]?"):
        assert Blocked((ours,)).hits(f"{around}{pattern}{around}")


@given(st.text())
def test_what_is_not_such_a_file_is_an_error(content: str) -> None:
    """Whatever it holds: translated, or one line."""
    with contextlib.suppress(SettingsError):
        translate(content, "f")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"allowedRoots": [{"path": 3}]}', "[" * 9999])
def test_the_error_names_the_file(content: str) -> None:
    """And what is wrong with it."""
    with pytest.raises(SettingsError, match=r"mine\.json is no mount allowlist"):
        translate(content, "mine.json")


@pytest.mark.parametrize("roots", [[3], 3, None, [{}], [{"path": 3}]])
def test_the_error_has_no_word_of_the_program_s_own_types(roots: object) -> None:
    """A person knows the file, and not what reads it."""
    with pytest.raises(SettingsError, match="allowedRoots") as caught:
        translate(text(allowedRoots=roots), "f")
    assert not {"_Root", "instance", "dictionary", "tuple"} & set(caught.value.message.split())


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# mine\n",
        "block: []\n",
        "block:\n",
        "block: [x]  # kept\n",
        "block:\n- x # kept\n",
        "block:\n    - x\nallow: []\n",
        "allow:\n  - path: /a\n",
    ],
)
def test_names_are_added_to_the_person_s_text(before: str) -> None:
    """Comments and order stay, and a second time changes nothing."""
    after = with_block(before, "f", ("*a: b*", "x", "*#*"))
    assert set(allowlist.parse_allowlist(after, "f").block) == {"*a: b*", "x", "*#*"}
    assert ("# kept" in after) == ("# kept" in before)
    assert with_block(after, "f", ("x", "*#*")) == after


def imported(file: Path, *options: str) -> Result:
    return CliRunner().invoke(pannier, ["mounts", "import", str(file), *options])


def test_the_file_is_taken_over(tmp_path: Path) -> None:
    """Roots and patterns arrive in the allowlist; what cannot be mounted is left out and said."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "site").mkdir()
    file = tmp_path / "mount-allowlist.json"
    file.write_text(
        text(
            allowedRoots=[
                {"path": str(tmp_path / "notes"), "description": "Notes"},
                {"path": str(tmp_path / "site"), "allowReadWrite": True},
                {"path": "/etc"},
                {"path": str(tmp_path / "gone")},
            ],
            blockedPatterns=["password"],
        )
    )
    dry = imported(file, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert allowlist.load(os.environ).missing
    done = imported(file)
    assert done.exit_code == 0, done.output
    loaded = allowlist.load(os.environ).allowlist
    assert [(e.path, e.mode, e.description) for e in loaded.allow] == [
        (str(tmp_path / "notes"), "ro", "Notes"),
        (str(tmp_path / "site"), "rw", None),
    ]
    assert loaded.block == ("*password*",)
    assert done.output.count("Left out:") == 2
    assert "Narrower:" in done.output
    assert imported(file).exit_code == 0
    assert allowlist.load(os.environ).allowlist == loaded


@pytest.mark.parametrize("pattern", ["a/b", "a\nb", "a\0", "\ud800", " ", "*", "* *"])
def test_what_cannot_be_blocked_here_stops_it_before_a_root_is_granted(
    tmp_path: Path, pattern: str
) -> None:
    """A root without the names that were blocked in it would grant more than it did."""
    file = tmp_path / "theirs.json"
    roots = [{"path": str(tmp_path), "allowReadWrite": True}]
    file.write_text(text(allowedRoots=roots, blockedPatterns=["ok", pattern]))
    done = imported(file)
    assert isinstance(done.exception, SettingsError)
    assert "blockedPatterns.1" in done.exception.message
    assert done.exception.message.isprintable()
    assert allowlist.load(os.environ).missing


def test_roots_and_blocked_names_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    """Where the names cannot be added to the person's text, the roots are not either."""
    mine = allowlist.load(os.environ).file
    mine.parent.mkdir(parents=True)
    before = "allow:\n  - path: /a\n    except: &names [x]\nblock: *names\n"
    mine.write_text(before)
    (tmp_path / "site").mkdir()
    file = tmp_path / "theirs.json"
    file.write_text(
        text(allowedRoots=[{"path": str(tmp_path / "site")}], blockedPatterns=["secret"])
    )
    done = imported(file)
    assert isinstance(done.exception, PannierError)
    assert "cannot be edited" in done.exception.message
    assert mine.read_text() == before


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800", "/a\nb"])
def test_a_root_that_is_no_path_is_left_out(tmp_path: Path, path: str) -> None:
    """And said, without what a terminal would obey; the others are taken over."""
    file = tmp_path / "theirs.json"
    (tmp_path / "site").mkdir()
    file.write_text(text(allowedRoots=[{"path": str(tmp_path / "site")}, {"path": path}]))
    done = imported(file)
    assert done.exit_code == 0, done.output
    assert "Left out: /" in done.output
    assert [e.path for e in allowlist.load(os.environ).allowlist.allow] == [str(tmp_path / "site")]


@pytest.mark.parametrize("path", ["site", "./site", "~root/site", "", " "])
def test_a_root_that_counts_from_where_one_stands_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """It is not guessed which folder was meant."""
    (tmp_path / "site").mkdir()
    (tmp_path / "~root/site").mkdir(parents=True)
    (tmp_path / " ").mkdir()
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "theirs.json"
    file.write_text(text(allowedRoots=[{"path": path, "allowReadWrite": True}]))
    done = imported(file)
    assert done.exit_code == 0, done.output
    assert "neither an absolute path" in done.output
    assert allowlist.load(os.environ).allowlist.allow == ()


def test_roots_are_judged_one_after_the_other(tmp_path: Path) -> None:
    """Also with --dry-run: a folder below one that is about to be allowed is said to decide."""
    (tmp_path / "code/site").mkdir(parents=True)
    file = tmp_path / "theirs.json"
    roots = [{"path": str(tmp_path / "code")}, {"path": str(tmp_path / "code/site")}]
    file.write_text(text(allowedRoots=roots))
    assert "it decides from now on" in imported(file, "--dry-run").stderr
    assert imported(file, "--dry-run").stderr.endswith("mounts.yaml\n")
    assert imported(file).stderr.count("it decides from now on") == 1
    assert "Nothing new for" in imported(file).stderr


@pytest.mark.timeout(20)
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Neither as the file to take over nor as the allowlist."""
    os.mkfifo(tmp_path / "pipe")
    done = imported(tmp_path / "pipe")
    assert isinstance(done.exception, PannierError)
    mine = allowlist.load(os.environ).file
    mine.parent.mkdir(parents=True)
    os.mkfifo(mine)
    loaded = allowlist.load(os.environ)
    assert str(mine) in loaded.error
    assert not loaded.missing

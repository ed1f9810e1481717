"""`pannier mounts import`: NanoClaw's mount-allowlist.json."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from pannier.cli import pannier
from pannier.errors import SettingsError
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

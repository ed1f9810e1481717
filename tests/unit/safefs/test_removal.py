"""Removing trees that an agent made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.safefs.conftest import SECRET, names

from pannier import safefs
from pannier.errors import UnsafePath


def _nest(folder: Path, depth: int) -> None:
    """Folders in folders, deeper than any path may be long."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 200, dir_fd=here)
        there = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_tree_goes_however_deep_it_is(root: Path) -> None:
    """Neither Python's stack, nor descriptors, nor the length of a path stand in the way."""
    _nest(root / "a", 1_500)
    assert safefs.remove_tree(root, "a") == ()
    assert names(root) == []


def test_what_is_not_there_is_removed(root: Path) -> None:
    """So that two may clear up at once."""
    assert safefs.remove_tree(root, "missing") == ()


def test_links_are_removed_and_not_followed(root: Path, outside: Path) -> None:
    """What a link points to stays."""
    (root / "a" / "b" / "link").symlink_to(outside)
    (root / "a" / "link").symlink_to(outside / "file")
    assert safefs.remove_tree(root, "a") == ()
    assert (outside / "file").read_bytes() == SECRET
    assert names(outside) == ["b", "file"]


def test_only_a_folder_is_removed(root: Path, outside: Path) -> None:
    """A link or a file in its place is refused."""
    (root / "link").symlink_to(outside)
    (root / "file").touch()
    for name in ("link", "file", "..", "a/b"):
        with pytest.raises(UnsafePath):
            safefs.remove_tree(root, name)
    assert names(outside) == ["b", "file"]


def test_it_ends_after_so_many_names(root: Path) -> None:
    """Whoever goes on making files does not keep it busy for ever."""
    for number in range(10):
        (root / "a" / str(number)).mkdir()
    assert safefs.remove_tree(root, "a", limit=5) == ("the rest after 5 names",)
    assert len(names(root / "a")) in (6, 7)
    assert safefs.remove_tree(root, "a", limit=8) == ()
    assert names(root) == []


def test_a_folder_that_was_shut_goes_too(root: Path) -> None:
    """Its owner may open it again: mode 0 does not keep a tree."""
    (root / "a" / "b").chmod(0)
    (root / "a").chmod(0)
    # Without root's right to pass by every mode.
    less = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    program = "import sys; from pathlib import Path; from pannier import safefs; "
    program += "print(safefs.remove_tree(Path(sys.argv[1]), 'a'))"
    done = subprocess.run(
        [*(less if os.geteuid() == 0 else []), sys.executable, "-c", program, root],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("()\n", "")
    assert names(root) == []


def test_what_cannot_be_removed_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest goes all the same."""
    (root / "a" / "kept").touch()
    unlink = os.unlink

    def refuse(name: str, *, dir_fd: int) -> None:
        if name == "kept":
            raise PermissionError(1, "Operation not permitted")
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    assert safefs.remove_tree(root, "a") == ("kept: Operation not permitted",)
    assert names(root / "a") == ["kept"]

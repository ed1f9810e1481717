"""Walking trees, and giving them to an owner."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pannier import safefs
from pannier.errors import TooManyEntries, UnsafePath

AGENT = (12345, 23456)


def test_a_walk_sees_everything_and_follows_nothing(root: Path, outside: Path) -> None:
    """Each folder comes before what it holds; a link is an entry, not a way."""
    (root / "link").symlink_to(outside)
    os.mkfifo(root / "fifo")
    entries = list(safefs.walk(root, limit=100))
    assert [e.path for e in entries] == ["a", "a/b", "a/b/file", "fifo", "link"]
    assert [e.is_folder for e in entries] == [True, True, False, False, False]
    assert [e.path for e in safefs.walk(root, "a", limit=100)] == ["b", "b/file"]
    assert [e.path for e in safefs.walk(root, limit=100, depth=2)] == ["a", "a/b", "fifo", "link"]
    assert not any(e.unread for e in safefs.walk(root, limit=100, depth=1))
    with pytest.raises(UnsafePath):
        list(safefs.walk(root, "link", limit=100))


def test_a_walk_is_bounded(root: Path) -> None:
    """As many entries as the limit are fine; one more is an error that names the folder."""
    assert len(list(safefs.walk(root, limit=3))) == 3
    with pytest.raises(TooManyEntries, match=f"{root} holds more than 2 entries"):
        list(safefs.walk(root, limit=2))


def test_a_walk_that_is_left_early_closes_what_it_opened(root: Path) -> None:
    """Whoever stops in the middle leaves no descriptor open."""
    walk = safefs.walk(root, limit=100)
    assert next(walk).path == "a"
    assert next(walk).path == "a/b"
    walk.close()  # type: ignore[attr-defined]


def test_a_tree_that_is_too_deep_is_told_and_costs_no_descriptors(root: Path) -> None:
    """A chain of folders without end is followed so far and no farther."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(safefs.DEPTH_LIMIT * 3):
        os.mkdir("d", dir_fd=here)
        there = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(here)
    unread = [e for e in safefs.walk(root, limit=10_000) if e.unread]
    assert len(unread) == 1
    assert "deeper than" in unread[0].unread
    assert unread[0].path.count("/") == safefs.DEPTH_LIMIT - 1


def test_a_folder_that_cannot_be_read_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk goes on beside it."""
    (root / "a").chmod(0)
    (root / "c").mkdir()
    if os.geteuid() == 0:  # Root reads it all the same, so the refusal is played.
        real = os.open

        def refuse(path: object, *args: int, **more: int) -> int:
            if path == "a":
                raise PermissionError(13, "Permission denied")
            return real(path, *args, **more)  # type: ignore[call-overload, no-any-return]

        monkeypatch.setattr(os, "open", refuse)
    entries = {e.path: e.unread for e in safefs.walk(root, limit=100)}
    (root / "a").chmod(0o700)
    assert entries == {"a": "Permission denied", "c": ""}


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def owner(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid


@root_only
def test_what_belongs_to_somebody_else_is_given(root: Path) -> None:
    """The folder and all folders and files below it belong to the agent afterwards."""
    os.chown(root / "a" / "b", 1, 1)
    given = safefs.give(root, *AGENT)
    assert given == safefs.Given(4, ())
    for path in (root, root / "a", root / "a/b", root / "a/b/file"):
        assert owner(path) == AGENT
    assert safefs.give(root, *AGENT) == safefs.Given(0, ())


@root_only
def test_what_belongs_to_a_person_stays_theirs_where_only_roots_is_given(root: Path) -> None:
    """`only_of` names whose files are given; those of a third stay."""
    (root / "mine").write_text("x")
    (root / "theirs").write_text("x")
    os.chown(root / "theirs", 12345, 12345)
    safefs.give(root, *AGENT, only_of=0)
    assert (root / "mine").stat().st_uid == AGENT[0]
    assert (root / "theirs").stat().st_uid == 12345
    os.chown(root, 12345, 12345)
    safefs.give(root, *AGENT, only_of=0)
    assert root.stat().st_uid == 12345


@root_only
def test_a_link_gives_nothing_away(root: Path, outside: Path) -> None:
    """What a link points to keeps its owner, and the link too: it needs none."""
    (root / "file").symlink_to(outside / "file")
    (root / "folder").symlink_to(outside)
    os.mkfifo(root / "fifo")
    safefs.give(root, *AGENT)
    assert owner(outside) == owner(outside / "file") == owner(root / "file") == (0, 0)


@root_only
def test_a_file_with_a_second_name_is_kept_and_told(root: Path, outside: Path) -> None:
    """A hard link to a file outside does not give that file to the agent."""
    (root / "a" / "hard").hardlink_to(outside / "file")
    given = safefs.give(root, *AGENT)
    assert owner(outside / "file") == (0, 0)
    assert given.kept == ("a/hard: has a second name, which may lie elsewhere",)


@root_only
def test_another_device_is_not_entered(root: Path, tmp_path: Path) -> None:
    """A folder on another device is told and keeps its owners."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == root.stat().st_dev:
        pytest.skip("needs a second device, as /dev/shm is on most machines")
    entries = list(safefs.walk(Path("/dev"), limit=100_000, one_device=True))
    unread = {e.path: e.unread for e in entries if e.unread}
    assert unread["shm"] == "is on another device"
    assert not any(e.path.startswith("shm/") for e in entries)


@root_only
def test_giving_is_bounded_and_says_what_it_left(root: Path) -> None:
    """A tree of too many entries is given in part, and that is told."""
    given = safefs.give(root, *AGENT, limit=2)
    assert "the rest was not looked at" in given.kept[-1]
    assert owner(root) == AGENT

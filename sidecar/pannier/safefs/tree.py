"""Whole trees: walking them, and giving them to an owner."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pannier.errors import TooManyEntries, UnsafePath
from pannier.safefs.beneath import (
    FOLDER,
    READ,
    Root,
    must_be_regular,
    open_directory,
    whole_name,
)

DEPTH_LIMIT = 128
GIVE_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """What `walk` found: one name in a tree."""

    path: str
    """Below the root, with `/` between the names."""
    name: str
    status: os.stat_result
    """Of the entry itself: of a link, not of what it points to."""
    folder: int
    """A descriptor of the folder that holds it; open only until the walk goes on."""
    unread: str = ""
    """Why this folder could not be looked into."""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


def walk(
    root: Root, *parts: str, limit: int, depth: int | None = None, one_device: bool = False
) -> Iterator[Entry]:
    """Everything below a folder, each folder before what it holds, by name. No link is followed.

    With `depth` only so many levels: 1 is what the folder itself holds. A folder that cannot be
    read, that lies deeper than DEPTH_LIMIT or, with `one_device`, on another device than the root,
    is told with its reason in `unread`.
    Raises TooManyEntries as soon as more than `limit` names are seen.
    """
    with open_directory(root, *parts) as top:
        device = os.fstat(top).st_dev if one_device else None
        seen = _Walk(whole_name(root, parts), limit, depth, device)
        yield from seen.below(top, seen.names(top), "", 1)


class _Walk:
    """One walk: how many names it may still see, and on which device."""

    def __init__(self, root: str, limit: int, depth: int | None, device: int | None) -> None:
        self.root = root
        self.depth = depth
        self.limit = limit
        self.left = limit
        self.device = device

    def names(self, folder: int) -> list[str]:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, self.left + 1))
        self.left -= len(names)
        if self.left < 0:
            raise TooManyEntries(f"{self.root} holds more than {self.limit:,} entries")
        return names

    def below(self, folder: int, names: list[str], prefix: str, depth: int) -> Iterator[Entry]:
        for name in names:
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            path = prefix + name
            if not stat.S_ISDIR(status.st_mode) or depth == self.depth:
                yield Entry(path, name, status, folder)
                continue
            reason = self.refusal(status, depth)
            if reason:
                yield Entry(path, name, status, folder, reason)
                continue
            yield from self.enter(folder, name, path, status, depth)

    def refusal(self, status: os.stat_result, depth: int) -> str:
        if depth >= DEPTH_LIMIT:
            return f"is deeper than {DEPTH_LIMIT} folders"
        if self.device is not None and status.st_dev != self.device:
            return "is on another device"
        return ""

    def enter(
        self, parent: int, name: str, path: str, status: os.stat_result, depth: int
    ) -> Iterator[Entry]:
        try:
            folder = os.open(name, FOLDER, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError as error:
            yield Entry(path, name, status, parent, os.strerror(error.errno or 0))
            return
        try:
            # Again, from the descriptor: the name may be another folder by now.
            status = os.fstat(folder)
            reason = self.refusal(status, depth)
            names = [] if reason else self.names(folder)
            yield Entry(path, name, status, parent, reason)
            yield from self.below(folder, names, f"{path}/", depth + 1)
        finally:
            os.close(folder)


@dataclass(frozen=True)
class Given:
    """What `give` did."""

    changed: int
    kept: tuple[str, ...]
    """What still belongs to somebody else, each with the reason."""


def give(
    root: Root, uid: int, gid: int, *, only_of: int | None = None, limit: int = GIVE_LIMIT
) -> Given:
    """The folder and what lies below it belong to `uid` and `gid` afterwards. For root.

    Only folders and regular files that belong to somebody else, each by its own descriptor, and
    only on the device of the folder. With `only_of` just those that belong to this user. Links,
    FIFOs and sockets need no owner: who has the folder can replace them. A file with a second name
    stays as it is and is told: its other name may lie outside (a package manager's cache, a backup
    made of hard links), where the agent would get a file that the host trusts. An agent cannot make
    such a file itself, for link(2) does not cross mounts; a person or a program on the host can.
    """
    changed = 0
    kept: list[str] = []
    with open_directory(root) as top:
        changed += _give(top, uid, gid, only_of)
        try:
            for entry in walk(top, limit=limit, one_device=True):
                if entry.unread:
                    kept.append(f"{entry.path}: {entry.unread}")
                    continue
                try:
                    changed += _give_entry(entry, uid, gid, only_of)
                except FileNotFoundError:
                    continue
                except (OSError, UnsafePath) as error:
                    reason = error.strerror if isinstance(error, OSError) else error.message
                    kept.append(f"{entry.path}: {reason}")
        except TooManyEntries as error:
            kept.append(f"the rest was not looked at: {error.message}")
    return Given(changed, tuple(kept))


def _give_entry(entry: Entry, uid: int, gid: int, only_of: int | None) -> int:
    status = entry.status
    if _stays(status, uid, only_of) or not (entry.is_folder or stat.S_ISREG(status.st_mode)):
        return 0
    opened = os.open(entry.name, READ, dir_fd=entry.folder)
    try:
        return _give(opened, uid, gid, only_of)
    finally:
        os.close(opened)


def _stays(status: os.stat_result, uid: int, only_of: int | None) -> bool:
    return status.st_uid == uid or (only_of is not None and status.st_uid != only_of)


def _give(opened: int, uid: int, gid: int, only_of: int | None) -> int:
    status = os.fstat(opened)
    if _stays(status, uid, only_of):
        return 0
    if not stat.S_ISDIR(status.st_mode):
        must_be_regular(status, "it")
        if status.st_nlink > 1:
            raise UnsafePath("has a second name, which may lie elsewhere")
    os.fchown(opened, uid, gid)
    return 1

"""A group's spool from the host's side. All in it is an agent's to make and to change."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import islice
from types import TracebackType
from typing import Self

from pannier import safefs
from pannier.errors import UnsafePath
from pannier.paths import GroupPaths
from pannier_hook.events import FILE_LIMIT

NEW, TMP, REJECTED, REPORTS = "new", "tmp", "rejected", "reports"
WHY = ".why"
"""What the name of a file with the reason adds to that of what was rejected."""

MOST_NAMES = 200_000
"""Names that are looked at in one folder."""
MOST_REJECTED = 1_000
MOST_REJECTED_BYTES = 64 << 20
MOST_REPORTS = 500
_LEFT_OVER = 86_400
"""Seconds after which nobody is writing a file in `tmp` any more."""
_SWEPT = 1_000
"""Names of `tmp` that are looked at in one go."""
_LONGEST_REASON = 500
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Spool:
    """The spool of a group, in a `with`. Methods raise OSError and UnsafePath.

    `rejected` and `reports` keep what came last, within bounds.
    """

    def __init__(self, group: GroupPaths) -> None:
        self.group = group
        self._open = ExitStack()
        self._folders: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folders.clear()
        self._open.close()

    def open(self) -> None:
        """Make sure that `new` can be used."""
        self._folder(NEW)

    def names(self) -> tuple[list[str], bool]:
        """What lies in `new`, in order; and whether there is more than may be looked at."""
        try:
            folder = self._folder(NEW)
        except FileNotFoundError:
            return [], False  # The hook makes it for its first event.
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_NAMES + 1)]
        return sorted(names[:MOST_NAMES]), len(names) > MOST_NAMES

    def read(self, name: str) -> bytes:
        """The content of a file in `new`."""
        with safefs.open_file(self._folder(NEW), name) as file:
            size = os.fstat(file).st_size
            if size > FILE_LIMIT:
                raise UnsafePath(f"it is longer than {FILE_LIMIT:,} bytes")
            pieces = []
            while piece := os.read(file, size + 1):
                pieces.append(piece)
                size -= len(piece)
                if size < 0:
                    raise UnsafePath("it grew while it was read")
            return b"".join(pieces)

    def age(self, name: str) -> float:
        """Seconds since a file in `new` was changed or renamed: a time that no container sets."""
        status = os.stat(name, dir_fd=self._folder(NEW), follow_symlinks=False)
        return time.time() - status.st_ctime

    def remove(self, names: Iterable[str]) -> None:
        """They are stored: they are not in `new` afterwards."""
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder(NEW))

    def reject(self, name: str, reason: str) -> None:
        """Move it from `new` to `rejected`, under a name of ours, with the reason beside it."""
        moved = self._move(name, REJECTED)
        with suppress(OSError):  # A full disk takes the reason, not the file.
            file = os.open(moved + WHY, _NEW_FILE, 0o644, dir_fd=self._folder(REJECTED))
            try:
                os.write(file, f"{reason[:_LONGEST_REASON]}\n".encode("utf-8", "replace"))
            finally:
                os.close(file)

    def drop(self, name: str) -> None:
        """Remove it from `new` for good: of a flood, nobody needs every drop."""
        folder = self._folder(NEW)
        _remove(folder, name, os.stat(name, dir_fd=folder, follow_symlinks=False))

    def report(self, name: str) -> None:
        """Move it from `new` to `reports`, where `pannier doctor` finds it."""
        self._move(name, REPORTS)

    def bound(self) -> None:
        """What is over the limits of `rejected` and `reports` goes, the oldest first."""
        for folder, most in ((REJECTED, 2 * MOST_REJECTED), (REPORTS, MOST_REPORTS)):
            if folder in self._folders:
                _bound(self._folders[folder], most, MOST_REJECTED_BYTES)

    def sweep(self) -> None:
        """Remove what killed hooks left in `tmp` more than a day ago."""
        try:
            folder = self._folder(TMP)
        except FileNotFoundError:
            return
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _SWEPT)]
        for name in names:
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if time.time() - status.st_ctime > _LEFT_OVER:
                    _remove(folder, name, status)

    def _move(self, name: str, folder: str) -> str:
        """The new name keeps the order in which things were moved, and an event's last letters."""
        there = self._folder(folder, create=True)
        moved = f"{time.time_ns():020d}-{secrets.token_hex(8)}-001.jsonl"
        os.rename(name, moved, src_dir_fd=self._folder(NEW), dst_dir_fd=there)
        return moved

    def _folder(self, name: str, *, create: bool = False) -> int:
        if name not in self._folders:
            parts = (self.group.spool.name, name)
            opened = safefs.open_directory(self.group.root, *parts, create=create)
            self._folders[name] = self._open.enter_context(opened)
        return self._folders[name]


def _bound(folder: int, most: int, most_bytes: int) -> None:
    with os.scandir(folder) as entries:
        names = sorted((entry.name for entry in islice(entries, MOST_NAMES)), reverse=True)
    kept = size = 0
    for name in names:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        kept += 1
        size += status.st_blocks * 512
        if kept > most or size > most_bytes:
            _remove(folder, name, status)


def _remove(folder: int, name: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        safefs.remove_tree(folder, name, limit=_SWEPT)
    else:
        os.unlink(name, dir_fd=folder)

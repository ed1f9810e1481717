"""Removing a tree, however deep an agent made it."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path

from pannier.safefs.beneath import FOLDER, THROUGH, Root, naming, open_directory, single

REMOVE_LIMIT = 1_000_000


def remove_tree(root: Root, name: str, *, limit: int = REMOVE_LIMIT) -> tuple[str, ...]:
    """Remove the folder `name` of the folder `root`, with all that lies below it.

    A folder in a folder is first moved to the top, so that no depth costs a stack or descriptors.
    Returns what stays, each with the reason: what only another user may remove, and the rest after
    `limit` names. That there is no such folder is as good. Raises UnsafePath if it is none.
    """
    with open_directory(root) as parent, naming(root, (name,)):
        single(name)
        with suppress(FileNotFoundError):
            _let_me(name, parent)
            top = os.open(name, FOLDER, dir_fd=parent)
            try:
                kept = _Removal(top, limit).run()
            finally:
                os.close(top)
            if kept:
                return tuple(kept)
            os.rmdir(name, dir_fd=parent)
    return ()


class _Removal:
    """One removal: the folders that wait at the top, what stayed, and how many names are left."""

    def __init__(self, top: int, limit: int) -> None:
        self.top = top
        self.limit = limit
        self.left = limit
        self.waiting: list[str] = []
        self.kept: list[str] = []

    def run(self) -> list[str]:
        self.clear(self.top)
        while self.waiting:
            name = self.waiting.pop()
            try:
                folder = os.open(name, FOLDER, dir_fd=self.top)
                try:
                    emptied = self.clear(folder)
                finally:
                    os.close(folder)
                if emptied:
                    os.rmdir(name, dir_fd=self.top)
            except OSError as error:
                self.keep(name, error)
        if self.left < 0:
            self.kept.append(f"the rest after {self.limit:,} names")
        return self.kept

    def clear(self, folder: int) -> bool:
        """Empty a folder. Returns whether it worked."""
        with os.scandir(folder) as entries:
            allowed = max(self.left, 0)
            names = [entry.name for entry in islice(entries, allowed + 1)]
        before = len(self.kept)
        for name in names[:allowed]:
            try:
                self.remove(name, folder)
            except OSError as error:
                self.keep(name, error)
        self.left -= len(names)
        return len(self.kept) == before and len(names) <= allowed

    def remove(self, name: str, folder: int) -> None:
        """Remove a file, or move a folder to the top."""
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(name, dir_fd=folder)
            return
        _let_me(name, folder)
        moved = secrets.token_hex(8)
        os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=self.top)
        self.waiting.append(moved)

    def keep(self, name: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self.kept.append(f"{name}: {error.strerror}")


def _let_me(name: str, folder: int) -> None:
    """Its owner may change a folder's mode though it may not be opened (open(2): O_PATH)."""
    found = os.open(name, THROUGH, dir_fd=folder)
    try:
        with suppress(OSError):
            Path(f"/proc/self/fd/{found}").chmod(0o700)
    finally:
        os.close(found)

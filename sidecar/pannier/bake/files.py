"""Where a bake is looked for: in a folder, or in an image."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Protocol

from pannier.bake.layout import RECORD, Content, Record, read_record
from pannier.clients.client import Link
from pannier.errors import PannierError


class Files(Protocol):
    """A tree of files by path from its root."""

    def read(self, path: str) -> Content | None:
        """The file or link there; None if there is neither."""

    def below(self, folder: str) -> dict[str, Content]:
        """Files and links below a folder, by path from the root."""

    def exists(self, path: str) -> bool:
        """Whether anything is there; links are followed."""


class FolderFiles:
    """The files of a folder. Raises PannierError for what cannot be read."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: str) -> Content | None:
        file = self.root / path
        try:
            if file.is_symlink():
                return Link(str(file.readlink()))
            return read_regular(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise PannierError(f"{file} cannot be read: {error.strerror}") from error

    def below(self, folder: str) -> dict[str, Content]:
        found: dict[str, Content] = {}
        for file in sorted((self.root / folder).rglob("*")):
            path = file.relative_to(self.root).as_posix()
            if file.is_symlink() or file.is_file():
                content = self.read(path)
                if content is not None:
                    found[path] = content
        return found

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()


def read_regular(file: Path) -> bytes:
    """What a file holds. Raises OSError, also for a pipe or device, which might never end."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        return opened.read()


def record_of(files: Files) -> Record | None:
    """What was baked in; None if nothing was, or if nobody can tell."""
    content = files.read(RECORD)
    if not isinstance(content, bytes):
        return None
    try:
        return read_record(content)
    except ValueError:
        return None

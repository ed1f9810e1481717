"""Reading a file that somebody else may have replaced by anything, within bounds."""

from __future__ import annotations

import posix
from _stat import S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG, S_ISSOCK

READ_LIMIT = 1 << 16
"""The most that is looked at of one file, in bytes; one byte more tells that there is more."""

_FILE = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
_FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC

_KINDS = (
    (S_ISLNK, "it is a symbolic link, which is not followed"),
    (S_ISDIR, "it is a folder"),
    (S_ISFIFO, "it is a named pipe"),
    (S_ISSOCK, "it is a socket"),
)


class Unavailable(Exception):
    """A file cannot be had; the text says why, in words for the model."""


class Missing(Unavailable):
    """There is no such file."""


class Raw:
    """The start of a file: at most `READ_LIMIT` + 1 bytes, and the size of the whole in bytes."""

    __slots__ = ("data", "size")

    def __init__(self, data: bytes, size: int) -> None:
        self.data = data
        self.size = size


def read_beneath(root: int, path: str) -> Raw:
    """Read the regular file `path` below the folder descriptor `root`; no link is followed.

    Nothing else than a regular file is opened, so that a pipe hangs nothing and a device does
    nothing. Raises Missing and Unavailable.
    """
    *folders, name = path.split("/")
    opened: list[int] = []
    at = root
    try:
        for folder in folders:
            _require_folder(folder, at)
            at = posix.open(folder, _FOLDER, dir_fd=at)
            opened.append(at)
        _require_file(name, at)
        at = posix.open(name, _FILE, dir_fd=at)
        opened.append(at)
        status = posix.fstat(at)
        if not S_ISREG(status.st_mode):
            raise Unavailable("it is not a regular file")
        return Raw(read_up_to(at, READ_LIMIT), status.st_size)
    except FileNotFoundError:
        raise Missing("there is no such file") from None
    except OSError as problem:
        raise Unavailable(f"it cannot be read ({problem.strerror})") from None
    finally:
        for descriptor in opened:
            posix.close(descriptor)


def kind_of(mode: int) -> str:
    """What a file of this mode is instead of a regular one, in words."""
    for test, words in _KINDS:
        if test(mode):
            return words
    return "it is a device or another special file"


def _require_file(name: str, folder: int) -> None:
    mode = posix.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not S_ISREG(mode):
        raise Unavailable(kind_of(mode))


def _require_folder(name: str, folder: int) -> None:
    mode = posix.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not S_ISDIR(mode):
        raise Unavailable(f"{name} is not a real folder")


def read_up_to(descriptor: int, limit: int) -> bytes:
    """At most `limit` bytes, and one more that tells that there is more. Raises OSError."""
    data = bytearray()
    while len(data) <= limit:
        chunk = posix.read(descriptor, limit + 1 - len(data))
        if not chunk:
            break
        data += chunk
    return bytes(data)

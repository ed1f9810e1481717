"""Finds the kept result of which what is about to be kept is a part, or all: it was read of it."""

from __future__ import annotations

import posix
import stat

from .spill import is_name
from .spillnote import ENDS

MOST_FILES = 5_000
"""Files of a folder that are looked at, the latest first."""
MOST_BYTES = 64 << 20
"""Bytes of all of them that are looked at: the agent waits."""
_KEY = 4_000
"""Bytes by which the place of a piece is found, its first ones."""
_OPEN = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
_CHUNK = 1 << 20


def twin(folder: int, draft: str, size: int) -> str:
    """The name of a kept result in `folder` in which all of the file `draft` there stands in one
    piece; "" for none. The draft has `size` bytes. What is found counts as new from now on: a model
    is about to be told of it.

    What a client puts behind each output, such as its status, may end both, wherever in the kept
    one the piece stands.
    """
    other = posix.open(draft, _OPEN, dir_fd=folder)
    try:
        left = MOST_BYTES
        for name in _latest(folder):
            try:
                status = posix.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode) or status.st_size < size - ENDS:
                    continue
                left -= status.st_size
                if left < 0:
                    break
                if _holds(folder, name, other, size):
                    posix.utime(name, dir_fd=folder, follow_symlinks=False)
                    return name
            except OSError:
                continue  # Somebody removed or replaced it.
    finally:
        posix.close(other)
    return ""


def _latest(folder: int) -> list[str]:
    # Names begin with a time.
    return sorted(filter(is_name, posix.listdir(folder)), reverse=True)[:MOST_FILES]


def _holds(folder: int, name: str, draft: int, size: int) -> bool:
    key = posix.pread(draft, _KEY, 0)
    kept = posix.open(name, _OPEN, dir_fd=folder)
    try:
        at = _find(kept, key)
        if at < 0:
            return False
        more = size - _alike(kept, at, draft)
        return more <= ENDS and _end(draft, more) == _end(kept, more)
    finally:
        posix.close(kept)


def _find(file: int, key: bytes) -> int:
    """The first place of `key` in the file; -1 for none."""
    at, before = 0, b""
    while chunk := posix.pread(file, _CHUNK, at):
        found = (before + chunk).find(key)
        if found >= 0:
            return at - len(before) + found
        at += len(chunk)
        before = (before + chunk)[1 - len(key) :]
    return -1


def _alike(kept: int, at: int, draft: int) -> int:
    """How many bytes from the place `at` on are those with which the draft begins."""
    same = 0
    while chunk := posix.pread(draft, _CHUNK, same):
        other = posix.pread(kept, len(chunk), at + same)
        if chunk != other:
            return same + _common(chunk, other)
        same += len(chunk)
    return same


def _common(one: bytes, other: bytes) -> int:
    """The length of what the two begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _end(file: int, length: int) -> bytes:
    return posix.pread(file, length, posix.fstat(file).st_size - length)

"""Finds the kept result that holds already what is about to be kept: what was read of it."""

from __future__ import annotations

import posix
import stat

from .spill import is_name
from .spillnote import ENDS

MOST_FILES = 5_000
"""Files of a folder that are looked at."""
_OPEN = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
_CHUNK = 1 << 18


def twin(folder: int, draft: str, size: int) -> str:
    """The name of a kept result in `folder` that holds all of the file `draft` there, which has
    `size` bytes; "" for none. It counts as new from now on: a model is about to be told of it.

    It holds the same bytes, in the same order. What a client puts behind each output, such as its
    status, may stand there twice when it was read back: at the end of the draft and before that.
    """
    with posix.scandir(folder) as files:
        for number, file in enumerate(files):
            if number == MOST_FILES:
                break
            try:
                if is_name(file.name) and _holds(folder, file.name, draft, size):
                    posix.utime(file.name, dir_fd=folder, follow_symlinks=False)
                    return file.name
            except OSError:
                continue  # Somebody removed or replaced it.
    return ""


def _holds(folder: int, name: str, draft: str, size: int) -> bool:
    status = posix.stat(name, dir_fd=folder, follow_symlinks=False)
    more = size - status.st_size
    if not 0 <= more <= min(ENDS, status.st_size) or not stat.S_ISREG(status.st_mode):
        return False
    kept = posix.open(name, _OPEN, dir_fd=folder)
    try:
        other = posix.open(draft, _OPEN, dir_fd=folder)
        try:
            return _begins_with(other, kept) and _end(other, more) == _end(kept, more)
        finally:
            posix.close(other)
    finally:
        posix.close(kept)


def _begins_with(file: int, beginning: int) -> bool:
    at = 0
    while chunk := posix.pread(beginning, _CHUNK, at):
        if chunk != posix.pread(file, len(chunk), at):
            return False
        at += len(chunk)
    return True


def _end(file: int, length: int) -> bytes:
    return posix.pread(file, length, posix.fstat(file).st_size - length)

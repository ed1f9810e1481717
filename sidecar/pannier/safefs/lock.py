"""Locks between processes of pannier. Only for what no container can reach."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pannier.errors import PannierError
from pannier.safefs.beneath import like_folder, open_directory

_PAUSE = 0.02  # seconds


def take(descriptor: int, *, seconds: float) -> bool:
    """Take the lock of an open file or folder (flock(2)); it ends with the descriptor.

    False if somebody else holds it for longer than `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)


@contextmanager
def alone(folder: Path, name: str, *, seconds: float) -> Iterator[bool]:
    """Whether this process has the lock of this name, after so many seconds at most.

    `folder`: one that no container can reach; it is made if it is not there. Raises PannierError.
    """
    path = folder / f"{name}.lock"
    try:
        file = _made(folder, path.name)
    except OSError as error:
        raise PannierError(
            f"{path}: {error.strerror}", f"Look at the disk, and at the rights of {folder}."
        ) from error
    try:
        yield take(file, seconds=seconds)
    finally:
        os.close(file)


def _made(folder: Path, name: str) -> int:
    folder.mkdir(mode=0o700, exist_ok=True)
    with open_directory(folder) as opened:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, 0o600, dir_fd=opened)
        like_folder(file, opened)
    return file


def is_taken(folder: Path, name: str) -> bool:
    """Whether another process has the lock of this name just now. Makes nothing."""
    try:
        file = os.open(folder / f"{name}.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return is_held(file)
    finally:
        os.close(file)


def is_held(descriptor: int) -> bool:
    """Whether another process has the lock of an open file just now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False

"""Locks between processes of pannier. Only for what no container can reach."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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

    `folder`: one that no container can reach; it is made if it is not there.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    with open_directory(folder) as opened:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(f"{name}.lock", flags, 0o600, dir_fd=opened)
        like_folder(file, opened)
    try:
        yield take(file, seconds=seconds)
    finally:
        os.close(file)

"""Locks between processes of pannier. Only for what no container can reach."""

from __future__ import annotations

import fcntl
import time

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

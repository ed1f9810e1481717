"""Who may write what was said: one process at a time, the daemon or a command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pannier import safefs
from pannier.errors import PannierError, reason
from pannier.paths import Home
from pannier.safefs.beneath import like_folder
from pannier.safefs.lock import take
from pannier.threads.store import WritableStore, open_store, threads_file

LOCK = "threads.lock"
_PATIENCE = 10.0  # seconds


@contextmanager
def writing(
    home: Home, environ: Mapping[str, str], *, seconds: float = _PATIENCE
) -> Iterator[WritableStore]:
    """The database, and the right to write it.

    Raises Busy when somebody else holds that for longer than `seconds`.
    """
    with _locked(home, seconds), open_store(threads_file(home, environ), write=True) as store:
        yield store


class Busy(PannierError):
    """Another process is writing."""


@contextmanager
def _locked(home: Home, seconds: float) -> Iterator[None]:
    try:
        lock = _open(home)
    except OSError as error:
        raise PannierError(f"{home.state / LOCK} cannot be used: {reason(error)}") from error
    try:
        if not take(lock, seconds=seconds):
            raise Busy("another process of pannier is writing what was said", "Try again.")
        yield
    finally:
        os.close(lock)


def _open(home: Home) -> int:
    safefs.make_directory(home.root, home.state.name)
    with safefs.open_directory(home.state) as folder:
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(LOCK, flags, 0o644, dir_fd=folder)
        like_folder(lock, folder)
        return lock

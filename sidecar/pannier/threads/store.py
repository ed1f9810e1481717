"""The database of what was said: `threads.db`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, overload

from pannier.database import connect, database_file
from pannier.paths import Home
from pannier.threads.queries import Store
from pannier.threads.schema import MIGRATIONS
from pannier.threads.writer import WritableStore

__all__ = ["Store", "WritableStore", "open_store", "threads_file"]


def threads_file(home: Home, environ: Mapping[str, str]) -> Path:
    """Where what was said is kept: `state/threads.db`, unless PANNIER_THREADS_DB_PATH says so."""
    return database_file(home, environ, "threads.db")


@overload
def open_store(path: Path, *, write: Literal[False] = False) -> Store: ...
@overload
def open_store(path: Path, *, write: Literal[True]) -> WritableStore: ...
def open_store(path: Path, *, write: bool = False) -> Store:
    """Open the database, to be used in a `with`. Raises PannierError.

    For reading, one that is not there is as one that is empty. To write, hold the lock
    (`locking.writing`).
    """
    kind = WritableStore if write else Store
    return kind(path, connect(path, write=write, migrations=MIGRATIONS))

"""The database of what was said: `threads.db`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, overload

from pannier.threads.database import connect, threads_file
from pannier.threads.queries import Store
from pannier.threads.writer import WritableStore

__all__ = ["Store", "WritableStore", "open_store", "threads_file"]


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
    return kind(path, connect(path, write=write))

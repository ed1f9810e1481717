"""The store of an agent's threads: SQLite in the client's own HOME, or PostgreSQL by URL."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

VARIABLE = "PANNIER_CHECKPOINTS"
"""Names another SQLite file, or a `postgresql://` URL."""
DEFAULT = ".local/state/pannier/checkpoints.db"
"""Below HOME. No one on the host opens it."""
BUSY_SECONDS = 10.0
"""How long a process waits for another that is writing."""

_SCHEMES = ("postgresql://", "postgres://")


@asynccontextmanager
async def open_checkpointer(where: str = "") -> AsyncIterator[BaseCheckpointSaver[str]]:
    """The checkpointer at `where`: a path, or a `postgresql://` URL; by default what
    PANNIER_CHECKPOINTS names, else SQLite in HOME.

    Raises OSError, and the database's own errors.
    """
    where = where or os.environ.get(VARIABLE, "")
    if where.startswith(_SCHEMES):
        from pannier_agents.postgres import open_postgres

        opened = open_postgres(where)
    else:
        opened = _sqlite(Path(where) if where else Path.home() / DEFAULT)
    async with opened as saver:
        yield saver


@asynccontextmanager
async def _sqlite(path: Path) -> AsyncIterator[BaseCheckpointSaver[str]]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with aiosqlite.connect(path, timeout=BUSY_SECONDS) as connection:
        path.chmod(0o600)
        await connection.execute("PRAGMA journal_mode=WAL")
        await connection.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        yield saver

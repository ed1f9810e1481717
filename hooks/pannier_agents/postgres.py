"""Threads in PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

CONNECTIONS = 4
"""Of one agent, at most."""
_LOCK = 7_053_118_214
"""Names pannier's lock among the database's advisory locks."""

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


@asynccontextmanager
async def open_postgres(url: str) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """The checkpointer in the database at `url`. A connection that broke is replaced.

    Raises psycopg.Error.
    """
    how: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    check = AsyncConnectionPool.check_connection
    async with Pool(
        url, min_size=1, max_size=CONNECTIONS, kwargs=how, check=check, open=False
    ) as pool:
        # Several agents that make the tables at once would stumble over each other.
        async with pool.connection() as connection:
            await connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            try:
                await AsyncPostgresSaver(connection).setup()
            finally:
                await connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
        yield AsyncPostgresSaver(pool)

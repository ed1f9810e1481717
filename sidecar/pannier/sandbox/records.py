"""The database of what became of containers: `sandbox.db`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pannier.database import Migration, alone, database_file, opened
from pannier.engine.life import Life, merged
from pannier.paths import Home

KEPT = 90 * 86_400
"""Seconds that an ended container is remembered."""
MOST = 20_000
"""Ended containers that are remembered."""

_FIRST = """
CREATE TABLE containers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    grp TEXT NOT NULL,
    client TEXT NOT NULL,
    role TEXT NOT NULL,
    thread TEXT NOT NULL,
    image TEXT NOT NULL,
    digest TEXT NOT NULL,
    mounts TEXT NOT NULL,
    memory INTEGER NOT NULL,
    cpus REAL NOT NULL,
    created INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER NOT NULL,              -- 0: it runs, or nobody has seen its end yet
    status INTEGER,
    oom INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX containers_by_group ON containers (grp, created);
CREATE INDEX containers_by_end ON containers (ended);

-- Who was in it: the terminal of `run`, those of `exec`.
CREATE TABLE attachments (
    id INTEGER PRIMARY KEY,
    container TEXT NOT NULL,             -- also before anything else is known of it
    kind TEXT NOT NULL,
    thread TEXT NOT NULL,
    tty INTEGER NOT NULL,
    owner TEXT NOT NULL,                 -- the process of pannier
    began INTEGER NOT NULL,
    ended INTEGER NOT NULL,              -- 0: it goes on
    status INTEGER
) STRICT;
CREATE INDEX attachments_by_container ON attachments (container);
CREATE INDEX attachments_open ON attachments (ended) WHERE ended = 0;

-- `span` seconds that end at `at` (seconds since 1970): mean and most of what was seen meanwhile.
CREATE TABLE samples (
    container TEXT NOT NULL,
    at INTEGER NOT NULL,
    span INTEGER NOT NULL,
    cpu REAL NOT NULL,                   -- processors that were busy
    cpu_most REAL NOT NULL,
    memory INTEGER NOT NULL,             -- bytes
    memory_most INTEGER NOT NULL,
    PRIMARY KEY (container, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX samples_by_time ON samples (at);
"""

_MIGRATIONS = (Migration("containers, attachments, samples", _FIRST),)
_LIFE = tuple(field.name for field in fields(Life))
_COLUMNS = ", ".join("grp" if name == "group" else name for name in _LIFE)


@dataclass(frozen=True)
class Attachment:
    """Somebody in a container."""

    id: int
    container: str
    kind: str
    """`run` or `exec`."""
    thread: str
    tty: bool
    """It had a terminal."""
    owner: str
    began: int
    """Nanoseconds since 1970."""
    ended: int
    """0: it goes on."""
    status: int | None
    """None: it goes on, or nobody knows."""


def sandbox_file(home: Home, environ: Mapping[str, str]) -> Path:
    """Where it lies: `state/sandbox.db`, unless PANNIER_SANDBOX_DB_PATH says so."""
    return database_file(home, environ, "sandbox.db")


@contextmanager
def open_records(path: Path, *, write: bool = True, patience: float = 10.0) -> Iterator[Records]:
    """The records, made if they are missing (to read: as if they were empty); closed at the end.

    `patience`: seconds that another writer is waited for. Raises PannierError.
    """
    with opened(path, write=write, migrations=_MIGRATIONS) as db:
        db.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
        # A power cut may cost the last records; the containers are gone with it anyway.
        db.execute("PRAGMA synchronous = NORMAL")
        yield Records(db)


class Records:
    """The records, open. Several processes may use them at once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def alone(self) -> AbstractContextManager[None]:
        """All of it or nothing, and nobody else writes meanwhile."""
        return alone(self.db)

    def see(self, life: Life) -> None:
        """Remember what is known of a container, beside what was known before."""
        old = self.life(life.id)
        if old is not None:
            life = merged(old, life)
            if life == old:
                return
        self.db.execute(
            f"INSERT OR REPLACE INTO containers ({_COLUMNS}) VALUES (?{', ?' * (len(_LIFE) - 1)})",
            tuple(getattr(life, name) for name in _LIFE),
        )

    def life(self, id: str) -> Life | None:
        """What is known of the container."""
        found = self._lives("WHERE id = ?", id)
        return found[0] if found else None

    def open_lives(self) -> list[Life]:
        """Those whose end nobody has seen."""
        return self._lives("WHERE ended = 0")

    def lives(self, group: str | None, limit: int) -> list[Life]:
        """Those of a group, else all; the newest first."""
        return self._lives(
            "WHERE grp = coalesce(?, grp) ORDER BY max(created, started) DESC, id LIMIT ?",
            group,
            limit,
        )

    def attach(self, attachment: Attachment) -> int:
        """Remember that somebody is in a container; the number by which they leave."""
        cursor = self.db.execute(
            "INSERT INTO attachments (container, kind, thread, tty, owner, began, ended, status) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                attachment.container,
                attachment.kind,
                attachment.thread,
                attachment.tty,
                attachment.owner,
                attachment.began,
                attachment.ended,
                attachment.status,
            ),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def leave(self, id: int, ended: int, status: int | None) -> None:
        """They are not in it any more."""
        self.db.execute(
            "UPDATE attachments SET ended = ?, status = ? WHERE id = ? AND ended = 0",
            (ended, status, id),
        )

    def attachments(self, container: str | None = None) -> list[Attachment]:
        """Those of a container; without one, all that go on."""
        where = "container = ?" if container else "ended = 0"
        query = (
            "SELECT id, container, kind, thread, tty, owner, began, ended, status "
            f"FROM attachments WHERE {where} ORDER BY id"
        )
        rows = self.db.execute(query, (container,) if container else ())
        return [
            Attachment(id, inside, kind, thread, bool(tty), owner, began, ended, status)
            for id, inside, kind, thread, tty, owner, began, ended, status in rows
        ]

    def forget(self, now: int) -> None:
        """Forget what ended long ago, and the oldest of too many."""
        before = (now - KEPT) * 10**9
        self.db.execute(
            "DELETE FROM containers WHERE ended > 0 AND (ended < ?1 OR id IN (SELECT id FROM "
            "containers WHERE ended > 0 ORDER BY ended DESC LIMIT -1 OFFSET ?2))",
            (before, MOST),
        )
        self.db.execute(
            "DELETE FROM attachments WHERE began < ? AND container NOT IN "
            "(SELECT id FROM containers)",
            (before,),
        )

    def _lives(self, rest: str, *values: Any) -> list[Life]:
        rows = self.db.execute(f"SELECT {_COLUMNS} FROM containers {rest}", values)
        return [
            Life(**{**dict(zip(_LIFE, row, strict=True)), "oom": bool(row[_LIFE.index("oom")])})
            for row in rows
        ]

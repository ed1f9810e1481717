"""Where an event belongs: its scope, its thread and its session, made where they are new."""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass

from pannier.threads import erasing
from pannier.threads.rows import MAIN
from pannier_hook.events import Event


@dataclass(frozen=True)
class Ids:
    """Their numbers. `head` is the thread's, as it was before the event."""

    scope: int
    thread: int
    session: int
    head: int | None


def thread_of(event: Event) -> str:
    """The name of the thread that an event belongs to."""
    return event.thread or MAIN


def find_or_make(db: sqlite3.Connection, grp: str, event: Event) -> Ids | None:
    """In the transaction that is open. None: the session was erased with its thread."""
    scope = _scope(db, grp, event.client)
    if erasing.is_erased(db, scope, event, thread_of(event)):
        return None
    thread, head = _thread(db, grp, event)
    return Ids(scope, thread, _session(db, scope, thread, event), head)


def _scope(db: sqlite3.Connection, grp: str, client: str) -> int:
    db.execute("INSERT OR IGNORE INTO scopes (grp, client) VALUES (?, ?)", (grp, client))
    found = db.execute("SELECT id FROM scopes WHERE grp = ? AND client = ?", (grp, client))
    return int(found.fetchone()[0])


def _thread(db: sqlite3.Connection, grp: str, event: Event) -> tuple[int, int | None]:
    query = "SELECT id, head FROM threads WHERE grp = ? AND name = ? AND deleted = 0"
    found = db.execute(query, (grp, thread_of(event))).fetchone()
    if found is not None:
        return found[0], found[1]
    made = db.execute(
        "INSERT INTO threads (grp, name, key, created) VALUES (?, ?, ?, ?) RETURNING id",
        (grp, thread_of(event), _new_key(db), event.at),
    )
    return int(made.fetchone()[0]), None


def _new_key(db: sqlite3.Connection) -> str:
    while True:
        key = secrets.token_hex(4)
        if not db.execute("SELECT 1 FROM threads WHERE key = ?", (key,)).fetchone():
            return key


def _session(db: sqlite3.Connection, scope: int, thread: int, event: Event) -> int:
    source = event.details.get("source", "")
    db.execute(
        "INSERT INTO sessions (scope, session, thread, source, began, state)"
        " VALUES (?, ?, ?, ?, ?, '{}') ON CONFLICT DO UPDATE"
        " SET source = excluded.source WHERE source = ''",
        (scope, event.session, thread, source, event.at),
    )
    query = "SELECT id FROM sessions WHERE scope = ? AND session = ?"
    session = int(db.execute(query, (scope, event.session)).fetchone()[0])
    if event.log is not None:
        db.execute(
            "INSERT OR IGNORE INTO logs (session, name) VALUES (?, ?)", (session, event.log.name)
        )
    return session

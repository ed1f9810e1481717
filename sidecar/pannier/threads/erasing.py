"""Taking a thread out of the tables, and the marks by which it does not come back.

Two kinds of marks: a session that spoke in the thread says nothing there any more, and no record
that was erased is stored again, whichever thread or session brings it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence

from pannier.threads import fulltext
from pannier_hook.events import Event

_ASKED_AT_ONCE = 500


def is_erased(db: sqlite3.Connection, scope: int, event: Event, thread: str) -> bool:
    """Whether the event's session was erased with the thread of this name. If so, it is counted."""
    found = db.execute(
        "UPDATE erased SET dropped = dropped + 1 WHERE scope = ? AND session = ? AND thread = ?"
        " RETURNING 1",
        (scope, event.session, thread),
    )
    return found.fetchone() is not None


def turn_key(inner: str, key: str) -> str:
    """How a turn's key is told from a message's."""
    return f"turn\0{inner}\0{key}"


def erased_keys(db: sqlite3.Connection, scope: int, keys: Sequence[str]) -> frozenset[str]:
    """Which of these keys of messages and turns are erased ones."""
    digests = {_digest(key): key for key in keys}
    asked = list(digests)
    found: set[str] = set()
    for begin in range(0, len(asked), _ASKED_AT_ONCE):
        some = asked[begin : begin + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT key FROM erased_keys WHERE scope = ? AND key IN ({marks})"
        found.update(digests[digest] for (digest,) in db.execute(query, (scope, *some)))
    return frozenset(found)


def erase(db: sqlite3.Connection, thread: int, late: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Forget the thread; returns how many messages and turns there were.

    `late`: clients and sessions of which something is still to come from before this moment.
    """
    _mark(db, thread, late)
    _bridge(db, thread)
    _unindex(db, thread)
    sessions = [
        id
        for (id,) in db.execute(
            "SELECT id FROM sessions WHERE thread = ?1 OR id IN"
            " (SELECT session FROM messages WHERE thread = ?1)",
            (thread,),
        )
    ]
    for statement in _FORGET:
        db.execute(statement, {"thread": thread})
    messages, turns = (
        db.execute(f"DELETE FROM {table} WHERE thread = ?", (thread,)).rowcount
        for table in ("messages", "turns")
    )
    for statement in _FORGET_SESSION:
        db.executemany(statement, [(session,) for session in sessions])
    return messages, turns


def _mark(db: sqlite3.Connection, thread: int, late: Iterable[tuple[str, str]]) -> None:
    grp, name = db.execute("SELECT grp, name FROM threads WHERE id = ?", (thread,)).fetchone()
    db.execute(
        "INSERT OR IGNORE INTO erased (scope, session, thread) SELECT scope, session, ?2"
        " FROM sessions WHERE session != '' AND (thread = ?1 OR id IN"
        " (SELECT session FROM messages WHERE thread = ?1))",
        (thread, name),
    )
    for client, session in late:
        db.execute("INSERT OR IGNORE INTO scopes (grp, client) VALUES (?, ?)", (grp, client))
        db.execute(
            "INSERT OR IGNORE INTO erased (scope, session, thread)"
            " SELECT id, ?, ? FROM scopes WHERE grp = ? AND client = ?",
            (session, name, grp, client),
        )
    keys = db.execute("SELECT scope, key FROM messages WHERE thread = ?", (thread,)).fetchall()
    turns = db.execute("SELECT scope, inner, key FROM turns WHERE thread = ?", (thread,))
    keys += [(scope, turn_key(inner, key)) for scope, inner, key in turns]
    db.executemany(
        "INSERT OR IGNORE INTO erased_keys (scope, key) VALUES (?, ?)",
        ((scope, _digest(key)) for scope, key in keys),
    )


def _digest(key: str) -> bytes:
    """Keys are a client's words: of those, too, nothing stays."""
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _bridge(db: sqlite3.Connection, thread: int) -> None:
    """What other threads said after something in this one follows what came before that."""
    before: dict[int, int | None] = {}
    # What comes before another message has the smaller number.
    query = "SELECT id, parent FROM messages WHERE thread = ? ORDER BY id"
    for id, parent in db.execute(query, (thread,)):
        before[id] = before.get(parent, parent)
    for select, update in _BRIDGES:
        found = db.execute(select, {"thread": thread}).fetchall()
        db.executemany(update, [(before[message], *row) for message, *row in found])


_BRIDGES = (
    (
        "SELECT parent, id FROM messages WHERE thread != :thread"
        " AND parent IN (SELECT id FROM messages WHERE thread = :thread)",
        "UPDATE messages SET parent = ? WHERE id = ?",
    ),
    (
        "SELECT head, id FROM threads WHERE id != :thread"
        " AND head IN (SELECT id FROM messages WHERE thread = :thread)",
        "UPDATE threads SET head = ? WHERE id = ?",
    ),
    (
        "SELECT message, session, inner FROM tips"
        " WHERE message IN (SELECT id FROM messages WHERE thread = :thread)",
        "UPDATE tips SET message = ? WHERE session = ? AND inner = ?",
    ),
)
_FORGET = (
    """
    UPDATE messages SET turn = NULL WHERE thread != :thread
        AND turn IN (SELECT id FROM turns WHERE thread = :thread)
    """,
    """
    UPDATE usage SET turn = NULL WHERE thread != :thread
        AND turn IN (SELECT id FROM turns WHERE thread = :thread)
    """,
    """
    UPDATE tips SET turn = NULL, open = 0
        WHERE turn IN (SELECT id FROM turns WHERE thread = :thread)
    """,
    "DELETE FROM usage WHERE thread = :thread",
    "DELETE FROM contexts WHERE thread = :thread",
)
# One that also spoke elsewhere stays for what it said there, and for what it will say.
_FORGET_SESSION = (
    "UPDATE sessions SET state = '{}' WHERE id = ?",
    """
    DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE session = ?1)
        AND NOT EXISTS (SELECT 1 FROM turns WHERE session = ?1)
    """,
)


def _unindex(db: sqlite3.Connection, thread: int) -> None:
    """The index forgets a text when it is given the same once more."""
    found = db.execute(
        "SELECT messages.id, grp, kind, tool, text FROM messages"
        " JOIN threads ON threads.id = thread WHERE thread = ?",
        (thread,),
    )
    db.executemany(
        "INSERT INTO search (search, rowid, text, place) VALUES ('delete', ?, ?, ?)",
        (
            (id, fulltext.indexed(tool, text), fulltext.place(grp, thread))
            for id, grp, kind, tool, text in found
            if kind not in fulltext.SILENT_KINDS
        ),
    )

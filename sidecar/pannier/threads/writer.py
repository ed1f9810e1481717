"""Writing what was said. One process at a time does: the holder of `state/threads.lock`."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pannier.clients.transcript import Reading, State
from pannier.database import in_words
from pannier.errors import UsageError
from pannier.threads import application, erasing
from pannier.threads.application import Applied, Indexed
from pannier.threads.queries import Store
from pannier.threads.rows import SessionRow
from pannier_hook.events import Event

_OUTER = ("BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",))
_INNER = ("SAVEPOINT step", "RELEASE step", ("ROLLBACK TO step", "RELEASE step"))

_TAKEN_KEPT = 86_400 * 10**9
"""Nanoseconds."""


@dataclass(frozen=True)
class Erased:
    """What is not there any more."""

    messages: int
    turns: int
    sessions: tuple[SessionRow, ...]
    """Nothing of what they say in this thread will be stored again."""
    logs: tuple[tuple[str, str], ...]
    """Their transcripts: the client, and the path below its HOME (or a whole one)."""


class WritableStore(Store):
    """The database, open for writing. What a method does is done whole or not at all."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        super().__init__(path, db)
        self._texts: list[Indexed] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What happens within is done whole or not at all; within another one, with that.

        Raises PannierError.
        """
        inner = self.db.in_transaction
        begin, done, undone = _INNER if inner else _OUTER
        texts = len(self._texts)
        with in_words(self.path):
            self.db.execute(begin)
            try:
                yield
                if not inner:
                    self._index()
                self.db.execute(done)
            except BaseException:
                del self._texts[texts:]
                # A full disk has ended the transaction already (sqlite.org/lang_transaction.html).
                if self.db.in_transaction:
                    for statement in undone:
                        self.db.execute(statement)
                raise

    def _index(self) -> None:
        """All at once: each savepoint would make the index write out what it gathered so far."""
        self.db.executemany("INSERT INTO search (rowid, text, place) VALUES (?, ?, ?)", self._texts)
        self._texts.clear()

    def state(self, grp: str, client: str, session: str) -> State:
        """What a client's reader remembers of a session; {} at first."""
        query = (
            "SELECT state FROM sessions JOIN scopes ON scopes.id = scope"
            " WHERE grp = ? AND client = ? AND session = ?"
        )
        with in_words(self.path):
            found = self.db.execute(query, (grp, client, session)).fetchone()
        return dict(json.loads(found[0])) if found else {}

    def apply(self, grp: str, event: Event, reading: Reading) -> Applied:
        """Store what an event of this group says. A second time adds nothing."""
        with self.transaction():
            applied = application.apply(self.db, grp, event, reading)
            self._texts += applied.texts
            return applied

    def note(self, grp: str, event: str, records: int, *, done: bool) -> None:
        """Note how much of an event is stored."""
        with in_words(self.path):
            self.db.execute(
                "INSERT OR REPLACE INTO taken (grp, event, at, records, done)"
                " VALUES (?, ?, ?, ?, ?)",
                (grp, event, time.time_ns(), records, done),
            )

    def noted(self, grp: str, event: str) -> tuple[int, bool]:
        """How many records of an event are stored, and whether that is all of it."""
        query = "SELECT records, done FROM taken WHERE grp = ? AND event = ?"
        with in_words(self.path):
            found = self.db.execute(query, (grp, event)).fetchone()
        return (found[0], bool(found[1])) if found else (0, False)

    def forget_taken(self) -> None:
        """Forget the ids of events whose files are gone by now."""
        before = time.time_ns() - _TAKEN_KEPT
        with in_words(self.path):
            self.db.execute("DELETE FROM taken WHERE at < ?", (before,))

    def move_head(self, thread: int, message: int | None) -> None:
        """The thread goes on from this message; None: from its beginning. Nothing is deleted.

        Raises UsageError unless it was said in this thread, or before it on the head's path.
        """
        with self.transaction():
            found = None if message is None else self.message(message)
            if self.thread(thread) is None:
                raise UsageError("there is no such thread any more")
            if message is not None and not (
                found and (found.thread == thread or self.in_branch(thread, message))
            ):
                raise UsageError(f"m{message} is no message of this thread")
            self.db.execute(
                "UPDATE threads SET head = ?,"
                " moved = (SELECT coalesce(max(id), 0) FROM messages) WHERE id = ?",
                (message, thread),
            )

    def erase(self, thread: int, late: Iterable[tuple[str, str]] = ()) -> Erased:
        """Forget all that was said in the thread, for ever: also what is handed over later.

        What was said in other threads stays, even where it began from this one. `late`: clients
        and sessions that spoke in it, and nobody here knows yet.
        """
        with in_words(self.path):
            self.db.execute("PRAGMA secure_delete = ON")
        with self.transaction():
            self._index()
            erased = self._erase(thread, late)
            # The index keeps the words of what it forgot until its parts are merged.
            self.db.execute("INSERT INTO search (search) VALUES ('optimize')")
        with in_words(self.path):
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return erased

    def _erase(self, thread: int, late: Iterable[tuple[str, str]]) -> Erased:
        sessions = self.sessions(thread)
        logs = tuple((s.client, log) for s in sessions for log in self.logs(s.id))
        with in_words(self.path):
            messages, turns = erasing.erase(self.db, thread, late)
            self.db.execute(
                "UPDATE threads SET head = NULL, deleted = ? WHERE id = ?",
                (time.time_ns(), thread),
            )
        return Erased(messages, turns, sessions, logs)

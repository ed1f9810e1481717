"""Reading what was said. Writing it: `writer`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pannier.database import Frozen, in_words
from pannier.errors import UsageError
from pannier.threads import fulltext
from pannier.threads.rows import (
    MAIN,
    MessageRow,
    PlaceRow,
    ReportRow,
    SessionRow,
    ThreadRow,
    TurnRow,
    UsageRow,
)

ALL = -1

Row = TypeVar("Row", ThreadRow, SessionRow, TurnRow, MessageRow, PlaceRow, ReportRow, UsageRow)

_THREADS = """
SELECT id, grp, name, key, created, head,
    (SELECT count(*) FROM messages WHERE thread = threads.id),
    (SELECT count(*) FROM turns WHERE thread = threads.id AND inner = '' AND NOT task),
    coalesce((SELECT at FROM messages WHERE thread = threads.id ORDER BY id DESC LIMIT 1), 0)
FROM threads WHERE NOT deleted
"""
_SESSIONS = """
SELECT sessions.id, client, session, thread, source, began,
    (SELECT nullif(message, 0) FROM tips WHERE tips.session = sessions.id AND inner = '')
FROM sessions JOIN scopes ON scopes.id = scope
"""
_TURNS = """
SELECT turns.id, turns.thread, session, turns.key, began, ended, outcome, reason, inner, task,
    coalesce(sum(input), 0), coalesce(sum(output), 0),
    coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0)
FROM turns LEFT JOIN usage ON usage.turn = turns.id
"""
_MESSAGES = """
SELECT messages.id, thread, session, turn, parent, key, position, at, role, kind, text, tool, call,
    model, failed, inner
FROM messages
"""
# From the head through what was said before: the head's branch alone, beyond a message. What comes
# before another has the smaller number.
_BRANCH = """
WITH RECURSIVE branch (id, next) AS (
    SELECT id, parent FROM messages WHERE id = (SELECT head FROM threads WHERE id = :thread)
    UNION ALL
    SELECT messages.id, messages.parent FROM branch JOIN messages ON messages.id = branch.next
        WHERE branch.next > :after
    LIMIT :most
)
"""


def _some(branch: bool) -> str:
    there = "id IN (SELECT id FROM branch)" if branch else "thread = :thread"
    return f"{_BRANCH if branch else ''} {_MESSAGES} WHERE {there}"


class Store:
    """The database, open. Use it in a `with`. Every method raises PannierError."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self.db = db

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()

    @property
    def caveat(self) -> str:
        """What a person should know of it; "" if there is nothing."""
        if not isinstance(self.db, Frozen):
            return ""
        log = self.path.with_name(f"{self.path.name}-wal")
        without = f" without what is in {log.name}" if log.exists() else ""
        return f"{self.path} is read as it lies there{without}: its folder cannot be written"

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read within sees one state, whatever is written meanwhile."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("ROLLBACK")

    def threads(self, grp: str | None = None) -> tuple[ThreadRow, ...]:
        """Those of a group, else all; by group and name."""
        return self._rows(
            ThreadRow, f"{_THREADS} AND grp = coalesce(?, grp) ORDER BY grp, name", grp
        )

    def last_said(self, grp: str) -> tuple[tuple[int, str, int], ...]:
        """Threads of a group as number, key and last message; who spoke last comes first."""
        query = (
            "SELECT id, key, (SELECT max(id) FROM messages WHERE thread = threads.id) AS last"
            " FROM threads WHERE grp = ? AND NOT deleted AND last ORDER BY last DESC"
        )
        with in_words(self.path):
            return tuple(self.db.execute(query, (grp,)))

    def find_thread(self, ref: str) -> ThreadRow:
        """The thread that is called `FOLDER` (its `main`), `FOLDER/THREAD`, or by its key.

        Raises UsageError.
        """
        grp, named, name = ref.partition("/")
        called = self._rows(
            ThreadRow, f"{_THREADS} AND grp = ? AND name = ?", grp, name if named else MAIN
        ) or self._rows(ThreadRow, f"{_THREADS} AND key = ?", ref)
        if not called:
            raise UsageError(f"no thread {ref}", "See which there are: pannier threads list")
        return called[0]

    def thread(self, id: int) -> ThreadRow | None:
        """The thread of this number; None if there is none, or it was deleted."""
        return next(iter(self._rows(ThreadRow, f"{_THREADS} AND id = ?", id)), None)

    def sessions(self, thread: int) -> tuple[SessionRow, ...]:
        """Those that spoke in the thread, in the order of their beginnings."""
        return self._rows(
            SessionRow,
            f"{_SESSIONS} WHERE thread = ?1 OR sessions.id IN"
            " (SELECT session FROM messages WHERE thread = ?1) ORDER BY began, sessions.id",
            thread,
        )

    def elsewhere(self, session: int, thread: int) -> tuple[str, ...]:
        """The names of the other threads that the session spoke in."""
        query = (
            "SELECT grp || '/' || name FROM threads WHERE id != ?2 AND NOT deleted AND id IN"
            " (SELECT thread FROM messages WHERE session = ?1) ORDER BY name"
        )
        with in_words(self.path):
            return tuple(ref for (ref,) in self.db.execute(query, (session, thread)))

    def session_ids(self, grp: str, client: str) -> tuple[str, ...]:
        """What a client of a group calls all its sessions."""
        query = (
            "SELECT session FROM sessions JOIN scopes ON scopes.id = scope"
            " WHERE grp = ? AND client = ?"
        )
        with in_words(self.path):
            return tuple(session for (session,) in self.db.execute(query, (grp, client)))

    def dropped(self) -> dict[str, int]:
        """By group, how often sessions spoke in a thread with which they were erased."""
        query = (
            "SELECT grp, sum(dropped) FROM erased JOIN scopes ON scopes.id = scope"
            " GROUP BY grp HAVING sum(dropped)"
        )
        with in_words(self.path):
            return dict(self.db.execute(query))

    def logs(self, session: int) -> tuple[str, ...]:
        """The transcripts that a session's records came from: paths below HOME, or whole ones.

        Claims of the container, as everything else.
        """
        with in_words(self.path):
            found = self.db.execute("SELECT name FROM logs WHERE session = ?", (session,))
            return tuple(name for (name,) in found)

    def turns(self, thread: int) -> tuple[TurnRow, ...]:
        """All turns of the thread in the order in which they began, inner ones among them."""
        return self._rows(
            TurnRow, f"{_TURNS} WHERE turns.thread = ? GROUP BY turns.id ORDER BY turns.id", thread
        )

    def turn(self, id: int) -> TurnRow | None:
        """The turn `t<id>`."""
        found = self._rows(TurnRow, f"{_TURNS} WHERE turns.id = ? GROUP BY turns.id", id)
        return next(iter(found), None)

    def messages(
        self, thread: int, *, branch: bool = True, after: int = 0, limit: int = ALL
    ) -> tuple[MessageRow, ...]:
        """What was said in the thread, in order, beyond the message `after`.

        `branch`: the path from the head through what came before each, which may have begun in
        another thread; without sub-agents and other branches. Else everything, as it was stored.
        """
        return self._rows(
            MessageRow,
            f"{_some(branch)} AND id > :after ORDER BY id LIMIT :limit",
            thread=thread,
            after=after,
            most=ALL,
            limit=limit,
        )

    def latest(self, thread: int, *, branch: bool = True, limit: int) -> tuple[MessageRow, ...]:
        """The last `limit` of what `messages` gives, in order."""
        found = self._rows(
            MessageRow,
            f"{_some(branch)} ORDER BY id DESC LIMIT :most",
            thread=thread,
            after=0,
            most=limit,
        )
        return found[::-1]

    def message(self, id: int) -> MessageRow | None:
        """The message `m<id>`."""
        return next(iter(self._rows(MessageRow, f"{_MESSAGES} WHERE id = ?", id)), None)

    def end_of(self, thread: int, turn: int) -> MessageRow | None:
        """The last message of the main conversation that a turn has in this thread."""
        found = self._rows(
            MessageRow,
            f"{_MESSAGES} WHERE thread = ? AND turn = ? AND inner = '' ORDER BY id DESC LIMIT 1",
            thread,
            turn,
        )
        return next(iter(found), None)

    def places(self, thread: int) -> tuple[PlaceRow, ...]:
        """The path from the head back to its beginning, the last message first."""
        return self._rows(
            PlaceRow,
            f"{_BRANCH} SELECT id, session, turn, kind FROM messages"
            " WHERE id IN (SELECT id FROM branch) ORDER BY id DESC",
            thread=thread,
            after=0,
            most=ALL,
        )

    def report(self, session: int, thread: int) -> ReportRow | None:
        """What the session said last that its model would be sent in this thread."""
        query = "SELECT at, turn, report FROM contexts WHERE session = ? AND thread = ?"
        return next(iter(self._rows(ReportRow, query, session, thread)), None)

    def said_later(self, thread: int, turn: int, message: int) -> bool:
        """Whether the thread has something of the turn after the message."""
        end = self.end_of(thread, turn)
        return end is not None and end.id > message

    def last_usage(self, turn: int) -> UsageRow | None:
        """The last model call of a turn of which the client said what it cost."""
        query = (
            "SELECT model, input, output, cache_read, cache_write FROM usage WHERE turn = ?"
            " ORDER BY id DESC LIMIT 1"
        )
        return next(iter(self._rows(UsageRow, query, turn)), None)

    def in_branch(self, thread: int, message: int) -> bool:
        """Whether the head's path goes through this message."""
        query = f"{_BRANCH} SELECT 1 FROM branch WHERE id = :after + 1"
        values = {"thread": thread, "after": message - 1, "most": ALL}
        with in_words(self.path):
            return self.db.execute(query, values).fetchone() is not None

    def search(
        self, query: str, grp: str | None, *, thread: int | None = None, limit: int = 20
    ) -> tuple[MessageRow, ...]:
        """Messages with all words of the query, the newest first.

        On all branches. `"…"` is a phrase, `word*` a beginning. `grp` None: of all groups.
        """
        match = fulltext.expression(query, grp, thread)
        if not match:
            return ()
        return self._rows(
            MessageRow,
            f"{_MESSAGES} WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?"
            " ORDER BY rowid DESC LIMIT ?) ORDER BY id DESC",
            match,
            limit,
        )

    def _rows(self, row: type[Row], query: str, *values: Any, **named: Any) -> tuple[Row, ...]:
        with in_words(self.path):
            return tuple(row.of(found) for found in self.db.execute(query, named or values))

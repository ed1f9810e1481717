"""The queue: messages for agents, until they were delivered. First in, first out by thread.

A message waits here, lies in its group's inbox meanwhile, and leaves the queue when the hook says
that the agent was told, or when a client that was started with it ended well. Whatever crashes in
between, it is delivered again; by its id, which is then known as delivered, it is recognised.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pannier.database import Migration, alone, database_file, opened
from pannier.errors import PannierError, UsageError
from pannier.paths import Home
from pannier.threads.rows import MAIN
from pannier.threads.times import timestamp
from pannier_hook.messages import (
    ID_LENGTH,
    LONGEST_NAME,
    LONGEST_TEXT,
    MESSAGE,
    Message,
)
from pannier_hook.textrules import clean, one_line

MOST_WAITING = 1_000
"""Messages of one group."""
MOST_BYTES = 8 << 20
"""Bytes of all texts that wait for one group."""
KEPT_DELIVERED = 90 * 86_400
"""Seconds that the queue remembers which ids it delivered."""

State = Literal["waiting", "placed", "started"]
"""`placed`: it lies in the group's inbox. `started`: a client was started with it as its prompt."""

_FIRST = """
CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    grp TEXT NOT NULL,
    thread TEXT NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    sender TEXT NOT NULL,
    source TEXT NOT NULL,
    text TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    owner TEXT NOT NULL DEFAULT '',      -- of a started one: the process that started the client
    missed INTEGER NOT NULL DEFAULT 0    -- when a placed one was first not in the inbox
) STRICT;
CREATE INDEX messages_by_thread ON messages (grp, thread, number);

-- Without the text: by its id, a repeated delivery is recognised, and a forged one.
CREATE TABLE delivered (
    id TEXT PRIMARY KEY,
    grp TEXT NOT NULL,
    thread TEXT NOT NULL,
    at INTEGER NOT NULL,
    sender TEXT NOT NULL,
    source TEXT NOT NULL,
    delivered INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX delivered_by_time ON delivered (delivered);
"""

_BEGUN = """
-- Whether a client was ever started with it as its prompt.
ALTER TABLE messages ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET begun = 1 WHERE state = 'started';
"""

_MIGRATIONS = (
    Migration("messages, and what was delivered", _FIRST),
    Migration("what a client was started with", _BEGUN),
)


@dataclass(frozen=True)
class Waiting:
    """A message in the queue."""

    number: int
    """Gives the order."""
    group: str
    message: Message
    state: State
    owner: str
    """Of a started one: the process that started the client."""
    missed: int
    """When a placed one was first not in the inbox, in nanoseconds since 1970; 0: it is there."""

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        message = self.message
        return {
            "id": message.id,
            "group": self.group,
            "thread": message.thread,
            "kind": message.kind,
            "at": timestamp(message.at),
            "from": message.sender,
            "source": message.source,
            "text": message.text,
            "state": self.state,
        }


def queue_file(home: Home, environ: Mapping[str, str]) -> Path:
    """Where it lies: `state/queue.db`, unless PANNIER_QUEUE_DB_PATH says so."""
    return database_file(home, environ, "queue.db")


@contextmanager
def open_queue(path: Path) -> Iterator[Queue]:
    """The queue, made if it is missing; closed at the end. Raises PannierError."""
    with opened(path, write=True, migrations=_MIGRATIONS) as db:
        yield Queue(db)


def tell_queue(home: Home, environ: Mapping[str, str]) -> Callable[[str, Sequence[str]], None]:
    """For who reads spools: says to the queue which messages a group's agent was told.

    What is called raises PannierError. Without a queue it does nothing.
    """
    path = queue_file(home, environ)

    def tell(group: str, ids: Sequence[str]) -> None:
        if ids and path.exists():
            with open_queue(path) as queue:
                queue.said_to_be_delivered(group, ids)

    return tell


class Queue:
    """An open queue. Several processes may use it at once."""

    def __init__(self, connection: sqlite3.Connection, now: Callable[[], int] = time.time_ns):
        self._db = connection
        self._now = now

    def put(
        self,
        group: str,
        text: str,
        *,
        thread: str = MAIN,
        sender: str = "",
        source: str = "",
        kind: str = MESSAGE,
        checkpoint: str = "",
    ) -> Waiting:
        """Add a message. Raises UsageError for one that cannot be sent, PannierError when full."""
        message = new_message(
            text,
            at=self._now(),
            thread=thread,
            sender=sender,
            source=source,
            kind=kind,
            checkpoint=checkpoint,
        )
        with self.alone():
            self._require_room(group, len(message.text.encode()))
            names = ("id", "thread", "kind", "at", "sender", "source", "text", "checkpoint")
            number = self._db.execute(
                f"INSERT INTO messages (grp, {', '.join(names)}) VALUES (?{', ?' * len(names)})",
                (group, *(getattr(message, name) for name in names)),
            ).lastrowid
        assert number is not None
        return Waiting(number, group, message, "waiting", "", 0)

    def waiting(self, group: str | None = None, thread: str | None = None) -> list[Waiting]:
        """What is not delivered yet, in order."""
        rows = self._db.execute(
            "SELECT number, grp, id, text, at, kind, thread, sender, source, checkpoint, state, "
            "owner, missed FROM messages WHERE grp = coalesce(?, grp) "
            "AND thread = coalesce(?, thread) ORDER BY number",
            (group, thread),
        )
        return [_row(row) for row in rows]

    def groups(self) -> list[str]:
        """The groups for which something waits."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT grp FROM messages ORDER BY 1")]

    def alone(self) -> AbstractContextManager[None]:
        """All of it or nothing, and nobody else changes the queue meanwhile."""
        return alone(self._db)

    def mark(self, number: int, state: State, *, owner: str = "", missed: int = 0) -> None:
        """Say how a message that waits is now."""
        self._db.execute(
            "UPDATE messages SET state = ?, owner = ?, missed = ?, begun = begun OR ? "
            "WHERE number = ?",
            (state, owner, missed, state == "started", number),
        )

    def delivered(self, group: str, ids: Sequence[str]) -> int:
        """The agent was told: they leave the queue. Returns how many waited until now.

        Ids that do not wait for this group are passed over: the word of a container is no proof.
        """
        count = 0
        for id in ids:
            count += self._db.execute(
                "INSERT OR IGNORE INTO delivered SELECT id, grp, thread, at, sender, source, ? "
                "FROM messages WHERE grp = ? AND id = ?",
                (self._now(), group, id),
            ).rowcount
            self._db.execute("DELETE FROM messages WHERE grp = ? AND id = ?", (group, id))
        return count

    def said_to_be_delivered(self, group: str, ids: Sequence[str]) -> int:
        """`delivered` by what a group's spool says.

        That says nothing of a message with which a client was started: it stands in the record
        whether or not the client got so far as to answer it. Who started the client knows that.
        """
        query = "SELECT 1 FROM messages WHERE grp = ? AND id = ? AND NOT begun"
        found = [id for id in ids if self._db.execute(query, (group, id)).fetchone()]
        return self.delivered(group, found)

    def withdraw(self, group: str, id: str) -> bool:
        """Take a message out of the queue, undelivered. Whether it was there."""
        found = self._db.execute("DELETE FROM messages WHERE grp = ? AND id = ?", (group, id))
        return found.rowcount > 0

    def was_delivered(self, group: str, id: str) -> bool:
        """Whether the queue delivered a message of this id to the group, not too long ago."""
        query = "SELECT 1 FROM delivered WHERE grp = ? AND id = ?"
        return self._db.execute(query, (group, id)).fetchone() is not None

    def forget(self) -> None:
        """Forget what was delivered long ago."""
        before = self._now() - KEPT_DELIVERED * 10**9
        self._db.execute("DELETE FROM delivered WHERE delivered < ?", (before,))

    def _require_room(self, group: str, size: int) -> None:
        count, held = self._db.execute(
            "SELECT count(*), coalesce(sum(length(CAST(text AS BLOB))), 0) "
            "FROM messages WHERE grp = ?",
            (group,),
        ).fetchone()
        if count >= MOST_WAITING or held + size > MOST_BYTES:
            raise PannierError(
                f"the queue of {group} is full: {count:,} messages of {held:,} bytes wait",
                f"Let the agent have them: pannier run {group}. "
                f"Or withdraw some: pannier queue {group}",
            )


def new_message(
    text: str,
    *,
    at: int,
    thread: str = MAIN,
    sender: str = "",
    source: str = "",
    kind: str = MESSAGE,
    checkpoint: str = "",
) -> Message:
    """A message that can be sent: its text by the text rules, with an id of its own.

    Raises UsageError for one that is empty or too long.
    """
    try:
        text = clean(text)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UsageError("the message is not text in UTF-8") from None
    if kind == MESSAGE and not text.strip():
        raise UsageError("the message is empty", "Write what the agent shall be told.")
    if size > LONGEST_TEXT:
        raise UsageError(
            f"the message has {size:,} bytes; {LONGEST_TEXT:,} are the most",
            "Put it into a file of the group's files/ and send where it is.",
        )
    names = (one_line(sender, LONGEST_NAME), one_line(source, LONGEST_NAME), thread, checkpoint)
    while True:
        id = secrets.token_hex(ID_LENGTH // 2)
        if not any(id in one for one in (text, *names)):
            break
    return Message(
        id,
        text,
        at=at,
        kind=kind,
        thread=thread,
        sender=names[0],
        source=names[1],
        checkpoint=checkpoint,
    )


def _row(row: tuple[Any, ...]) -> Waiting:
    number, group, id, text, at, kind, thread, sender, source, checkpoint, *how = row
    message = Message(
        id,
        text,
        at=at,
        kind=kind,
        thread=thread,
        sender=sender,
        source=source,
        checkpoint=checkpoint,
    )
    state, owner, missed = how
    return Waiting(number, group, message, state, owner, missed)

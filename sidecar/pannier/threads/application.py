"""One event, and what a reader made of its records, put into the tables."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace

from pannier.clients.transcript import (
    ASKED_ITSELF,
    After,
    Entry,
    HeadMoves,
    Message,
    Place,
    Reading,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.threads import bounds, erasing, fulltext, successes
from pannier.threads.known import Known, Stored, look, turn_of, untaken
from pannier.threads.report import parse
from pannier.threads.whereabouts import Ids, find_or_make
from pannier_hook.events import CONTEXT, RECORDS, Event

_MAIN = ""
"""The conversation of a session that no sub-agent holds."""
BROKEN_OFF = "broken off"
"""Why a turn was interrupted, as far as is known: nothing more was heard of its session."""
_BEFORE_ALL = 0
"""A tip that went back to before everything."""


@dataclass
class _Tip:
    """Where a conversation of the session stands."""

    message: int | None = None
    turn: int | None = None
    open: bool = False


Indexed = tuple[int, str, str]


@dataclass(frozen=True)
class Applied:
    """What an event brought."""

    stored: int = 0
    """Messages that were not known before."""
    texts: tuple[Indexed, ...] = ()
    """What is to be put into the full-text index: number, text, place."""


def apply(db: sqlite3.Connection, grp: str, event: Event, reading: Reading) -> Applied:
    """Store what an event says, in the transaction that is open. A second time adds nothing, nor
    does a session that was erased with its thread."""
    ids = find_or_make(db, grp, event)
    if ids is None:
        return Applied()
    known = look(db, ids.scope, reading.entries)
    application = _Application(db, grp, event, ids, known)
    for entry in untaken(reading.entries, known):
        application.take(entry)
    if event.details.get("left"):
        application.leave()
    if event.kind == CONTEXT:
        application.report()
    application.finish()
    state = json.dumps(dict(reading.state), separators=(",", ":"))
    now = (state, ids.thread, ids.session)
    db.execute("UPDATE sessions SET state = ?, thread = ? WHERE id = ?", now)
    return Applied(application.stored, tuple(application.texts))


class _Application:
    """The entries of one event, one after the other. Messages wait to be inserted together."""

    def __init__(
        self, db: sqlite3.Connection, grp: str, event: Event, ids: Ids, known: Known
    ) -> None:
        self.db = db
        self.event = event
        self.ids = ids
        self.place = fulltext.place(grp, ids.thread)
        self.stored = 0
        self.speaks = False
        self.known = known
        self.waiting: list[tuple[object, ...]] = []
        self.texts: list[Indexed] = []
        query = "SELECT inner, message, turn, open FROM tips WHERE session = ?"
        self.before = {
            inner: _Tip(message, turn, bool(open_))
            for inner, message, turn, open_ in db.execute(query, (ids.session,))
        }
        self.tips = {inner: replace(tip) for inner, tip in self.before.items()}
        found = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone()
        self.last_id = int(found[0]) if found else 0

    def tip(self, inner: str) -> _Tip:
        return self.tips.setdefault(bounds.text(inner), _Tip())

    def take(self, entry: Entry) -> None:
        if isinstance(entry, Message):
            self.say(entry)
        elif isinstance(entry, TurnBegins):
            self.begin(entry)
        elif isinstance(entry, TurnEnds):
            self.end(entry)
        elif isinstance(entry, Usage):
            self.count(entry)
        else:
            self.move(entry)

    def say(self, message: Message) -> None:
        tip = self.tip(message.inner)
        key = bounds.key(message.key)
        if key in self.known.erased:
            return
        if key in self.known.messages:
            self.repeat(tip, self.known.messages[key])
            return
        self.last_id += 1
        self.waiting.append(self.row(self.last_id, message, key, self.parent(message, tip)))
        self.known.messages[key] = Stored(self.last_id, tip.turn if tip.open else None)
        tip.message = self.last_id
        self.stored += 1
        # What nobody knows may come after the last word of a session that is over.
        self.speaks |= message.inner == _MAIN and message.kind != "raw"

    def repeat(self, tip: _Tip, stored: Stored) -> None:
        """Said again: what follows follows as it did the first time."""
        tip.message = stored.message
        tip.turn = stored.turn
        tip.open = stored.turn is not None

    def row(
        self, number: int, message: Message, key: str, parent: int | None
    ) -> tuple[object, ...]:
        text, tool = bounds.text(message.text), bounds.text(message.tool)
        if message.kind not in fulltext.SILENT_KINDS:
            self.texts.append((number, fulltext.indexed(tool, text), self.place))
        return (
            number,
            self.ids.thread,
            self.ids.session,
            self.turn(message.inner),
            parent,
            self.ids.scope,
            key,
            bounds.number(message.position),
            bounds.number(message.at) or self.event.at,
            message.role,
            message.kind,
            text,
            tool,
            bounds.text(message.call),
            bounds.text(message.model),
            message.failed,
            bounds.text(message.inner),
        )

    def parent(self, message: Message, tip: _Tip) -> int | None:
        named = self.find(message.parent) if message.parent is not None else None
        if named is not None:
            return named
        before = tip.message
        if before is None and message.inner != _MAIN:
            before = self.tip(_MAIN).message
        return self.ids.head if before is None else before or None

    def find(self, place: Place) -> int | None:
        """The message there; None if the store does not know it."""
        if isinstance(place, After):
            stored = self.known.messages.get(bounds.key(place.key))
            return stored.message if stored else None
        self.flush()
        # By age, not by position: what was taken back has positions that came again since.
        found = self.db.execute(
            "SELECT messages.id FROM messages JOIN sessions ON sessions.id = messages.session"
            " WHERE sessions.scope = ? AND sessions.session = ? AND inner = '' AND position < ?"
            " ORDER BY messages.id DESC LIMIT 1",
            (self.ids.scope, bounds.text(place.session), bounds.number(place.position)),
        ).fetchone()
        return int(found[0]) if found else None

    def turn(self, inner: str) -> int | None:
        """The open one. A sub-agent that has none works for the agent's; in the main conversation
        it may be one that the client began itself."""
        tip = self.tip(inner)
        if inner == _MAIN and not tip.open:
            tip = self.tips.get(ASKED_ITSELF, tip)
        elif inner != _MAIN and tip.turn is None:
            tip = self.tip(_MAIN)
        return tip.turn if tip.open else None

    def begin(self, begins: TurnBegins) -> None:
        tip = self.tip(begins.inner)
        at = bounds.number(begins.at) or self.event.at
        inner, key = turn = turn_of(begins)
        tip.open = erasing.turn_key(inner, key) not in self.known.erased
        tip.turn = self.known.turns.get(turn) if tip.open else None
        if not tip.open or tip.turn is not None:
            return
        self.db.execute(
            "UPDATE turns SET outcome = 'failed', reason = 'no end seen', ended = ?"
            " WHERE session = ? AND inner = ? AND outcome = ''",
            (at, self.ids.session, inner),
        )
        made = self.db.execute(
            "INSERT INTO turns (scope, inner, key, thread, session, began, task)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                self.ids.scope,
                inner,
                key,
                self.ids.thread,
                self.ids.session,
                at,
                self.event.task,
            ),
        )
        tip.turn = self.known.turns[turn] = int(made.fetchone()[0])

    def end(self, ends: TurnEnds) -> None:
        tip = self.tip(ends.inner)
        at = bounds.number(ends.at) or self.event.at
        changed = self.db.execute(
            "UPDATE turns SET outcome = ?1, reason = ?2, ended = ?3 WHERE id = ?4"
            " AND ((outcome = '' OR reason = ?6) AND ?5"
            " OR outcome = 'succeeded' AND ?1 != 'succeeded')",
            (ends.outcome, bounds.text(ends.reason), at, tip.turn, tip.open, BROKEN_OFF),
        )
        if changed.rowcount and tip.turn is not None:
            successes.settle(self.db, tip.turn)
        tip.open = False

    def leave(self) -> None:
        """Nothing is heard of the session. It may go on elsewhere all the same: its turns stay
        open, for what still comes and for their real end."""
        self.db.executemany(
            "UPDATE turns SET outcome = 'interrupted', reason = ?, ended = ?"
            " WHERE id = ? AND outcome = ''",
            [(BROKEN_OFF, self.event.at, tip.turn) for tip in self.tips.values() if tip.open],
        )

    def report(self) -> None:
        """What the model would be sent. One that comes late says nothing any more."""
        found = parse(self.event.details.get("report", ""))
        if found is None:
            return
        report = json.dumps(found.as_data(), separators=(",", ":"))
        now = (self.ids.session, self.ids.thread, self.event.at, self.tip(_MAIN).turn, report)
        self.db.execute(
            "INSERT INTO contexts (session, thread, at, turn, report) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET at = excluded.at, turn = excluded.turn,"
            " report = excluded.report WHERE excluded.at >= contexts.at",
            now,
        )

    def count(self, usage: Usage) -> None:
        self.db.execute(
            "INSERT INTO usage (scope, key, thread, turn, model, input, output, cache_read,"
            " cache_write) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " model = excluded.model, input = excluded.input, output = excluded.output,"
            " cache_read = excluded.cache_read, cache_write = excluded.cache_write",
            (
                self.ids.scope,
                bounds.key(usage.key),
                self.ids.thread,
                self.turn(usage.inner),
                bounds.text(usage.model),
                bounds.tokens(usage.input),
                bounds.tokens(usage.output),
                bounds.tokens(usage.cache_read),
                bounds.tokens(usage.cache_write),
            ),
        )

    def move(self, moves: HeadMoves) -> None:
        tip = self.tip(_MAIN)
        if moves.to is None:
            self.flush()
            first = self.db.execute(
                "SELECT parent FROM messages WHERE session = ? AND inner = ''"
                " ORDER BY position, id LIMIT 1",
                (self.ids.session,),
            ).fetchone()
            tip.message = (first[0] if first else None) or _BEFORE_ALL
            return
        there = self.find(moves.to)
        if there is not None:
            tip.message = there

    def flush(self) -> None:
        """Insert what waits."""
        self.db.executemany(f"INSERT INTO messages VALUES ({','.join('?' * 17)})", self.waiting)
        self.waiting.clear()

    def finish(self) -> None:
        self.flush()
        self.db.executemany(
            "INSERT INTO tips (session, inner, message, turn, open) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET message = excluded.message, turn = excluded.turn,"
            " open = excluded.open",
            [
                (self.ids.session, inner, tip.message, tip.turn, tip.open)
                for inner, tip in self.tips.items()
                if tip != self.before.get(inner)
            ],
        )
        tip = self.tip(_MAIN).message
        before = self.before.get(_MAIN, _Tip()).message
        went_back = tip != before and self.ids.head == (before or None)
        if (self.speaks or went_back) and not self.is_outrun():
            self.db.execute(
                "UPDATE threads SET head = ? WHERE id = ?", (tip or None, self.ids.thread)
            )

    def is_outrun(self) -> bool:
        """What a killed session left behind may come when the thread went on without it."""
        if self.event.kind != RECORDS or self.ids.head is None:
            return False
        found = self.db.execute(
            "SELECT 1 FROM messages WHERE id = ? AND session != ? AND at > ?",
            (self.ids.head, self.ids.session, self.event.at),
        )
        return found.fetchone() is not None

"""What of an event is stored already: a hand-over may be repeated, and begin anywhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pannier.clients.transcript import After, Entry, HeadMoves, Message, TurnBegins, TurnEnds
from pannier.threads import bounds, erasing

_ASKED_AT_ONCE = 500

Turn = tuple[str, str]
"""The conversation and the key of a turn, as they are stored."""


@dataclass(frozen=True)
class Stored:
    """A message that is stored."""

    message: int
    turn: int | None
    """That of its own conversation; a sub-agent's may belong to the agent's turn."""


@dataclass(frozen=True)
class Known:
    """What the store knows, by key; what it is told meanwhile is added."""

    messages: dict[str, Stored]
    turns: dict[Turn, int]
    erased: frozenset[str]
    """Keys of messages and turns that do not come back."""

    def has(self, entry: Entry) -> bool:
        """Whether this was said before."""
        if isinstance(entry, Message):
            return bounds.key(entry.key) in self.messages
        return isinstance(entry, TurnBegins) and turn_of(entry) in self.turns


def look(db: sqlite3.Connection, scope: int, entries: Sequence[Entry]) -> Known:
    """Ask for all keys together: most of a repeated hand-over is there already."""
    places = [e.parent for e in entries if isinstance(e, Message)]
    places += [e.to for e in entries if isinstance(e, HeadMoves)]
    keys = {bounds.key(e.key) for e in entries if isinstance(e, Message)}
    keys |= {bounds.key(place.key) for place in places if isinstance(place, After)}
    turns = {turn_of(e) for e in entries if isinstance(e, TurnBegins)}
    asked = [*keys, *(erasing.turn_key(*turn) for turn in turns)]
    return Known(
        _messages(db, scope, list(keys)),
        {turn: id for turn in turns if (id := _turn(db, scope, turn)) is not None},
        erasing.erased_keys(db, scope, asked),
    )


def untaken(entries: Sequence[Entry], known: Known) -> Iterator[Entry]:
    """The entries without ends of turns that are said again, and of which turn is not.

    A hand-over that is repeated may begin behind what the turn began with. The end was taken in
    before what follows it in here and is known; now another turn may be open. Pure.
    """
    again = max((number for number, entry in enumerate(entries) if known.has(entry)), default=-1)
    heard = set()
    for number, entry in enumerate(entries):
        if isinstance(entry, Message | TurnBegins):
            heard.add(entry.inner)
        if isinstance(entry, TurnEnds) and number < again and entry.inner not in heard:
            continue
        yield entry


def turn_of(begins: TurnBegins) -> Turn:
    return bounds.text(begins.inner), bounds.key(begins.key)


def _messages(db: sqlite3.Connection, scope: int, keys: Sequence[str]) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for begin in range(0, len(keys), _ASKED_AT_ONCE):
        some = keys[begin : begin + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(some))
        rows = db.execute(
            "SELECT messages.key, messages.id, turns.id FROM messages LEFT JOIN turns"
            " ON turns.id = turn AND turns.inner = messages.inner"
            f" WHERE messages.scope = ? AND messages.key IN ({marks})",
            (scope, *some),
        )
        found.update((key, Stored(id, turn)) for key, id, turn in rows)
    return found


def _turn(db: sqlite3.Connection, scope: int, turn: Turn) -> int | None:
    query = "SELECT id FROM turns WHERE scope = ? AND inner = ? AND key = ?"
    found = db.execute(query, (scope, *turn)).fetchone()
    return int(found[0]) if found else None

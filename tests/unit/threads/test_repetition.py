"""However often and however cut the same is handed over, the same is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pannier.clients.transcript import (
    After,
    Entry,
    HeadMoves,
    Message,
    Reading,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.threads.store import WritableStore, open_store
from pannier_hook.events import Event

GROUPS = ("scout", "pilot")
THREADS = ("main", "other")


@st.composite
def stories(draw: st.DrawFn) -> list[Entry]:
    """What a session says, from its beginning to its end."""
    entries: list[Entry] = []
    keys: list[str] = []
    open_: set[str] = set()
    may_end: set[str] = set()
    for number in range(draw(st.integers(1, 12))):
        inner = draw(st.sampled_from(["", "", "", "agent"])) if number else ""
        kinds = ["say", "say", "say", "begin", "end", "count", "back", "root"]
        kind = draw(st.sampled_from(kinds)) if number else "say"
        old = draw(st.sampled_from(keys)) if keys else None
        if kind == "say":
            parent = After(old) if old is not None and draw(st.booleans()) else None
            raw = draw(st.integers(0, 5)) == 0
            entries.append(
                Message(
                    f"m{number}",
                    "person",
                    "raw" if raw else "text",
                    f"text {number}",
                    parent=parent,
                    position=number,
                    inner=inner,
                )
            )
            keys.append(f"m{number}")
            if inner not in open_:
                may_end.discard(inner)
        elif kind == "begin":
            entries.append(TurnBegins(f"t{number}", at=number + 1, inner=inner))
            open_.add(inner)
            may_end.add(inner)
        elif kind == "end" and inner in may_end:
            outcome: Any = draw(st.sampled_from(["succeeded", "failed", "interrupted"]))
            entries.append(TurnEnds(outcome, at=number + 1, inner=inner))
            open_.discard(inner)
        elif kind == "count":
            entries.append(Usage(f"u{number // 3}", output=number, inner=inner))
        elif kind == "back" and old is not None:
            entries.append(HeadMoves(After(old)))
        elif kind == "root":
            entries.append(HeadMoves(None))
    return entries


Step = tuple[int, int, int]
"""Which session hands over, from where to where."""


MOVES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(0, 5)), min_size=0, max_size=15
)
"""Who hands over next, from how far back (in hundredths), and how much that is new."""


def plan(told: Sequence[Sequence[Entry]], moves: Sequence[tuple[int, int, int]]) -> list[Step]:
    """Each hand-over goes from somewhere before the cursor to somewhere after it."""
    cursors = [0] * len(told)
    steps = []
    for who, back, new in moves:
        who %= len(told)
        end = min(len(told[who]), cursors[who] + new)
        steps.append((who, cursors[who] * back // 99, end))
        cursors[who] = end
    return steps + [(who, cursors[who], len(story)) for who, story in enumerate(told)]


def hand_over(store: WritableStore, who: int, entries: Sequence[Entry]) -> None:
    group, thread = GROUPS[who % 2], THREADS[who // 2]
    event = Event("stop", id="0" * 16, at=1, client="claude", session=f"s{who}", thread=thread)
    mine = tuple(_own(who, entry) for entry in entries)
    store.apply(group, event, Reading(mine))


def _own(who: int, entry: Entry) -> Entry:
    """The same with keys of this session's own."""
    values = {name: getattr(entry, name) for name in entry.__dataclass_fields__}
    for name in ("key", "parent", "to"):
        value = values.get(name)
        if isinstance(value, After):
            values[name] = After(f"{who}-{value.key}")
        elif isinstance(value, str):
            values[name] = f"{who}-{value}"
    return type(entry)(**values)


def content(store: WritableStore) -> dict[str, Any]:
    """All that is stored, without the numbers that depend on who came first."""
    found: dict[str, Any] = {}
    for thread in store.threads():
        messages = store.messages(thread.id, branch=False)
        turns = store.turns(thread.id)
        keys = {message.id: message.key for message in messages}
        names = {turn.id: turn.key for turn in turns}
        found[thread.ref] = (
            [
                (m.key, m.text, m.inner, m.at, keys.get(m.parent or 0), names.get(m.turn or 0))
                for m in messages
            ],
            [
                (t.key, t.inner, t.began, t.ended, t.outcome, t.reason, t.output, t.cache_read)
                for t in turns
            ],
            keys.get(thread.head or 0),
            [m.key for m in store.messages(thread.id)],
            sorted(m.key for m in store.search("text", thread.grp, thread=thread.id, limit=99)),
        )
    return found


# An end comes again without what the turn began with, when another turn is open already.
@example(
    told=[
        [
            Message("m0", "person", "text", "text 0"),
            TurnBegins("t1", at=2),
            TurnEnds("succeeded", at=3),
            TurnBegins("t3", at=4),
            TurnBegins("t4", at=5),
        ]
    ],
    moves=[(0, 0, 4), (0, 50, 0)],
)
@settings(max_examples=60, deadline=None)
@given(told=st.lists(stories(), min_size=1, max_size=4), moves=MOVES)
def test_any_repetition_and_interleaving_gives_the_same(
    told: list[list[Entry]], moves: list[tuple[int, int, int]]
) -> None:
    """Groups and threads do not disturb each other; a cursor that is lost costs nothing."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "once.db", write=True) as once,
        open_store(Path(folder) / "often.db", write=True) as often,
    ):
        for store in (once, often):
            store.db.execute("PRAGMA synchronous = OFF")
        for who, story in enumerate(told):
            hand_over(once, who, story)
        for who, begin, end in plan(told, moves):
            hand_over(often, who, told[who][begin:end])
        assert content(often) == content(once)
        often.db.execute("INSERT INTO search (search) VALUES ('integrity-check')")
        assert often.db.execute("PRAGMA foreign_key_check").fetchall() == []

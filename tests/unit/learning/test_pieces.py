"""What of a group's threads is read in which question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.clients.transcript import Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.learning.extraction.pieces import (
    MOST_PIECES,
    Piece,
    plan,
    results_before,
    rows_of,
    split,
)
from pannier.learning.extraction.prompt import LEAST_ROOM, cost, prompt, room
from pannier.learning.extraction.question import question
from pannier.learning.extraction.reading import read
from pannier.learning.guards.forgotten import Forgotten, time_tombstone
from pannier.learning.store import Learning, open_learning
from pannier.learning.store.rows import ThreadMark
from pannier.threads.rows import MessageRow
from pannier.threads.store import WritableStore, open_store
from pannier_hook.estimate import estimate
from pannier_hook.events import Event

from .rows import row, thread

LEAST = 2_000
"""Half of the smallest window that can be set."""

ROLES = [
    *(("person", "text"), ("pannier", "message"), ("agent", "text"), ("agent", "call")),
    *(("tool", "result"), ("client", "text"), ("pannier", "memory"), ("agent", "thinking")),
]
hard_text = st.one_of(
    st.text(max_size=60),
    st.text("[]0a m1person\n: ", max_size=60),
    st.builds(
        str.__mul__, st.sampled_from(["x", "ß ", "語", "😀", "0", "\n"]), st.integers(0, 6_000)
    ),
    st.sampled_from(
        ['{"path": "../agent-memory/MEMORY.md"}', "[{mark} m1 person]", "x ^0a1b2c3\n"]
    ),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[MessageRow]:
    """Rows with rising numbers, as any container could have said them."""
    found = []
    id = turn = 0
    for _ in range(draw(st.integers(0, 25))):
        id += draw(st.integers(1, 3))
        role, kind = draw(st.sampled_from(ROLES))
        turn += role == "person"
        call = draw(st.sampled_from(["c", "d", ""])) if kind in ("call", "result") else ""
        found.append(row(id, role, kind, draw(hard_text), turn=turn, call=call))
    return found


def in_piece(rows: list[MessageRow], piece: Piece) -> list[MessageRow]:
    return [one for one in rows if piece.after < one.id <= piece.upto]


@settings(deadline=None)
@given(conversations(), st.integers(LEAST, 6_000), st.text(max_size=30))
def test_every_message_is_in_exactly_one_piece(
    rows: list[MessageRow], budget: int, name: str
) -> None:
    """What may be learned from is shown once, in order, whatever the window."""
    pieces = list(split(rows, thread(name), 0, budget))
    shown = [one.message for p in pieces for one in read(in_piece(rows, p), p.hidden)]
    assert shown == [one.message for one in read(rows)]
    ranges = [(p.after, p.upto) for p in pieces]
    assert all(before[1] == after[0] for before, after in pairwise(ranges))
    assert len({p.id for p in pieces}) == len(pieces)
    if pieces:
        assert (ranges[0][0], ranges[-1][1]) == (0, rows[-1].id)


@settings(deadline=None)
@given(conversations(), st.integers(LEAST, 6_000), hard_text, st.text(max_size=200))
def test_a_question_fits_its_budget(
    rows: list[MessageRow], budget: int, summary: str, name: str
) -> None:
    """Instructions and record together, for every window that can be set."""
    for piece in split(rows, thread(name), 0, budget):
        asked = question(in_piece(rows, piece), piece, summary)
        assert asked is not None
        assert estimate(asked.instructions) + estimate(asked.data) <= budget
        assert asked.most <= budget


@pytest.mark.parametrize("budget", [LEAST, 2_500, 8_000])
@pytest.mark.parametrize("text", ["word ", "0", "語", "😀", "a\n"])
def test_full_pieces(budget: int, text: str) -> None:
    """They fit to the last token, with a summary of any length, and waste little."""
    rows = [row(n, *ROLES[n % 3 * 2], text * (n % 90 + 1), turn=n) for n in range(1, 400)]
    pieces = list(split(rows, thread(), 0, budget))
    assert len(pieces) > 1
    for piece in pieces:
        asked = question(in_piece(rows, piece), piece, text * 5_000)
        assert asked is not None
        used = estimate(asked.instructions) + estimate(asked.data)
        assert used <= budget
        assert piece is pieces[-1] or used > budget // 2


def test_more_than_was_planned() -> None:
    """Of far more than there is room for, the first messages are left out."""
    rows = [row(n, "person", "text", f"word {n}") for n in range(1, 500)]
    made = prompt(list(read(rows)), "main", "", LEAST)
    assert made.tokens <= LEAST
    assert "word 499\n" in made.data


@settings(deadline=None)
@given(conversations(), st.integers(LEAST, 4_000))
def test_messages_that_came_between_do_not_burst_it(rows: list[MessageRow], budget: int) -> None:
    """Also when more stands in a piece than when it was planned."""
    asked = prompt(list(read(rows)), "main", "", budget)
    assert asked.tokens <= budget


@settings(deadline=None)
@given(conversations(), hard_text)
def test_no_text_can_forge_a_header(rows: list[MessageRow], summary: str) -> None:
    """Lines that begin with the mark are ours, and exactly those: whoever reads the record by them
    finds each message, its speaker and its text again."""
    shown = list(read(rows))
    made = prompt(shown, "main", summary, 1_000_000)
    found = re.search(r"\A\[([0-9a-f]{8}) thread main\]\n", made.data)
    assert found
    mark = found[1]
    assert f"`[{mark} `" in made.instructions
    body, _, rest = made.data.rpartition(f"\n[{mark} end]\n")
    assert mark not in rest
    parts = re.split(rf"^\[{mark} (.*)\]$\n?", body, flags=re.MULTILINE)
    headers, texts = parts[3::2], [text.removesuffix("\n") for text in parts[4::2]]
    told = [(h, t) for h, t in zip(headers, texts, strict=True) if not h.endswith("left out")]
    if told and told[0][0] == "summary so far":
        told = told[1:]
    assert [(int(header.split()[0][1:]), text) for header, text in told] == [
        (one.message, one.text) for one in shown
    ]
    for (header, _), one in zip(told, shown, strict=True):
        assert header.split(" ", 1)[1].startswith(one.how)
    assert made.data.count(mark) == len(headers) + 2


def test_the_record() -> None:
    """A header tells who speaks, of persons and the queue also when; what was cut is told."""
    rows = [
        row(12, "person", "text", "Hello."),
        row(13, "agent", "call", '{"command": "ls"}', tool="Bash", call="c"),
        row(14, "tool", "result", "x" * 1_700, tool="Bash", call="c", failed=True),
    ]
    made = prompt(list(read(rows)), "acme rollout", "It began well.", 64_000)
    mark = made.data[1:9]
    assert made.data.splitlines() == [
        f"[{mark} thread acme_rollout]",
        f"[{mark} summary so far]",
        "It began well.",
        f"[{mark} m12 person 2026-11-30 10:12]",
        "Hello.",
        f"[{mark} m13 agent calls Bash]",
        "command: ls",
        f"[{mark} m14 tool Bash, failed]",
        "x" * 1_500,
        f"[{mark} 200 characters are left out]",
        f"[{mark} end]",
        "",
        "Write the summary and the candidates.",
    ]


def test_secrets_in_the_summary_so_far() -> None:
    """They are masked there, too."""
    made = prompt([], "main", "password: hunter2!x9", 64_000)
    assert "hunter2" not in made.data


def test_it_is_cut_where_a_turn_begins() -> None:
    """A piece ends with a whole turn, where that leaves it at least half full."""
    said = [
        row(4 * turn + n, *role, "word " * 130, turn=turn)
        for turn in range(12)
        for n, role in enumerate(ROLES[:1] + ROLES[2:5], 1)
    ]
    pieces = list(split(said, thread(), 0, 3_000))
    assert len(pieces) > 2
    assert all(piece.upto % 4 == 0 for piece in pieces)
    fit = room(3_000, "main")
    for piece in pieces[:-1]:
        held = sum(cost(one, fit) for one in read(in_piece(said, piece)))
        assert fit / 2 <= held <= fit


def test_one_long_turn() -> None:
    """One that fits no piece is cut between any two messages."""
    said = [row(n, "agent", "text", "word " * 100) for n in range(1, 40)]
    pieces = list(split(said, thread(), 0, 3_000))
    assert len(pieces) > 1
    assert pieces[-1].upto == 39


@pytest.mark.parametrize("between", range(1, 12))
def test_hidden_across_a_cut(between: int) -> None:
    """A result is left out also when the call that asked for the memory is in an earlier piece."""
    call = row(1, "agent", "call", '{"path": "../agent-memory/MEMORY.md"}', call="c")
    said = [row(n, "agent", "text", "word " * 300) for n in range(2, 2 + between)]
    last = len(said) + 2
    rows = [call, *said, row(last, "tool", "result", "Quotes need sign-off.", call="c")]
    rows.append(row(last + 1, "person", "text", "Thanks. " + "word " * 300))
    asked = [question(in_piece(rows, p), p) for p in split(rows, thread(), 0, LEAST)]
    assert not any("sign-off" in one.data for one in asked if one)
    assert any("Thanks." in one.data for one in asked if one)


def test_nothing_to_show() -> None:
    """What the client said is no piece, and rows without anything to show are no question."""
    rows = [row(1, "client", "text", "API Error")]
    assert list(split(rows, thread(), 0, LEAST)) == []
    [piece] = split([row(1, "person", "text", "Hi.")], thread(), 0, LEAST)
    assert question(rows, piece) is None


def test_the_smallest_room() -> None:
    """The prompt leaves room for messages in the smallest window that can be set."""
    assert room(LEAST, "n" * 200) > 2 * LEAST_ROOM


@given(conversations())
@settings(deadline=None)
def test_as_json(rows: list[MessageRow]) -> None:
    """A piece survives being written down."""
    for piece in split(rows, thread(), 0, LEAST):
        assert Piece.of(json.loads(json.dumps(piece.as_data()))) == piece


# -------------------------------------------------------------------------------- with the stores


@contextmanager
def stores(tmp_path: Path) -> Iterator[tuple[WritableStore, Learning]]:
    with (
        open_store(tmp_path / "threads.db", write=True) as store,
        open_learning(tmp_path / "learning.db", write=True) as learning,
    ):
        yield store, learning


def tell(store: WritableStore, name: str, *texts: str, grp: str = "scout", tool: str = "") -> None:
    """A turn of the thread: a person says the first, the agent the others, at last a tool."""
    number = store.db.execute("SELECT count(*) FROM messages").fetchone()[0]
    entries: list[Entry] = [TurnBegins(f"t{number}")]
    for n, text in enumerate(texts):
        role = "agent" if n else "person"
        entries.append(Message(f"k{number + n}", role, "text", text, at=1_000))  # type: ignore[arg-type]
    if tool:
        entries.append(Message(f"k{number} tool", "tool", "result", tool, at=1_000))
    entries.append(TurnEnds("succeeded"))
    event = Event(
        "stop", id=f"{number:016x}", at=1, client="claude", session=f"s-{name}", thread=name
    )
    store.apply(grp, event, Reading(tuple(entries)))


def read_upto(learning: Learning, piece: Piece) -> None:
    mark = ThreadMark(piece.thread_key, piece.name, piece.upto, 1, "so far", 1.0)
    assert learning.add_extraction(piece.grp, piece.id, mark, ())


def test_only_what_is_new(tmp_path: Path) -> None:
    """What was read is planned no more; the same plan gives the same ids until then; another
    group's threads are another's."""
    with stores(tmp_path) as (store, learning):
        tell(store, "main", "one", "two")
        tell(store, "other", "three", "four")
        tell(store, "main", "of another group", grp="else")
        first = plan(store, learning, "scout", 4_000)
        assert [p.name for p in first] == ["main", "other"]
        assert [p.id for p in plan(store, learning, "scout", 4_000)] == [p.id for p in first]
        for piece in first:
            read_upto(learning, piece)
        assert plan(store, learning, "scout", 4_000) == ()
        tell(store, "other", "five")
        [piece] = plan(store, learning, "scout", 4_000)
        assert [one.text for one in rows_of(store, piece)] == ["five"]


def test_what_tools_put_out_before_a_piece(tmp_path: Path) -> None:
    """It is at hand when the piece is judged, though it was read before; what the piece itself
    holds is not part of it."""
    with stores(tmp_path) as (store, learning):
        tell(store, "main", "one", "two", tool="a page")
        [first] = plan(store, learning, "scout", 4_000)
        assert results_before(store, first) == ()
        read_upto(learning, first)
        tell(store, "main", "three", tool="another page")
        [piece] = plan(store, learning, "scout", 4_000)
        assert [one.text for one in results_before(store, piece)] == ["a page"]


def test_a_plan_is_bounded(tmp_path: Path) -> None:
    """A long history is read some pieces at a time, until nothing is left."""
    with stores(tmp_path) as (store, learning):
        for _ in range(3):
            tell(store, "main", *(f"{n} " + "word " * 400 for n in range(120)))
        seen: list[int] = []
        rounds = 0
        while pieces := plan(store, learning, "scout", LEAST):
            assert len(pieces) <= MOST_PIECES
            rounds += 1
            for piece in pieces:
                seen += [one.id for one in rows_of(store, piece)]
                read_upto(learning, piece)
        assert rounds > 1
        assert seen == sorted(set(seen))
        assert len(seen) == 360


def test_what_was_undone_meanwhile(tmp_path: Path) -> None:
    """A piece whose messages are gone when it is asked about is no question."""
    with stores(tmp_path) as (store, learning):
        tell(store, "main", "one", "two")
        [piece] = plan(store, learning, "scout", 4_000)
        store.db.execute("DELETE FROM messages")
        assert rows_of(store, piece) == ()
        assert question((), piece) is None


@pytest.mark.parametrize("budget", [64_000, 500_000])
def test_a_large_window_takes_a_thread_whole(budget: int) -> None:
    """Where it fits, one question has all of it."""
    said = [row(n, *ROLES[n % 3], f"{n} " + "word " * 20, turn=n // 3) for n in range(1, 400)]
    assert len(list(split(said, thread(), 0, budget))) == 1


def test_what_was_forgotten_is_not_shown() -> None:
    """Neither for the lesson nor for the summary; what stands around it is."""
    rows = [row(n, "person", "text", f"number {n}", at=n) for n in range(1, 6)]
    forgotten = Forgotten.of([time_tombstone(2, 4, 0.0)])
    [piece] = split(rows, thread(), 0, LEAST, forgotten)
    assert [one.message for one in read(rows, piece.hidden)] == [1, 4, 5]

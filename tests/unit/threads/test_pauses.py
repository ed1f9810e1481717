"""Since when nothing is said in a thread, and how much was since the last summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pannier.clients.transcript import (
    ASKED_ITSELF,
    Entry,
    HeadMoves,
    Message,
    Reading,
    TurnBegins,
    TurnEnds,
)
from pannier.threads.pauses import Pause, is_worth_it, last_summary, pauses
from pannier.threads.store import WritableStore, open_store
from pannier_hook.events import Event

SECOND = 10**9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    with open_store(tmp_path / "threads.db", write=True) as opened:
        yield opened


def hand_over(store: WritableStore, *entries: Entry, session: str = "s1", **more: str) -> None:
    event = Event("stop", id="0" * 16, at=5, client="claude", session=session, **more)  # type: ignore[arg-type]
    store.apply("scout", event, Reading(tuple(entries), {}))


def turn(key: str, at: int, *, words: int = 1) -> Sequence[Entry]:
    """A person speaks at this second; the agent answers so often, and is done a second later."""
    yes = (Message(f"{key}a{n}", "agent", "text", "yes", at * SECOND) for n in range(words))
    return (
        TurnBegins(key, at * SECOND),
        Message(key, "person", "text", "go on", at * SECOND),
        *yes,
        TurnEnds("succeeded", (at + 1) * SECOND),
    )


SUMMARY = Message("sum", "client", "compaction", "They spoke.", 500 * SECOND)


def only(store: WritableStore) -> Pause:
    [found] = pauses(store, "scout")
    return found


def counted(store: WritableStore) -> int:
    session = only(store).session
    return next(n for n in range(100) if not is_worth_it(store, session, n + 1))


def test_a_pause_begins_with_the_end_of_the_last_turn(store: WritableStore) -> None:
    """And is another one after each turn."""
    assert pauses(store, "scout") == ()
    hand_over(store, *turn("t1", 100))
    first = only(store)
    assert (first.since, first.client, first.session_id, first.thread) == (
        101,
        "claude",
        "s1",
        "main",
    )
    assert first.here
    hand_over(store, *turn("t2", 200))
    assert only(store).since == 201
    assert only(store).said > first.said
    assert pauses(store, "other") == ()


def test_what_a_client_says_about_its_own_work_ends_no_pause(store: WritableStore) -> None:
    """A summary, the memory that follows, a command that failed, also as a turn of its own."""
    hand_over(store, *turn("t1", 100))
    before = only(store)
    hand_over(
        store,
        SUMMARY,
        Message("m", "pannier", "memory", "…", 500 * SECOND),
        Message("c", "person", "text", "/compact", 500 * SECOND),
        Message("e", "client", "text", "Error during compaction", 500 * SECOND),
        TurnBegins("own", 600 * SECOND, ASKED_ITSELF),
        Message("f", "client", "text", "Error once more", 600 * SECOND),
        TurnEnds("succeeded", 601 * SECOND, "", ASKED_ITSELF),
    )
    assert only(store) == before


def test_a_turn_that_the_client_began_itself_ends_a_pause(store: WritableStore) -> None:
    """The agent went on, with what it was told of background work."""
    hand_over(store, *turn("t1", 100))
    hand_over(
        store,
        TurnBegins("own", 600 * SECOND, ASKED_ITSELF),
        Message("o", "agent", "text", "it is done", 600 * SECOND),
        TurnEnds("succeeded", 601 * SECOND, "", ASKED_ITSELF),
    )
    assert only(store).since == 601


def test_only_what_came_after_the_last_summary_counts(store: WritableStore) -> None:
    """Messages of turns, on the way back from where the session stands."""
    hand_over(store, *turn("t1", 100, words=4))
    assert counted(store) == 5
    assert last_summary(store, only(store).session) == 0
    hand_over(store, SUMMARY)
    assert counted(store) == 0
    assert last_summary(store, only(store).session) > 0
    hand_over(store, *turn("t2", 600, words=2))
    assert counted(store) == 3


def test_what_was_taken_back_does_not_count(store: WritableStore) -> None:
    """The model is not told of it any more."""
    hand_over(store, *turn("t1", 100))
    hand_over(store, *turn("t2", 200, words=6))
    hand_over(store, HeadMoves(None), *turn("t3", 300))
    assert counted(store) == 2


def test_a_session_that_went_elsewhere_is_not_here(store: WritableStore) -> None:
    """Its context is that of the other thread now."""
    hand_over(store, *turn("t1", 100))
    hand_over(store, *turn("t2", 200), thread="planning")
    assert [(p.thread, p.here) for p in pauses(store, "scout")] == [
        ("main", False),
        ("planning", True),
    ]


def test_the_session_that_spoke_last_is_the_one(store: WritableStore) -> None:
    """Whatever session began last."""
    hand_over(store, *turn("t1", 100), session="s1")
    hand_over(store, *turn("t2", 200), session="s2")
    hand_over(store, *turn("t3", 300), session="s1")
    assert only(store).session_id == "s1"


def test_an_erased_thread_has_no_pause(store: WritableStore) -> None:
    """There is nothing to summarize."""
    hand_over(store, *turn("t1", 100))
    store.erase(store.find_thread("scout").id)
    assert pauses(store, "scout") == ()

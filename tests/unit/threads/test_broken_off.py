"""A turn of which no end is seen, because its client was killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pannier.clients.transcript import ASKED_ITSELF, Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.threads.store import WritableStore, open_store
from pannier_hook.events import Event, Log

LEFT = {"left": "true"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    with open_store(tmp_path / "state" / "threads.db", write=True) as opened:
        yield opened


def put(
    store: WritableStore, *entries: Entry, at: int = 5, left: bool = False, session: str = "s1"
) -> None:
    event = Event(
        "records" if left else "stop",
        id="0" * 16,
        at=at,
        client="claude",
        session=session,
        log=Log(".claude/projects/x/s1.jsonl", 0),
        details=LEFT if left else {},
    )
    store.apply("scout", event, Reading(entries))


def outcomes(store: WritableStore) -> list[tuple[str, str]]:
    return [(turn.outcome, turn.reason) for turn in store.turns(1)]


def said(key: str) -> Message:
    return Message(key, "person", "text", key)


BEGUN = (TurnBegins("t1"), said("a"))


def test_it_was_interrupted(store: WritableStore) -> None:
    """A turn that was broken off counts as interrupted, and its words are kept."""
    put(store, *BEGUN, at=9, left=True)
    assert outcomes(store) == [("interrupted", "broken off")]
    assert store.turns(1)[0].ended == 9
    assert [m.text for m in store.messages(1)] == ["a"]


def test_an_inner_turn_too(store: WritableStore) -> None:
    """Also a sub-agent's, and one that the client began itself."""
    put(store, *BEGUN, TurnBegins("t2", inner="x"), TurnBegins("t3", inner=ASKED_ITSELF), left=True)
    assert outcomes(store) == [("interrupted", "broken off")] * 3


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "interrupted"])
def test_it_went_on_elsewhere(store: WritableStore, outcome: str) -> None:
    """The real end of a turn that was not broken off after all counts, and what came until then
    belongs to it."""
    put(store, *BEGUN, left=True)
    put(store, said("b"), left=True)
    put(store, said("c"), TurnEnds(outcome, reason="so it was"))  # type: ignore[arg-type]
    assert outcomes(store) == [(outcome, "so it was")]
    assert {m.turn for m in store.messages(1)} == {store.turns(1)[0].id}


def test_a_turn_that_ended_stays_as_it_is(store: WritableStore) -> None:
    """Nothing more being heard changes no outcome, also when all of it is handed over again."""
    ended = (*BEGUN, TurnEnds("succeeded"))
    put(store, *ended)
    put(store, left=True)
    put(store, *BEGUN, left=True)
    assert outcomes(store) == [("succeeded", "")]


def test_resumed(store: WritableStore) -> None:
    """The next turn of the session does not make it a failed one."""
    put(store, *BEGUN, left=True)
    put(store, TurnBegins("t2"), said("b"), TurnEnds("succeeded"))
    assert outcomes(store) == [("interrupted", "broken off"), ("succeeded", "")]
    put(store, *BEGUN, left=True)
    assert outcomes(store) == [("interrupted", "broken off"), ("succeeded", "")]


def test_the_thread_went_on_without_it(store: WritableStore) -> None:
    """What comes late stands where it was said, and takes no head from who spoke after it; the
    session takes it when it goes on."""
    put(store, *BEGUN, at=5)
    put(store, said("b"), at=9, session="s2")
    put(store, said("c"), at=7, left=True)
    assert [m.key for m in store.messages(1)] == ["a", "b"]
    put(store, said("d"), at=11)
    assert [m.key for m in store.messages(1)] == ["a", "c", "d"]


def test_it_comes_before_the_next_session(store: WritableStore) -> None:
    """As a rule it comes first, and the next session goes on from it."""
    put(store, *BEGUN, at=5, left=True)
    put(store, said("b"), at=9, session="s2")
    assert [m.key for m in store.messages(1)] == ["a", "b"]

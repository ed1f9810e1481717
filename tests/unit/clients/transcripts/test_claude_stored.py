"""What the store makes of Claude Code's stories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.clients.transcripts.claude_stories import NAMES, hand_overs, read

from pannier.clients.transcript import Message
from pannier.clients.transcripts import claude
from pannier.threads.rows import MessageRow, TurnRow
from pannier.threads.store import WritableStore, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    with open_store(tmp_path / "state" / "threads.db", write=True) as opened:
        yield opened


def hand_over(store: WritableStore, story: str) -> None:
    for part in hand_overs(story):
        state = store.state("scout", "claude", part.event.session)
        store.apply("scout", part.event, claude.read(part.event, part.lines, state))


def stored(store: WritableStore) -> tuple[list[MessageRow], list[MessageRow], list[TurnRow]]:
    """The branch of the head, all messages, and the turns."""
    thread = store.find_thread("scout").id
    everything = store.messages(thread, branch=False)
    return list(store.messages(thread)), list(everything), list(store.turns(thread))


@pytest.mark.parametrize("story", NAMES)
def test_twice_is_once(store: WritableStore, story: str) -> None:
    """Each message is stored once, and a story that is handed over again changes nothing."""
    hand_over(store, story)
    once = stored(store)
    hand_over(store, story)
    assert stored(store) == once
    assert {m.key for m in once[1]} == {
        e.key for e in read(hand_overs(story)) if isinstance(e, Message)
    }
    assert len({m.key for m in once[1]}) == len(once[1])


@pytest.mark.parametrize("story", NAMES)
def test_outcomes(store: WritableStore, story: str) -> None:
    """Each turn has an outcome, and only those that a person left or the API failed are no
    success."""
    hand_over(store, story)
    turns = stored(store)[2]
    others = [turn.outcome for turn in turns if turn.outcome != "succeeded"]
    assert others == {
        "api-failure": ["failed"],
        "interrupted": ["interrupted"],
        "interrupted-tool": ["interrupted"],
        "terminal": ["interrupted"],
        "typed-ahead": ["interrupted"],
    }.get(story, [])


def test_fork_and_its_other(store: WritableStore) -> None:
    """The fork and the session that it left are two branches; the head is where was spoken last."""
    hand_over(store, "fork")
    branch, everything, turns = stored(store)
    assert [m.text for m in branch[1:]] == ["question one", "one", "question two", "two"]
    assert len(everything) == 7
    assert [turn.counts for turn in turns] == [True, True, True]

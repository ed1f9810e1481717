"""What hooks hand over is stored once, whatever lies beside it in the spool."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from pannier.errors import PannierError
from pannier.threads import backlog, spool
from pannier.threads.intake import sweep, take_in
from pannier.threads.locking import writing
from pannier_hook.events import Event

from .handing import Hands, home_with


@pytest.fixture
def hands(tmp_path: Path) -> Hands:
    return home_with(tmp_path, ("scout", "pilot"))


def test_what_was_handed_over_is_stored_and_removed(hands: Hands) -> None:
    """In the order in which it happened; the spool is empty afterwards."""
    hands.prompt("hello")
    hands.answer("hi")
    taken = hands.take_in()
    assert (taken.events, taken.messages, taken.groups, taken.more) == (2, 2, {"scout"}, False)
    assert hands.said() == ["hello", "hi"]
    assert hands.waiting() == []
    assert hands.take_in().events == 0


def test_nothing_to_take_in_makes_no_database(hands: Hands) -> None:
    """A home whose agents never spoke stays as it is."""
    hands.take_in()
    assert not hands.home.state.exists()


def test_files_that_could_not_be_removed_add_nothing(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is killed between storing and removing finds the same files again."""
    with monkeypatch.context() as patch:
        patch.setattr(spool.Spool, "remove", lambda *_: None)
        hands.prompt("one")
        hands.answer("1")
        hands.prompt("two")
        hands.take_in()
        hands.take_in()
    hands.answer("2")
    hands.take_in()
    assert hands.said() == ["one", "1", "two", "2"]
    with hands.store() as store:
        turns = store.turns(store.find_thread("scout").id)
        assert [turn.outcome for turn in turns] == ["succeeded", "succeeded"]
    assert hands.waiting() == []


def test_a_database_that_cannot_be_written_loses_nothing(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spool waits; what was not stored whole was not stored at all."""
    hands.prompt("hello")
    with writing(hands.home, {}) as store:
        store.db.execute("CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT raise(FAIL, 'x'); END")
    hands.take_in()
    assert hands.waiting(of="rejected") != []

"""What hooks hand over is stored once, whatever lies beside it in the spool."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pannier import clients, database
from pannier.clients.transcript import Reading
from pannier.errors import PannierError
from pannier.reports import read_reports
from pannier.threads import backlog, intake, parts, spool
from pannier.threads.intake import take_in
from pannier.threads.locking import Busy, writing
from pannier.threads.store import WritableStore, open_store, threads_file
from pannier_hook import messages
from pannier_hook.events import Event

from .handing import Hands, home_with, log, transcript


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


@pytest.mark.parametrize("pages", [30, 60, 90])
def test_a_full_disk_loses_nothing(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    """What was not stored whole was not stored at all, and waits in the spool."""
    hands.prompt("first")
    hands.take_in()
    for number in range(100):
        hands.prompt(f"{number} {'long ' * 500}", session=f"x{number}")
    real = intake.writing

    @contextmanager
    def full(*args: Any, **more: Any) -> Iterator[WritableStore]:
        with real(*args, **more) as store:
            store.db.execute(f"PRAGMA max_page_count = {pages}")
            yield store

    with monkeypatch.context() as patch:
        patch.setattr(intake, "writing", full)
        with pytest.raises(PannierError, match="disk is full"):
            hands.take_in()
    assert len(hands.said()) + len(hands.waiting()) == 101
    while hands.take_in().more:
        pass
    assert len(hands.said()) == 101
    assert (hands.waiting(), hands.waiting(of="rejected")) == ([], [])


def test_a_locked_database_loses_nothing(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's transaction is waited for; then the spool waits."""
    monkeypatch.setattr(database, "_BUSY", 0.05)
    hands.prompt("first")
    hands.take_in()
    hands.prompt("second")
    other = sqlite3.connect(threads_file(hands.home, {}), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(PannierError, match="locked"):
        hands.take_in()
    other.execute("ROLLBACK")
    other.close()
    hands.take_in()
    assert hands.said() == ["first", "second"]


def test_who_cannot_have_the_lock_leaves_it_to_the_other(hands: Hands) -> None:
    """A command does not wait for a daemon that is at it."""
    hands.prompt("hello")
    with writing(hands.home, {}):
        taken = hands.take_in()
        assert (taken.events, taken.more) == (0, True)
        with pytest.raises(Busy), writing(hands.home, {}, seconds=0.05):
            pass
    assert hands.take_in().events == 1


def test_a_thread_without_a_name_is_main(hands: Hands) -> None:
    """No container makes one that nobody can name."""
    hands.prompt("hello", thread="")
    hands.prompt("hi", session="s2")
    hands.take_in()
    assert hands.said("scout/main") == ["hello", "hi"]


def test_another_path_can_be_named(hands: Hands, tmp_path: Path) -> None:
    """PANNIER_THREADS_DB_PATH."""
    hands.prompt("hello")
    environ = {"PANNIER_THREADS_DB_PATH": str(tmp_path / "elsewhere" / "said.db")}
    take_in(hands.home, environ)
    assert not threads_file(hands.home, {}).exists()
    with open_store(tmp_path / "elsewhere" / "said.db") as store:
        assert len(store.threads()) == 1


def test_a_relative_path_counts_from_the_home(
    hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever one calls pannier, it is the same database."""
    environ = {"PANNIER_THREADS_DB_PATH": "kept/said.db"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert threads_file(hands.home, environ) == hands.home.root / "kept" / "said.db"


def parts_of(hands: Hands, texts: Sequence[str], *, size: int) -> list[Event]:
    """A hand-over of Claude Code's, cut anywhere."""
    body = transcript(texts)
    return handed_over(hands, [body[at : at + size] for at in range(0, len(body), size)])


def handed_over(hands: Hands, bodies: Sequence[bytes]) -> list[Event]:
    first = hands.event("stop", client="claude")
    events = []
    at = 0
    for number, body in enumerate(bodies, 1):
        part = (number, len(bodies))
        more: dict[str, Any] = {"log": log(at), "body": body, "part": part, "client": "claude"}
        events.append(hands.event("stop", **more, id=first.id, at=first.at))
        at += len(body)
    return events


TEXTS = [f"text {number}" for number in range(12)]


@pytest.mark.parametrize("size", [100, 333, 1_000, 100_000])
def test_the_parts_of_an_event_are_put_together(hands: Hands, size: int) -> None:
    """Also when a record begins in one and ends in another."""
    for event in parts_of(hands, TEXTS, size=size):
        hands.put(event)
    assert hands.take_in().events == 1
    assert hands.said() == TEXTS


def test_a_missing_part_is_waited_for(hands: Hands) -> None:
    """And what comes after it in the group waits with it."""
    parts = parts_of(hands, TEXTS, size=1_000)
    for event in parts[:-1]:
        hands.put(event)
    hands.answer("later", session="s2")
    hands.prompt("hi", "pilot")
    taken = hands.take_in()
    assert (taken.events, taken.more) == (1, False)
    assert hands.said("pilot") == ["hi"]
    hands.put(parts[-1])
    hands.take_in()
    assert hands.said()[: len(TEXTS)] == TEXTS
    assert hands.said()[len(TEXTS) :] == ["later"]


def test_a_part_that_never_comes_is_not_waited_for_longer(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is complete is stored; the hook hands over the rest again."""
    parts = parts_of(hands, TEXTS, size=1_000)
    for event in parts[:-1]:
        hands.put(event)
    monkeypatch.setattr(backlog, "GRACE", -2.0)
    hands.take_in()
    assert hands.said() == TEXTS[: len(hands.said())]
    assert 0 < len(hands.said()) < len(TEXTS)
    assert hands.waiting() == []
    for event in parts_of(hands, TEXTS, size=1_000):
        hands.put(event)
    hands.take_in()
    assert hands.said() == TEXTS


def test_parts_that_come_late_are_stored_as_well(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that was stopped in between, for longer than anybody waits, loses nothing."""
    monkeypatch.setattr(backlog, "GRACE", -2.0)
    bodies = [transcript(TEXTS[at : at + 4], start=at) for at in range(0, 12, 4)]
    for event in handed_over(hands, bodies):
        hands.put(event)
        hands.take_in()
    assert hands.said() == TEXTS


def test_a_long_event_is_stored_in_steps(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on where it was, when the time was up or somebody was killed in between."""
    monkeypatch.setattr(parts, "MOST_LINES", 2)
    monkeypatch.setattr(parts.chunks, "__defaults__", (0, 2))
    monkeypatch.setattr(backlog, "SLICE", 0.0001)
    for event in parts_of(hands, TEXTS, size=1_000):
        hands.put(event)
    seen = []
    while hands.take_in(seconds=0.0002).more:
        with hands.store() as store:
            seen.append(sum(thread.messages for thread in store.threads()))
        assert len(seen) < 100
    assert hands.said() == TEXTS
    assert seen == sorted(seen)


def test_a_reader_that_fails_stops_nobody(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its event is put aside with the reason."""

    def broken(*_: object) -> Reading:
        raise RuntimeError("cannot read that")

    monkeypatch.setitem(
        clients.CLIENTS, "gemini", dataclasses.replace(clients.CLIENTS["gemini"], read=broken)
    )
    hands.prompt("odd", client="gemini")
    hands.prompt("hello")
    assert hands.take_in().rejected == {"scout": 1}
    assert hands.said() == ["hello"]
    (reason,) = (hands.spool() / "rejected").glob("*.why")
    assert "cannot read that" in reason.read_text()


def test_what_the_queue_sent_is_told_to_be_delivered(hands: Hands) -> None:
    """By an event of its own, or because it stands among what was said; before files go."""
    told: list[tuple[str, tuple[str, ...]]] = []

    def tell(group: str, ids: Sequence[str]) -> None:
        assert hands.waiting()
        told.append((group, tuple(ids)))

    sent = messages.Message("00000000000000ab", "wake up", at=5)
    hands.put(hands.event("delivered", details={"messages": "00000000000000aa 00000000000000ac"}))
    hands.prompt(messages.frame(sent))
    take_in(hands.home, {}, told=tell)
    assert told == [("scout", ("00000000000000aa", "00000000000000ac", "00000000000000ab"))]


def test_errors_are_kept_for_doctor(hands: Hands) -> None:
    """Taken in or not, they are shown; they are nothing that was said."""
    hands.put(hands.event("error", details={"event": "stop", "text": "first"}))
    assert [text for text, _ in read_reports(hands.spool()).errors] == ["stop (custom): first"]
    hands.take_in()
    hands.put(hands.event("error", details={"event": "stop", "text": "second"}))
    found = read_reports(hands.spool())
    assert {text for text, _ in found.errors} == {"stop (custom): first", "stop (custom): second"}
    assert found.waiting == 1
    with hands.store() as store:
        assert store.threads() == ()

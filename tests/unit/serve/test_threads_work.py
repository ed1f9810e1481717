"""The daemon takes in what agents say, and tells what hinders it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.threads.handing import Hands, home_with

from pannier.serve.daemon import RealClock
from pannier.serve.hints import Hints
from pannier.serve.log import Event
from pannier.serve.threads import ThreadsWork
from pannier.threads.locking import writing
from pannier.threads.queue import open_queue, queue_file

from .world import MovedClock, World, serve


@pytest.fixture
def hands(tmp_path: Path) -> Hands:
    return home_with(tmp_path, ("scout", "pilot"))


class Work:
    """The daemon's part, round by round."""

    def __init__(self, hands: Hands) -> None:
        self.at = 0.0
        self.work = ThreadsWork(hands.home, {}, lambda: self.at)

    def round(self) -> list[tuple[str, str, str]]:
        self.at += 5
        return [(e.level, e.group, e.event) for e in self.work.round()]


def test_what_was_said_is_stored_and_written_out(hands: Hands) -> None:
    """In each round; and there is nothing to tell of that."""
    work = Work(hands)
    hands.prompt("hello")
    hands.answer("hi")
    assert work.round() == []
    assert hands.said() == ["hello", "hi"]
    (page,) = hands.home.group("scout").conversations.glob("*.md")
    assert "hello" in page.read_text()
    assert not work.work.more


def test_what_cannot_be_read_is_told(hands: Hands) -> None:
    """Once for each time that something was put aside."""
    work = Work(hands)
    hands.lay("odd", b"odd")
    assert work.round() == [("warning", "scout", "spool.rejected")]
    assert work.round() == []


def test_what_hinders_is_told_once_and_when_it_is_over(hands: Hands) -> None:
    """Of a group's spool, and of the database."""
    work = Work(hands)
    new = hands.spool() / "new"
    new.symlink_to("/etc")
    assert work.round() == [("warning", "scout", "threads.stuck")]
    assert work.round() == []
    new.unlink()
    assert work.round() == [("info", "scout", "threads.go_on")]
    hands.home.state.mkdir(exist_ok=True)
    (hands.home.state / "threads.db").write_text("no database" * 1_000)
    hands.prompt("hello")
    assert work.round() == [("error", "", "threads.stuck")]
    assert work.round() == []
    (hands.home.state / "threads.db").unlink()
    assert work.round() == [("info", "", "threads.go_on")]
    assert hands.said() == ["hello"]


def test_somebody_else_who_writes_is_no_problem(hands: Hands) -> None:
    """It is the next time's, and that comes soon."""
    work = Work(hands)
    hands.prompt("hello")
    with writing(hands.home, {}):
        assert work.round() == []
        assert work.work.more
    assert work.round() == []
    assert hands.said() == ["hello"]


def test_the_queue_is_told_what_was_delivered(hands: Hands) -> None:
    """Also when the agent's inbox says nothing of it."""
    work = Work(hands)
    with open_queue(queue_file(hands.home, {})) as queue:
        sent = queue.put("scout", "wake up")
        hands.put(hands.event("delivered", details={"messages": sent.message.id}))
        work.round()
        assert queue.waiting() == []


def test_more_than_there_was_time_for_is_taken_in_between_rounds() -> None:
    """Without looking at the engine each time."""
    clock = MovedClock(rounds=20)
    world = World(clock, handed_over=10)
    serve(world)
    assert clock.waits[:9] == [pytest.approx(0.05)] * 9
    assert len(world.reports) < 15 < world.taken_in


def test_a_hint_ends_the_wait() -> None:
    """From another thread; one that came before counts, and once."""
    clock = RealClock()
    clock.nudge()
    begin = time.monotonic()
    clock.wait(60)
    threading.Timer(0.05, clock.nudge).start()
    clock.wait(60)
    assert time.monotonic() - begin < 30
    clock.wait(0.01)
    assert not clock.ending


def until(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_hints_come_from_every_spool(hands: Hands) -> None:
    """Also from one that appears later; they end when nobody wants them any more."""
    nudges = []
    hints = Hints(hands.home, lambda: nudges.append(1))
    (hands.spool("pilot") / "new").symlink_to("/etc")
    hints.refresh()
    hands.prompt("first")
    hints.refresh()
    before = threading.active_count()
    hints.refresh()
    assert threading.active_count() == before
    number = 0

    def speak() -> bool:
        # What comes before the watch stands is the scan's to find.
        nonlocal number
        number += 1
        hands.prompt(str(number))
        return bool(nudges)

    until(speak)
    hints.close()
    assert threading.active_count() == before - 1


def test_hints_that_cannot_come_harm_nothing(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan finds everything all the same."""

    def no_watches(*_: object, **__: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr("pannier.serve.hints.watch", no_watches)
    hands.prompt("hello")
    hints = Hints(hands.home, lambda: None)
    hints.refresh()
    hints.close()
    assert list(ThreadsWork(hands.home, {}, lambda: 0.0).round()) == []
    assert hands.said() == ["hello"]


def test_events_are_the_logs(hands: Hands) -> None:
    """One line each, with its group."""
    hands.lay("odd", b"odd")
    (event,) = ThreadsWork(hands.home, {}, lambda: 0.0).round()
    assert isinstance(event, Event)
    assert "spool/rejected" in event.message

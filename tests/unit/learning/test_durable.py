"""Work that outlives its process, with the real DBOS on SQLite."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pannier.errors import PannierError
from pannier.learning.store import steps
from pannier.learning.store.locks import Busy, left, seat
from pannier.learning.work.durable import Do, Ended, Works, launched
from pannier.learning.work.means import Json, Step
from pannier.paths import Home

SECONDS = 30.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@contextmanager
def worker(home: Home, do: Do) -> Iterator[Works]:
    with seat(home, 1) as name, launched(home, None, do, name) as works:
        yield works


def outcome(works: Works, number: int = 1) -> list[Ended]:
    """The next ones that end."""
    found: list[Ended] = []
    until = time.monotonic() + SECONDS
    while len(found) < number:
        assert time.monotonic() < until, f"only {found} ended"
        works.wait(0.1)
        found += works.collect()
    return found


def rows(home: Home) -> int:
    with sqlite3.connect(home.state / steps.FILE) as db:
        tables = ("workflow_status", "operation_outputs", "workflow_input", "workflow_output")
        return sum(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables)


class Paid:
    """A work that pays for an answer, and then may fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.trouble: list[Exception] = []

    def __call__(self, grp: str, work: str, step: Step) -> Json:
        answer = step("ask", self.ask)
        if self.trouble:
            raise self.trouble.pop()
        return {"got": answer["number"]}

    def ask(self) -> Json:
        self.calls += 1
        return {"number": self.calls}


def test_an_answer_that_was_paid_is_not_paid_again_when_its_use_fails(home: Home) -> None:
    """Such as for a full disk: the next try begins behind it, and so does the next worker's."""
    do = Paid()
    do.trouble = [OSError(28, "No space left on device"), PannierError("it is broken", "Mend it.")]
    with worker(home, do) as works:
        works.begin("scout", "extract")
        assert outcome(works) == [Ended("scout", "extract", {}, "it is broken. Mend it.")]
        assert works.collect() == []
        works.begin("scout", "extract")
        assert outcome(works)[0].failed == "No space left on device"
    with worker(home, do) as works:
        assert works.collect() == []
        works.begin("scout", "extract")
        assert outcome(works) == [Ended("scout", "extract", {"got": 1})]
    assert do.calls == 1


def test_a_step_that_fails_is_taken_again_and_those_before_it_are_not(home: Home) -> None:
    """What it raised is not its result."""
    taken: list[str] = []
    broken = [True]

    def do(grp: str, work: str, step: Step) -> Json:
        def second() -> Json:
            taken.append("second")
            if broken:
                broken.pop()
                raise PannierError("not now")
            return {"second": 2}

        first = step("first", lambda: taken.append("first") or {"first": 1})  # type: ignore[func-returns-value]
        return {**first, **step("second", second)}

    with worker(home, do) as works:
        works.begin("scout", "extract")
        assert outcome(works)[0].failed == "not now"
        works.begin("scout", "extract")
        assert outcome(works) == [Ended("scout", "extract", {"first": 1, "second": 2})]
    assert taken == ["first", "second", "second"]


def test_after_a_kill_the_next_worker_goes_on_by_itself(home: Home) -> None:
    """With what was recorded: the step is not taken again."""
    mark = home.root / "calls"

    def ask() -> Json:
        with mark.open("a") as file:
            file.write("x")
        return {"answer": 42}

    def dies(grp: str, work: str, step: Step) -> Json:
        step("ask", ask)
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    def lives(grp: str, work: str, step: Step) -> Json:
        return step("ask", ask)

    child = os.fork()
    if child == 0:
        with worker(home, dies) as works:
            works.begin("scout", "extract")
            time.sleep(SECONDS)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    with worker(home, lives) as works:
        assert outcome(works) == [Ended("scout", "extract", {"answer": 42})]
    assert mark.read_text() == "x"


def test_a_group_has_one_work_at_a_time_and_groups_work_beside_each_other(home: Home) -> None:
    """Both works of a group were begun at once, and so was another group's."""
    running: dict[str, int] = {}
    most: list[int] = []
    beside = threading.Barrier(2, timeout=SECONDS)

    def do(grp: str, work: str, step: Step) -> Json:
        running[grp] = running.get(grp, 0) + 1
        most.append(running[grp])
        if work == "extract":
            beside.wait()
        running[grp] -= 1
        return {"done": work}

    with worker(home, do) as works:
        for grp in ("scout", "other"):
            works.begin(grp, "extract")
        works.begin("scout", "consolidate")
        works.begin("scout", "consolidate")
        assert len(outcome(works, 3)) == 3
        assert works.active() == {}
    assert max(most) == 1


def test_a_worker_that_is_asked_to_end_stops_before_the_next_step(home: Home) -> None:
    """And the next one goes on there, once it is begun again; nobody calls that a failure."""
    asking, answered = threading.Event(), threading.Event()
    calls: list[str] = []

    def slow() -> Json:
        calls.append("slow")
        asking.set()
        assert answered.wait(SECONDS)
        return {"slow": 1}

    def do(grp: str, work: str, step: Step) -> Json:
        first = step("slow", slow)
        return {**first, **step("next", lambda: calls.append("next") or {"next": 2})}  # type: ignore[func-returns-value]

    with worker(home, do) as works:
        works.begin("scout", "extract")
        assert asking.wait(SECONDS)
        assert not works.end(0.05)
        answered.set()
        assert works.end(SECONDS)
        assert outcome(works) == [Ended("scout", "extract", {})]
    assert calls == ["slow"]
    with worker(home, do) as works:
        works.begin("scout", "extract")
        assert outcome(works) == [Ended("scout", "extract", {"slow": 1, "next": 2})]
    assert calls == ["slow", "next"]


def test_what_is_done_takes_no_room(home: Home) -> None:
    """However much was done, the database holds what is in progress."""

    def do(grp: str, work: str, step: Step) -> Json:
        return step("ask", lambda: {"text": "word " * 2_000})

    with worker(home, do) as works:
        sizes = []
        for _ in range(3):
            for number in range(10):
                works.begin(f"g{number}", "extract")
            assert len(outcome(works, 10)) == 10
            sizes.append((home.state / steps.FILE).stat().st_size)
        assert sizes[2] == sizes[1]
    assert rows(home) == 0


def test_of_a_group_that_is_forgotten_no_byte_is_left(home: Home) -> None:
    """Of what it had in progress; another group's stays."""

    def do(grp: str, work: str, step: Step) -> Json:
        step("ask", lambda: {"text": f"the door code of {grp} is on the shelf"})
        raise PannierError("later")

    with worker(home, do) as works:
        for grp in ("scout", "scout_2"):
            works.begin(grp, "extract")
        outcome(works, 2)
    file = home.state / steps.FILE
    assert b"door code of scout is" in file.read_bytes()
    steps.forget(home, None, "scout")
    data = file.read_bytes()
    assert b"door code of scout is" not in data
    assert b"door code of scout_2 is" in data
    assert not list(home.state.glob(f"{steps.FILE}-*"))


def test_with_sqlite_there_is_one_worker(home: Home) -> None:
    """The second is told."""
    with seat(home, 1), pytest.raises(Busy, match="another process"), seat(home, 1):
        pass


def test_a_place_that_a_kill_left_is_known(home: Home) -> None:
    """So that somebody goes on with what was in progress there. Those that are taken are not."""
    with seat(home, 3) as first, seat(home, 3) as second, seat(home, 3) as third:
        assert len({first, second, third}) == 3
    with seat(home, 3) as first, left(home, 3) as others:
        assert others == (second, third)


def test_what_cannot_be_recorded_is_said_in_words(home: Home) -> None:
    """Not as a traceback of a library's."""
    home.state.mkdir()
    (home.state / steps.FILE).write_bytes(b"no database at all, but a text of some length" * 9)
    with pytest.raises(PannierError, match=steps.FILE), worker(home, Paid()):
        pass


def test_the_file_is_the_owners_alone(home: Home) -> None:
    """It holds what was said."""
    with worker(home, Paid()):
        pass
    assert (home.state / steps.FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("value", [None, "mysql://x", ""])
def test_a_database_that_is_no_postgresql_is_refused(value: str | None) -> None:
    """With the variable's name, and how to set it."""
    from pannier.settings import HomeLearning  # noqa: PLC0415

    environ: dict[str, Any] = {} if value is None else {"STEPS": value}
    with pytest.raises(PannierError, match="STEPS is not set"):
        steps.database_url(HomeLearning(database_from="STEPS"), environ)
    assert steps.database_url(HomeLearning(), environ) is None

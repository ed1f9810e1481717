"""Whatever happens while something is stored, all of it is there, or nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.learning.things import candidate, lesson, mark, merge

from pannier.database import migrate
from pannier.errors import PannierError
from pannier.learning.merge import Change, Taken
from pannier.learning.store import Learning, open_learning
from pannier.learning.store.schema import MIGRATIONS

DECIDED = merge(
    Change("add", lesson(1, candidates=(candidate(1).id,))),
    Change("add", lesson(2)),
    taken=(Taken(candidate(1).id, "merged", lesson(1).id), Taken(candidate(2).id, "left")),
)
FOUND = (candidate(1), candidate(2))


def before(learning: Learning) -> None:
    learning.add_extraction("scout", "p1", mark(20), FOUND)
    assert learning.stage("scout", "{}", "writing", 1.0, DECIDED)


def extract(learning: Learning) -> None:
    learning.add_extraction("scout", "p2", mark(30), (candidate(3, "x" * 50_000), candidate(4)))


def settle(learning: Learning) -> None:
    learning.settle("scout", DECIDED, 2.0, memory="digest", compacted=9)


def stage(learning: Learning) -> None:
    learning.stage("scout", "x" * 100_000, "waiting", 2.0, DECIDED)


STEPS: list[Callable[[Learning], None]] = [extract, settle, stage]


def state(path: Path) -> list[str]:
    """All that stands in the database."""
    with sqlite3.connect(path) as db:
        found = list(db.iterdump())
    db.close()
    return found


@dataclass
class Fault:
    """Breaks off the statement after so many, and no more."""

    left: int

    def count(self, _: str) -> None:
        self.left -= 1

    def strikes(self) -> bool:
        struck = self.left == -1
        self.left -= struck
        return struck


@pytest.mark.parametrize("step", STEPS)
def test_a_statement_that_fails_undoes_its_step(
    tmp_path: Path, step: Callable[[Learning], None]
) -> None:
    """Wherever in it; afterwards it is done as if nothing had been."""
    path = tmp_path / "learning.db"
    with open_learning(path, write=True) as learning:
        before(learning)
        was = state(path)
        for allowed in range(1, 100):
            fault = Fault(allowed)
            learning.db.set_trace_callback(fault.count)
            learning.db.set_progress_handler(fault.strikes, 1)
            try:
                step(learning)
            except PannierError:
                learning.db.set_trace_callback(None)
                learning.db.set_progress_handler(None, 0)
                assert not learning.db.in_transaction
                assert state(path) == was
            else:
                break
        assert allowed > 2
        assert state(path) != was


@pytest.mark.parametrize("step", [extract, stage])
def test_a_full_disk_loses_nothing(tmp_path: Path, step: Callable[[Learning], None]) -> None:
    """One line says so, and when there is room it goes on."""
    path = tmp_path / "learning.db"
    with open_learning(path, write=True) as learning:
        before(learning)
        was = state(path)
        pages = learning.db.execute("PRAGMA page_count").fetchone()[0]
        learning.db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(PannierError, match="full") as caught:
            step(learning)
        assert str(path) in caught.value.message
        assert state(path) == was
        learning.db.execute(f"PRAGMA max_page_count = {pages + 100}")
        step(learning)
        assert state(path) != was


KILLED = """
import os, sys
from pathlib import Path
from pannier.learning.store import open_learning
from tests.unit.learning.test_store_faults import STEPS
with open_learning(Path(sys.argv[1]), write=True) as learning:
    left = int(sys.argv[3])
    def count(sql):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
    learning.db.set_trace_callback(count)
    STEPS[int(sys.argv[2])](learning)
"""


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_a_kill_loses_nothing(tmp_path: Path, step: int) -> None:
    """Before the last word nothing is there, and it is done again."""
    path = tmp_path / "learning.db"
    with open_learning(path, write=True) as learning:
        before(learning)
    was = state(path)
    for allowed in (1, 2, 4):
        args = [sys.executable, "-c", KILLED, str(path), str(step), str(allowed)]
        done = subprocess.run(args, check=False, timeout=60, cwd=Path.cwd(), env=os.environ)
        assert done.returncode == -signal.SIGKILL
        assert state(path) == was
    with open_learning(path, write=True) as learning:
        STEPS[step](learning)
    assert state(path) != was


def test_two_writers_wait_for_each_other(tmp_path: Path) -> None:
    """What both bring is there once."""
    path = tmp_path / "learning.db"
    open_learning(path, write=True).__exit__(None, None, None)
    took: list[bool] = []

    def write(shift: int) -> None:
        with open_learning(path, write=True) as learning:
            for upto in range(1, 21):
                found = (candidate(100 * upto + shift),)
                took.append(learning.add_extraction("scout", f"p{upto}", mark(upto), found))

    writers = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    with open_learning(path) as learning:
        found = learning.candidates("scout")
        assert len(found) == sum(took)
        assert learning.thread_marks("scout")["k1"].upto == 20
    assert 20 <= len(took) == 40


steps = st.sampled_from(["extract", "again", "settle", "left", "drop", "hold", "stage", "reject"])


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, max_size=25))
def test_no_candidate_is_lost_and_none_doubled(course: list[str]) -> None:
    """Whatever the order: each is in just one state, and lessons have what was merged into them."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, MIGRATIONS)
    with Learning(Path("learning.db"), db) as learning:
        number = 0
        for step in ["extract", *course]:
            waiting = learning.candidates("scout", ("waiting",))
            if step in ("extract", "again"):
                number += step == "extract"
                learning.add_extraction("scout", f"p{number}", mark(number), (candidate(number),))
            elif step == "stage" and waiting:
                taken = Taken(waiting[0].id, "left")
                assert learning.stage("scout", "{}", "waiting", 1.0, merge(taken=(taken,)))
            elif step == "hold" and waiting:
                learning.set_state(waiting[0].id, "held", why="x")
            elif step in ("settle", "left", "drop") and waiting:
                into = lesson(1, candidates=tuple(c.id for c in waiting))
                change = Change("drop" if step == "drop" else "add", into)
                states = "left" if step == "left" else "merged"
                taken_ = tuple(Taken(c.id, states, into.id) for c in waiting)  # type: ignore[arg-type]
                learning.settle("scout", merge(change, taken=taken_), 2.0, memory="")
            elif step == "reject":
                learning.unstage("scout")
        found = learning.candidates("scout")
        assert len(found) == len({c.id for c in found}) == number
        there = {*learning.lessons("scout"), *learning.lessons("scout", gone=True)}
        assert len({one.id for one in there}) == len(there)
        for one in there:
            assert set(one.candidates) == {c.id for c in found if c.lesson == one.id}

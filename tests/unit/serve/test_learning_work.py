"""Learning in the daemon's rounds, with another program in the place of pannier's worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pannier import groups
from pannier.clients.transcript import Message, Reading, TurnBegins, TurnEnds
from pannier.groups import new_settings
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.rows import Try
from pannier.learning.work.telling import Told
from pannier.serve.facts import GroupFacts
from pannier.serve.learning import FIRST_PAUSE, LearningWork
from pannier.serve.log import Event
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file
from pannier_hook import events

START = 1_790_000_000.0
HOUR = 3_600.0
MODEL = LearningSettings(model="scripted:m")

PROGRAM = """#!/bin/sh
cd {folder}
echo "$*" >> begun
cat says 2>/dev/null
while [ -e wait ]; do sleep 0.02; done
cat ends >&2 2>/dev/null
exit "$(cat status 2>/dev/null || echo 0)"
"""


class Stage:
    """A home, a clock, and what the daemon did so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, _ = groups.init(folder / "home", {"HOME": str(folder)})
        for name in ("scout", "other"):
            groups.add(self.home, name, new_settings("claude", None, ()))
        self.environ = {**os.environ, "HOME": str(folder)}
        self.at = START
        self.turns = 0
        self.settings = {"scout": MODEL, "other": MODEL}
        self.stamps = {"scout": "1", "other": "1"}
        self.work = self.daemon()

    def daemon(self) -> LearningWork:
        return LearningWork(self.home, self.environ, lambda: self.at, lambda: self.at)

    def round(self, *, later: float = 10) -> list[Event]:
        self.at += later
        facts = [
            GroupFacts(grp, self.stamps[grp], learning=settings)
            for grp, settings in self.settings.items()
        ]
        return list(self.work.round(facts))

    def names(self, *, later: float = 10) -> list[tuple[str, str]]:
        return [(event.event, event.group) for event in self.round(later=later)]

    def wait(self) -> None:
        """Until the worker has ended."""
        assert self.work._child is not None
        self.work._child.process.wait(20)

    @property
    def begun(self) -> int:
        file = self.folder / "begun"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def lay(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def say(self, number: int = 1, grp: str = "scout") -> None:
        """Turns."""
        with open_store(threads_file(self.home, {}), write=True) as store:
            for _ in range(number):
                self.turns += 1
                at, key = int(self.at * 1e9), f"{grp} {self.turns}"
                event = events.Event(
                    "stop", id=f"{self.turns:016x}", at=at, client="claude", session=grp,
                    thread="main",
                )  # fmt: skip
                turn = (
                    TurnBegins(key, at),
                    Message(key, "person", "text", "hello", at),
                    Message(f"{key} a", "agent", "text", "yes", at),
                    TurnEnds("succeeded", at),
                )
                store.apply(grp, event, Reading(turn))

    def learning(self) -> Learning:
        return open_learning(learning_file(self.home, {}), write=True)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage(tmp_path)
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    yield made
    (tmp_path / "wait").unlink(missing_ok=True)
    made.work.close()


STARTED = ("learning.started", "scout")


def test_a_worker_is_begun_at_the_fifth_turn(stage: Stage) -> None:
    """By a command of its own; while it works no other one is."""
    stage.say(4)
    assert stage.names() == []
    stage.say()
    stage.lay("wait", "")
    assert stage.names() == [STARTED]
    assert stage.names() == []
    (stage.folder / "wait").unlink()
    stage.wait()
    assert (stage.folder / "begun").read_text().endswith(" learned worker\n")
    stage.names(later=1)
    assert stage.begun == 1


def test_what_it_learned_is_told_while_it_works(stage: Stage) -> None:
    """Line by line, a failure as a warning."""
    stage.say(5)
    extracted = {"found": 2, "held": 1, "threads": ["main"], "dropped": [], "aside": []}
    change = {"what": "add", "id": "1", "text": "Ask before $40k.", "before": "", "why": ""}
    lines = [
        Told("scout", "extract", extracted).line(),
        "no line of ours",
        Told("scout", "consolidate", {"changes": [change]}).line(),
        Told("other", "consolidate", {}, "the disk is full").line(),
    ]
    stage.lay("says", "\n".join(lines) + "\nhalf a li")
    stage.lay("wait", "")
    assert stage.names() == [STARTED]
    told: list[Event] = []
    while len(told) < 3:
        told += stage.round(later=0)
    assert [(e.level, e.group, e.event, e.message) for e in told] == [
        ("info", "scout", "learning.done", "read main: 2 candidates, 1 held for approval"),
        ("info", "scout", "learning.done", "learned “Ask before $40k.”"),
        ("warning", "other", "learning.failed", "consolidation stopped: the disk is full"),
    ]


def test_a_worker_that_fails_is_begun_again_after_growing_pauses(stage: Stage) -> None:
    """What is wrong is said once, and that it is over."""
    stage.say(5)
    stage.lay("status", "1")
    stage.lay("ends", "pannier: it is broken\n  Mend it.\n")
    stage.names()
    stage.wait()
    [event] = stage.round(later=1)
    assert (event.event, event.message) == ("learning.stuck", "it is broken Mend it.")
    assert stage.names(later=FIRST_PAUSE - 2) == []
    assert stage.names(later=2) == [STARTED]
    stage.wait()
    assert stage.names(later=1) == []
    assert stage.names(later=FIRST_PAUSE + 2) == []
    stage.lay("status", "0")
    assert stage.names(later=FIRST_PAUSE) == [STARTED]
    stage.wait()
    assert stage.names(later=1) == [("learning.goes_on", "")]


def test_consolidation_is_begun_when_its_time_has_come(stage: Stage) -> None:
    """Though nothing else happens for hours."""
    from tests.unit.learning.things import candidate, mark  # noqa: PLC0415

    stage.say()
    with stage.learning() as learning:
        learning.add_extraction("scout", "p", mark(9), [candidate(1)])
    assert stage.names() == []
    assert stage.names(later=6 * HOUR - 60) == []
    assert stage.names(later=60) == [STARTED]


def test_nothing_is_asked_of_the_databases_while_nothing_changes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand quiet groups cost next to nothing."""
    stage.say(2)
    stage.round()
    monkeypatch.setattr("pannier.serve.learning.open_store", lambda _path: pytest.fail("it looks"))
    assert stage.names(later=60) == []
    monkeypatch.undo()
    stage.say(3)
    assert stage.work._is_worth_it([])


def test_settings_that_were_edited_end_what_waits_for_them(stage: Stage) -> None:
    """No model was set, or its key was missing: now somebody wrote something."""
    stage.say(5)
    with stage.learning() as learning:
        learning.books.note_try(Try("scout", "extract", 3, stage.at, stage.at + 9e6, "key", "no"))
    assert stage.names() == [STARTED], "a new daemon has a new environment"
    stage.wait()
    stage.round(later=1)
    with stage.learning() as learning:
        learning.books.note_try(Try("scout", "extract", 3, stage.at, stage.at + 9e6, "key", "no"))
    assert stage.names() == []
    stage.stamps["scout"] = "2"
    assert stage.names() == [STARTED]


@pytest.mark.parametrize("kind", ["limit", "down", "setting"])
def test_an_edit_of_the_settings_ends_any_pause(stage: Stage, kind: str) -> None:
    """A larger budget, another server. A daemon that begins anew ends only what another
    environment may; what was set aside stays noted."""
    stage.say(5)
    stage.lay("wait", "")
    late = stage.at + 9e6
    with stage.learning() as learning:
        learning.books.note_try(Try("scout", "extract", 3, stage.at, late, kind, "no"))
        learning.books.note_try(
            Try("scout", "aside:x:0:9", 1, stage.at, late, kind, "no", MODEL.who)
        )
    if kind != "setting":
        assert stage.names() == []
        stage.stamps["scout"] = "2"
    assert stage.names() == [STARTED]
    with stage.learning() as learning:
        assert [one.work for one in learning.books.tries("scout")] == ["aside:x:0:9"]


def test_a_worker_that_is_killed_is_told_in_words(stage: Stage) -> None:
    """And not by a number."""
    stage.say(5)
    stage.lay("wait", "")
    stage.names()
    child = stage.work._child
    assert child is not None
    child.process.kill()
    stage.wait()
    [event] = stage.round(later=1)
    assert event.message.startswith("it was killed (SIGKILL)")


def test_a_person_who_edits_the_memory_is_followed(stage: Stage) -> None:
    """No database changes by that."""
    assert stage.names() == []
    (stage.home.group("scout").learned / "MEMORY.md").write_text("# Mine\n")
    assert stage.names() == [STARTED]


def test_a_database_that_cannot_be_read_is_said_and_looked_at_again(stage: Stage) -> None:
    """The daemon goes on."""
    file = learning_file(stage.home, {})
    stage.say(5)
    file.write_text("no database, but a text that is long enough to be looked at")
    [event] = stage.round()
    assert event.event == "learning.stuck"
    assert "learning.db" in event.message
    file.unlink()
    assert stage.names(later=FIRST_PAUSE) == [STARTED, ("learning.goes_on", "")]


def test_when_the_daemon_ends_the_worker_does(stage: Stage) -> None:
    """It is asked to, first."""
    stage.say(5)
    stage.lay("wait", "")
    stage.names()
    child = stage.work._child
    assert child is not None
    stage.work.close()
    assert child.status is not None

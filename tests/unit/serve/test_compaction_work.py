"""Idle compaction in the daemon's rounds, with another program in the place of pannier's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pannier import groups, safefs, sending
from pannier.clients.transcript import Message, Reading, TurnBegins, TurnEnds
from pannier.engine import Engine
from pannier.errors import EngineError
from pannier.groups import new_settings
from pannier.paths import Home
from pannier.sending import Letter
from pannier.serve.compaction import EVERY, MOST_AT_ONCE, CompactionWork
from pannier.serve.facts import GroupFacts
from pannier.serve.idle import FIRST_PAUSE, Rule
from pannier.threads.store import open_store, threads_file
from pannier.tries import FILE, MOST_TRIES, read_tries
from pannier_hook.events import Event

SAID_AT = 1_000
"""Seconds since 1970."""
HOUR = 3_600.0
RULE = Rule(12 * HOUR, 2)

PROGRAM = """#!/bin/sh
cd {folder}
echo "$*" >> begun
while [ -e wait ]; do sleep 0.02; done
cat says 2>/dev/null
exit "$(cat status 2>/dev/null || echo 0)"
"""


class Stage:
    """A home with threads, a clock, an engine of plain data, and what the daemon did so far."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.environ = {**os.environ, "HOME": str(folder)}
        self.at = SAID_AT + 13 * HOUR
        self.containers: list[Any] = []
        self.engine = cast(Engine, SimpleNamespace(containers=self._of))
        self.rules: dict[str, Rule] = {"scout": RULE}
        self.work = self.daemon()

    def daemon(self) -> CompactionWork:
        return CompactionWork(self.home, self.environ, lambda: self.at, lambda: self.at)

    def round(self, *, later: float = EVERY) -> list[tuple[str, str]]:
        """What is said in the next look: event and group."""
        return [(event.event, event.group) for event in self.events(later)]

    def events(self, later: float = EVERY) -> list[Any]:
        self.at += later
        facts = [GroupFacts(group, "s", idle=rule) for group, rule in self.rules.items()]
        return list(self.work.round(facts, self.engine))

    def wait(self) -> None:
        """Until what was begun has ended."""
        for one in self.work._running.values():
            one.child.process.wait(20)

    @property
    def begun(self) -> list[str]:
        """Which threads a process was begun for."""
        file = self.folder / "begun"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.partition(" compact ")[2].replace(" --thread ", "/") for line in lines]

    def say(self, group: str = "scout", thread: str = "main", at: int = SAID_AT) -> None:
        """A turn of two messages."""
        key = f"{group} {thread} {at}"
        event = Event(
            "stop", id="0" * 16, at=5, client="claude", session=f"{group}-{thread}", thread=thread
        )
        turn = (
            TurnBegins(key, at * 10**9),
            Message(key, "person", "text", "hello", at * 10**9),
            Message(f"{key} a", "agent", "text", "yes", at * 10**9),
            TurnEnds("succeeded", at * 10**9),
        )
        with open_store(threads_file(self.home, {}), write=True) as store:
            store.apply(group, event, Reading(turn))

    def _of(self, _home: str, group: str) -> list[Any]:
        return [c for c in self.containers if c.group == group]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    home, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    for folder in ("scout", "other", "third"):
        groups.add(home, folder, new_settings("claude", None, ()))
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    made = Stage(home, tmp_path)
    yield made
    made.work.close()


STARTED, DONE, FAILED = "compaction.started", "compaction.done", "compaction.failed"


def test_an_idle_thread_is_begun_and_its_end_is_told(stage: Stage) -> None:
    """By the command that a person has, too."""
    stage.say(thread="planning")
    assert stage.round() == [(STARTED, "scout")]
    stage.wait()
    assert stage.begun == ["scout/planning"]
    assert stage.round(later=1) == [(DONE, "scout")]
    assert stage.round(later=24 * HOUR) == []


def test_a_daemon_that_begins_anew_does_not_begin_again(stage: Stage) -> None:
    """What was done is known, and what nobody saw end counts as tried."""
    stage.say()
    (stage.folder / "wait").touch()
    assert stage.round() == [(STARTED, "scout")]
    first, stage.work = stage.work, stage.daemon()
    assert stage.round() == []
    (stage.folder / "wait").unlink()
    first.close()
    for _ in range(MOST_TRIES + 2):
        stage.work = stage.daemon()
        stage.round(later=13 * HOUR)
        stage.wait()
    assert len(stage.begun) <= MOST_TRIES

    stage.work = stage.daemon()
    stage.say(at=int(stage.at))
    assert stage.round(later=11 * HOUR) == []
    assert stage.round(later=2 * HOUR) == [(STARTED, "scout")]


def test_a_failure_is_said_with_its_reason_and_tried_later(stage: Stage) -> None:
    """The command's own words, and the last ones of the client; then the group rests."""
    stage.say()
    (stage.folder / "status").write_text("1")
    (stage.folder / "says").write_text("blah\nAPI Error: 401\npannier: no new summary\nSee x.\n")
    assert stage.round() == [(STARTED, "scout")]
    stage.wait()
    [event] = stage.events(later=1)
    assert event.level == "warning"
    assert "scout/main" in event.message
    assert "no new summary See x.; it said: API Error: 401" in event.message
    [tried] = read_tries(stage.home).values()
    assert str(tried) == event.message
    assert stage.round() == []
    assert stage.round(later=FIRST_PAUSE) == [(STARTED, "scout")]


def test_too_little_for_the_client_is_no_failure(stage: Stage) -> None:
    """It says so, and in this pause it is not asked again."""
    stage.say()
    (stage.folder / "status").write_text("1")
    (stage.folder / "says").write_text("Not enough messages to compact.\npannier: no summary\n")
    stage.round()
    stage.wait()
    assert stage.round(later=1) == [("compaction.needless", "scout")]
    assert stage.round(later=24 * HOUR) == []
    [tried] = read_tries(stage.home).values()
    assert (tried.done, tried.why) == (True, "")


def test_of_a_group_one_thread_at_a_time(stage: Stage) -> None:
    """They share the client's HOME, and the provider's patience."""
    stage.say()
    stage.say(thread="planning", at=SAID_AT + 1)
    (stage.folder / "wait").touch()
    assert stage.round() == [(STARTED, "scout")]
    assert stage.round() == []
    (stage.folder / "wait").unlink()
    stage.wait()
    assert stage.round() == [(DONE, "scout"), (STARTED, "scout")]
    stage.wait()
    assert stage.begun == ["scout/main", "scout/planning"]


def test_of_all_groups_two_at_a_time(stage: Stage) -> None:
    """The next one begins when one has ended."""
    stage.rules = {"scout": RULE, "other": RULE, "third": RULE}
    for at, group in enumerate(stage.rules):
        stage.say(group, at=SAID_AT + at)
        stage.say(group, "planning", at=SAID_AT + 10 + at)
    (stage.folder / "wait").touch()
    assert stage.round() == [(STARTED, "scout"), (STARTED, "other")]
    assert len(stage.work._running) == MOST_AT_ONCE
    assert stage.round() == []
    (stage.folder / "wait").unlink()
    stage.wait()
    said = stage.round()
    assert said == [(DONE, "scout"), (DONE, "other"), (STARTED, "third"), (STARTED, "scout")]


@pytest.mark.parametrize("role", ["run", "up"])
def test_a_thread_on_which_somebody_is_at_work_is_left_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """And looked at again later; another thread's client is in nobody's way."""
    stage.say()
    fields = {"group": "scout", "client": "claude", "role": role, "thread": "main"}
    at_work = role == "up"
    stage.containers = [SimpleNamespace(**fields, id="c1", name="c1", state="running")]
    monkeypatch.setattr("pannier.running.is_at_work", lambda *_: at_work)
    assert stage.round() == []
    assert stage.round() == []
    stage.containers = []
    assert stage.round(later=HOUR) == [(STARTED, "scout")]


def test_what_waits_to_be_told_goes_first(stage: Stage) -> None:
    """A message for the thread: soon there is more to summarize."""
    stage.say()
    sending.send(stage.home, stage.environ, Letter("scout", "hello", thread="other"))
    sending.send(stage.home, stage.environ, Letter("scout", "hello"))
    assert stage.round() == []
    assert stage.begun == []


def test_too_little_is_not_worth_a_summary(stage: Stage) -> None:
    """`min_messages` holds for it, too."""
    stage.say()
    stage.rules = {"scout": Rule(12 * HOUR, 3)}
    assert stage.round() == []
    stage.say(at=SAID_AT + 5)
    assert stage.round() == [(STARTED, "scout")]


def test_a_failure_that_somebody_mended_is_over(stage: Stage) -> None:
    """A person compacted the thread by hand: nobody is told of the failure any more."""
    stage.say()
    (stage.folder / "status").write_text("1")
    stage.round()
    stage.wait()
    stage.round(later=1)
    summary = Message("sum", "client", "compaction", "They spoke.")
    event = Event("stop", id="1" * 16, at=5, client="claude", session="scout-main", thread="main")
    with open_store(threads_file(stage.home, {}), write=True) as store:
        store.apply("scout", event, Reading((summary,)))
    assert stage.round() == []
    [tried] = read_tries(stage.home).values()
    assert (tried.done, tried.why) == (True, "")


def test_nothing_is_begun_that_could_not_be_remembered(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk: said once; when there is room, it goes on."""
    stage.say()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(safefs, "write", full)
        [event] = stage.events()
        assert (event.level, event.event) == ("warning", "compaction.stuck")
        assert FILE in event.message
        for _ in range(MOST_TRIES + 1):
            assert stage.round() == []
    assert stage.begun == []
    assert stage.round() == [(STARTED, "scout"), ("compaction.goes_on", "")]


@pytest.mark.parametrize("text", ["no json", "[]", '{"k": {"count": "x"}}'])
def test_a_file_that_is_none_of_ours_stops_it(stage: Stage, text: str) -> None:
    """With the way out; who follows it is served."""
    stage.say()
    (stage.home.state / FILE).write_text(text)
    [event] = stage.events()
    assert event.event == "compaction.stuck"
    assert "Remove it" in event.message
    (stage.home.state / FILE).unlink()
    assert stage.round() == [(STARTED, "scout"), ("compaction.goes_on", "")]


def test_nobody_who_wants_it_costs_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """No database is opened, no engine asked, no file made."""
    stage.say()
    stage.rules = {}

    def opened(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("pannier.serve.compaction.open_store", opened)
    assert stage.round() == []
    assert not (stage.home.state / FILE).exists()


def test_a_group_that_does_not_want_it_any_more_is_forgotten(stage: Stage) -> None:
    """Its failures are nobody's any more; not so while its settings cannot be read."""
    stage.say()
    (stage.folder / "status").write_text("1")
    stage.round()
    stage.wait()
    stage.round(later=1)
    stage.at += EVERY
    list(stage.work.round([GroupFacts("scout", "s", error="broken")], stage.engine))
    assert read_tries(stage.home) != {}
    stage.rules = {}
    stage.round()
    assert read_tries(stage.home) == {}


def test_an_engine_that_fails_is_said_once(stage: Stage) -> None:
    """And nothing counts as tried."""
    stage.say()

    def refuses(*_: object) -> None:
        raise EngineError("the engine refused")

    good, stage.engine = stage.engine, cast(Engine, SimpleNamespace(containers=refuses))
    assert stage.round() == [("compaction.stuck", "")]
    assert stage.round() == []
    stage.engine = good
    assert stage.round() == [(STARTED, "scout"), ("compaction.goes_on", "")]


def test_an_ending_daemon_ends_what_it_began(stage: Stage) -> None:
    """It is no agent that somebody talks to; it counts as tried."""
    stage.say()
    (stage.folder / "wait").touch()
    stage.round()
    [running] = stage.work._running.values()
    stage.work.close()
    assert running.child.process.returncode is not None
    [tried] = read_tries(stage.home).values()
    assert (tried.count, tried.done) == (1, False)


def test_one_that_never_ends_is_ended(stage: Stage) -> None:
    """Whatever it hangs in."""
    stage.say()
    (stage.folder / "wait").touch()
    stage.round()
    assert stage.round(later=2 * HOUR)[0] == (FAILED, "scout")
    assert stage.work._running == {}

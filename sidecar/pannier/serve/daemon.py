"""The rounds of the daemon: look, decide, act, tell; until somebody asks it to end."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from pannier.errors import UnsafePath
from pannier.serve.decide import Action, GroupState, decide
from pannier.serve.facts import Facts
from pannier.serve.log import Event, Log, timestamp
from pannier.serve.memory import Memory, Outcome, learn
from pannier.serve.state import GroupHealth, Report

_SOON = 1.0
_LONGEST_SILENCE = 30.0
_BREATH = 0.05
"""Seconds for others between two times of taking in, when there is always more."""


class Clock(Protocol):
    """Time, so that tests can move it."""

    def now(self) -> float:
        """Seconds of a clock that never goes back."""

    def time(self) -> float:
        """Seconds since the epoch."""

    def wait(self, seconds: float) -> None:
        """Let time pass; returns at once when the daemon is asked to end or to look."""

    @property
    def ending(self) -> bool:
        """Whether the daemon was asked to end."""


class RealClock:
    """The machine's time. `end` may be called by a signal's handler at any moment, `nudge` by
    another thread."""

    def __init__(self) -> None:
        self._ending = False
        self._bell, self._rope = os.pipe2(os.O_CLOEXEC)
        self._hint, self._hand = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def now(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def wait(self, seconds: float) -> None:
        select.select([self._bell, self._hint], [], [], seconds)
        with suppress(BlockingIOError):
            os.read(self._hint, 1 << 16)

    @property
    def ending(self) -> bool:
        return self._ending

    def end(self) -> None:
        self._ending = True
        os.write(self._rope, b"!")

    def nudge(self) -> None:
        """Something may be worth a look."""
        with suppress(BlockingIOError):
            os.write(self._hand, b"!")


class World(Protocol):
    """What the daemon looks at and acts on."""

    def look(self) -> Facts:
        """What there is now."""

    def finished(self) -> Iterator[Outcome]:
        """What came of work that goes on beside the rounds."""

    def act(self, action: Action) -> Iterator[Outcome]:
        """Do it."""

    def take_in(self) -> Iterator[Event]:
        """Store what agents handed over. What is to be told of it."""

    @property
    def waits(self) -> bool:
        """Whether more of that waits than was taken in."""

    def chores(self) -> Iterator[Event]:
        """Work that is due in every round, whatever the engine says. What is to be told of it."""

    def write(self, report: Report) -> None:
        """Leave word of how it goes. Raises OSError or UnsafePath."""


class Daemon:
    """Goes round until its clock says that it shall end."""

    def __init__(self, world: World, clock: Clock, log: Log, report: Report) -> None:
        self.world = world
        self.clock = clock
        self.log = log
        self.report = report
        self.memory = Memory()
        self._unwritten = ""

    def run(self) -> None:
        while not self.clock.ending:
            acted = self.round()
            self._rest(self._pause(acted))
        self._write(replace(self.report, ended=timestamp(self.clock.time())))

    def round(self) -> bool:
        """One round. Whether something was done, so that the next look is worth having soon."""
        for outcome in self.world.finished():
            self._learn(outcome)
        facts = self.world.look()
        decision = decide(facts, self.memory, self.clock.now())
        self.memory = decision.memory
        for event in decision.events:
            self.log(event)
        self._tell(facts, decision.states)
        for action in decision.actions:
            if self.clock.ending:
                break
            for outcome in self.world.act(action):
                self._learn(outcome)
        self._take_in()
        for event in self.world.chores():
            self.log(event)
        return bool(decision.actions)

    def _take_in(self) -> None:
        for event in self.world.take_in():
            self.log(event)

    def _rest(self, seconds: float) -> None:
        """Until the next round only what agents hand over is looked after: at a hint, or at once
        as long as more of it waits."""
        until = self.clock.now() + seconds
        while not self.clock.ending and (left := until - self.clock.now()) > 0:
            self.clock.wait(min(_BREATH, left) if self.world.waits else left)
            if self.clock.now() < until:
                self._take_in()

    def _learn(self, outcome: Outcome) -> None:
        self.memory, events = learn(self.memory, outcome, self.clock.now())
        for event in events:
            self.log(event)

    def _pause(self, acted: bool) -> float:
        every = self.report.every
        if self.memory.silent:
            return min(every * 2.0 ** min(self.memory.silent - 1, 8), max(_LONGEST_SILENCE, every))
        return min(_SOON, every) if acted else every

    def _tell(self, facts: Facts, states: tuple[GroupState, ...]) -> None:
        groups = tuple(self._health(state) for state in states)
        self.report = replace(
            self.report, engine=facts.engine, no_engine=facts.no_engine, groups=groups
        )
        self._write(self.report)

    def _health(self, state: GroupState) -> GroupHealth:
        due = ""
        if state.not_before is not None:
            due = timestamp(self.clock.time() + max(0.0, state.not_before - self.clock.now()))
        return GroupHealth(state.folder, state.state, state.container, state.waits, due)

    def _write(self, report: Report) -> None:
        try:
            self.world.write(report)
        except (OSError, UnsafePath) as error:
            problem = f"the state cannot be written: {error}"
            if problem != self._unwritten:
                self.log(Event("error", "", "state.failed", problem))
            self._unwritten = problem
        else:
            self._unwritten = ""

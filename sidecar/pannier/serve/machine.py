"""The daemon on this machine: put together, run, and ended by signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pannier.engine import Engine
from pannier.paths import Home
from pannier.serve.compaction import CompactionWork
from pannier.serve.daemon import Daemon, RealClock
from pannier.serve.decide import Action, Decision, decide
from pannier.serve.facts import Facts
from pannier.serve.hands import Hands
from pannier.serve.hints import Hints
from pannier.serve.learning import LearningWork
from pannier.serve.log import Event, Log, timestamp
from pannier.serve.memory import Memory, Outcome
from pannier.serve.observe import LOOK_SECONDS, Observer
from pannier.serve.queue import QueueWork
from pannier.serve.sandbox import SandboxWork
from pannier.serve.state import Place, Report, new_report, take_place
from pannier.serve.threads import ThreadsWork
from pannier.signals import ended_by_signals

EVERY = 5.0
"""Seconds between two rounds, unless somebody says otherwise."""
ACT_SECONDS = 60
"""The engine's time for one request of an action."""


class _World:
    """This machine."""

    def __init__(
        self, home: Home, environ: Mapping[str, str], clock: RealClock, place: Place
    ) -> None:
        self.observer = Observer(home, environ, clock.now)
        self.hands = Hands(home, environ, clock.now)
        self.place = place
        self.queue = QueueWork(home, environ)
        self.sandbox = SandboxWork(home, environ, clock.now)
        self.threads = ThreadsWork(home, environ, clock.now)
        self.hints = Hints(home, clock.nudge)
        self.compaction = CompactionWork(home, environ, clock.now, clock.time)
        self.learning = LearningWork(home, environ, clock.now, clock.time)
        self._facts = Facts("")

    def look(self) -> Facts:
        self._facts = self.observer.facts(self.hands.building)
        return self._facts

    def finished(self) -> Iterator[Outcome]:
        return self.hands.finished()

    def act(self, action: Action) -> Iterator[Outcome]:
        with _patience(self.observer.engine):
            yield from self.hands.act(self.observer.engine, action)

    def take_in(self) -> Iterator[Event]:
        # First: what comes from here on is either seen now or hinted at.
        self.hints.refresh()
        yield from self.threads.round()

    @property
    def waits(self) -> bool:
        return self.threads.more

    def close(self) -> None:
        """End what goes on beside the rounds."""
        self.hints.close()
        self.hands.close()
        self.compaction.close()
        self.learning.close()

    def chores(self) -> Iterator[Event]:
        yield from self.queue.round()
        yield from self.sandbox.round(self.observer.engine)
        if not self.threads.more:  # Else what was said last may not be stored yet.
            yield from self.compaction.round(self._facts.groups, self.observer.engine)
            yield from self.learning.round(self._facts.groups)

    def write(self, report: Report) -> None:
        self.place.write(report)


def serve(home: Home, environ: Mapping[str, str], log: Log, *, every: float = EVERY) -> None:
    """Serve a home until SIGTERM or SIGINT. The agents go on running then.

    Raises PannierError if there is a daemon already.
    """
    clock = RealClock()
    with take_place(home) as place, ended_by_signals(clock.end):
        report = new_report(timestamp(clock.time()), every)
        world = _World(home, environ, clock, place)
        log(Event("info", "", "serve.started", f"serves {home.root} as {report.owner}"))
        try:
            Daemon(world, clock, log, report).run()
        finally:
            world.close()
        log(Event("info", "", "serve.ended", "ended; running agents go on"))


@contextmanager
def _patience(engine: Engine | None) -> Iterator[None]:
    """A busy engine may take longer to start or to remove a container than to answer a look."""
    if engine is not None:
        engine.sdk.api.timeout = ACT_SECONDS
    try:
        yield
    finally:
        if engine is not None:
            engine.sdk.api.timeout = LOOK_SECONDS


def preview(home: Home, environ: Mapping[str, str]) -> Decision:
    """What a daemon that begins now would do first. Changes nothing."""
    clock = RealClock()
    return decide(Observer(home, environ, clock.now).facts(""), Memory(), clock.now())

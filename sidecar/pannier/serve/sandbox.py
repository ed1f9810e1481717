"""The daemon's look at what becomes of containers: ends, and samples of what they use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from pannier.engine import Container, Engine
from pannier.engine.life import Usage, usage
from pannier.errors import ContainerGone, EngineNotFound, PannierError
from pannier.paths import Home
from pannier.sandbox import samples
from pannier.sandbox.reconcile import reconcile, since_when
from pannier.sandbox.records import Records, open_records, sandbox_file
from pannier.sandbox.samples import Sample, between
from pannier.serve.hindrances import HOME, Hindrances
from pannier.serve.log import Event
from pannier.serve.words import in_one_line

EVERY = 10.0
"""Seconds between two looks, and so between two samples of a container, where there are few."""
MOST_SAMPLES = 50
"""Containers that are sampled in one look."""
MOST_SECONDS = 1.0
"""When no more of them are begun, after the first."""
_THIN_EVERY = 60.0
_PATIENCE = 1.0
_OVERLAP = 10**9
"""Nanoseconds that are asked for twice, because the engine's clock may be behind ours."""


class SandboxWork:
    """Keeps the records beside the rounds. `now`: seconds of a clock that never goes back."""

    def __init__(self, home: Home, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        self.home = home
        self.path = sandbox_file(home, environ)
        self.now = now
        self._due = 0.0
        self._thin_due = 0.0
        self._since = 0
        self._last: dict[str, Usage] = {}
        self._hindrances = Hindrances(
            "sandbox.stuck", "sandbox.goes_on", "what becomes of containers is recorded again"
        )

    def round(self, engine: Engine | None) -> Iterator[Event]:
        """Never raises for what an engine, a disk or a person can do."""
        if engine is None or self.now() < self._due:
            return
        self._due = self.now() + EVERY
        problems = {}
        try:
            with open_records(self.path, patience=_PATIENCE) as records:
                self._look(records, engine)
        except EngineNotFound:
            return  # The rounds themselves say what is wrong with it.
        except (PannierError, OSError) as error:
            problems = {HOME: in_one_line(error)}
        yield from self._hindrances.changes(problems)

    def _look(self, records: Records, engine: Engine) -> None:
        home, now = str(self.home.root), time.time_ns()
        since = self._since or since_when(records, now)
        containers = engine.containers(home)
        reconcile(records, engine, home, containers, since=since, now=now)
        self._since = now - _OVERLAP
        found = self._sample(engine, containers)
        with records.alone():
            samples.add(records, found)
            if self.now() >= self._thin_due:
                self._thin_due = self.now() + _THIN_EVERY
                samples.thin(records, now // 10**9)
                records.forget(now // 10**9)

    def _sample(self, engine: Engine, containers: list[Container]) -> list[Sample]:
        """Those first that were sampled longest ago, as many as one look has time for."""
        running = [c.id for c in containers if c.state == "running"]
        self._last = {id: self._last[id] for id in running if id in self._last}
        running.sort(key=lambda id: self._last[id].at if id in self._last else 0)
        until = self.now() + MOST_SECONDS
        found: list[Sample] = []
        for id in running[:MOST_SAMPLES]:
            try:
                seen = usage(engine, id)
            except ContainerGone:
                continue
            if seen is not None:
                before = self._last.get(id)
                self._last[id] = seen
                sample = between(id, before, seen) if before else None
                if sample is not None:
                    found.append(sample)
            if self.now() >= until:
                break
        return found

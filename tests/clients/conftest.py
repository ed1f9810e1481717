"""The real agent programs in their images, each in one container for all of its tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from pannier import clients, groups, launch
from pannier.clients.client import Client
from pannier.endpoint.model import Request, ScriptedModel
from pannier.engine import Engine
from pannier.engine.images import Progress
from pannier.paths import GroupPaths, Home
from pannier.settings import GroupSettings
from pannier.verify.container import ContainerProcesses, container_for
from pannier.verify.events import watch
from pannier.verify.memory import read_memory
from pannier.verify.report import EventReport
from pannier.verify.shell import EventShell

from .habits import HABITS, Habits
from .hard_text import as_file, astral_text, hard_text

DRIVEN = [name for name, client in clients.CLIENTS.items() if client.events]


@dataclass(frozen=True)
class Driven:
    """A client in its running container, and what `pannier verify` found there."""

    client: Client
    group: GroupPaths
    processes: ContainerProcesses
    model: ScriptedModel
    events: dict[str, EventReport] = field(default_factory=dict)
    requests: dict[str, tuple[Request, ...]] = field(default_factory=dict)

    @property
    def habits(self) -> Habits:
        return HABITS[self.client.name]

    @contextmanager
    def shell(self, name: str) -> Iterator[EventShell]:
        """A shell for something else than the events of `pannier verify`."""
        shell = EventShell(name, self.processes, self.model, lambda: None)
        try:
            yield shell
        finally:
            shell.close()

    def event(self, name: str) -> EventReport:
        """What was found in an event; a client that has no such event skips the test."""
        if name not in self.client.events:
            pytest.skip(f"{self.client.title} has no event {name}")
        return self.events[name]

    def asked_in(self, event: str) -> tuple[Request, ...]:
        """What the model was asked from the beginning of an event's context to its end."""
        return self.requests[event]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine, as docker's own tools find it. Without one: make engine, or make test-unit."""
    return Engine.find(dict(os.environ))


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """Not below pytest's own folder, which only its owner may enter."""
    folder = Path(tempfile.mkdtemp(prefix="pannier-test-")).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session", params=DRIVEN)
def driven(request: pytest.FixtureRequest, engine: Engine, folder: Path) -> Iterator[Driven]:
    """A client, driven into all its events with memory files that are as hard as it gets.

    Before each fresh context but the first, the person edits `index.md` on the host.
    """
    environ = {**os.environ, "HOME": str(folder / "person")}
    home, _ = groups.init(folder / request.param)
    group = groups.add(home, "scout", GroupSettings(client=request.param)).paths
    (group.memory / "index.md").write_bytes(as_file(hard_text("as it was")))
    definition = group.memory / "system" / "definition.md"
    definition.write_bytes(as_file(astral_text("rules")))

    with _container(engine, home, environ) as driven:
        begun: dict[str, int] = {}

        def begins(event: str) -> None:
            begun[event] = len(driven.model.requests)
            if event != "startup":
                edited = as_file(hard_text(f"edited for {event}"))
                (group.memory / "index.md").write_bytes(edited)

        memory = partial(read_memory, group)
        for report in watch(driven.client, driven.processes, driven.model, memory, begins=begins):
            driven.events[report.event] = report
            driven.requests[report.event] = driven.model.since(begun.get(report.event, 1 << 30))
        yield driven


@contextmanager
def _container(engine: Engine, home: Home, environ: dict[str, str]) -> Iterator[Driven]:
    plan = launch.decide(home, launch.Wish("scout"), environ)
    model = ScriptedModel()
    with container_for(engine, home, plan, environ, print, _building, model) as processes:
        yield Driven(plan.client, plan.group.paths, processes, model)


@contextmanager
def _building() -> Iterator[Progress]:
    yield print

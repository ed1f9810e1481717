"""The real agent programs in their images, each in one container for all of its tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from pannier import clients, groups, launch
from pannier.clients.client import Client
from pannier.endpoint.model import Request, ScriptedModel
from pannier.engine import Engine
from pannier.engine.images import Progress
from pannier.paths import GroupPaths
from pannier.settings import GroupSettings
from pannier.verify.container import ContainerProcesses, container_for
from pannier.verify.events import watch
from pannier.verify.memory import read_memory
from pannier.verify.report import EventReport
from pannier.verify.shell import EventShell

from .habits import HABITS, Habits
from .hard_text import as_file, astral_text, hard_text
from .table import Conformance

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-table", action="store_true", help="write docs/conformance.md")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--write-table", default=False):
        config.pluginmanager.register(Conformance())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that take `driven` run once for each client; with `fresh_event` or `old_event` too,
    once for each event of that kind that it has."""
    names = [name for name in ("fresh_event", "old_event") if name in metafunc.fixturenames]
    if not names:
        if "driven" in metafunc.fixturenames:
            metafunc.parametrize("driven", DRIVEN, indirect=True)
        return
    cases = [
        (client, event)
        for client in DRIVEN
        for event in clients.CLIENTS[client].events
        if (event in clients.CLIENTS[client].fresh) == (names == ["fresh_event"])
    ]
    metafunc.parametrize(("driven", *names), cases, indirect=["driven"])


@pytest.fixture(scope="session")
def opened(engine: Engine, folder: Path) -> Iterator[Callable[[str], Driven]]:
    """Gives each client's container; it is started at the first call, and lives to the end."""
    found: dict[str, Driven] = {}
    with ExitStack() as containers:

        def open_once(name: str) -> Driven:
            if name not in found:
                found[name] = containers.enter_context(_container(engine, folder / name, name))
                _drive(found[name])
            return found[name]

        yield open_once


@pytest.fixture
def driven(request: pytest.FixtureRequest, opened: Callable[[str], Driven]) -> Driven:
    """A client that was driven into all of its events."""
    return opened(request.param)


@contextmanager
def _container(engine: Engine, root: Path, client: str) -> Iterator[Driven]:
    """A group whose memory files are as hard as it gets, and its client's container."""
    environ = {**os.environ, "HOME": str(root / "person")}
    home, _ = groups.init(root, environ)
    memory = groups.add(home, "scout", GroupSettings(client=client)).paths.memory
    (memory / "index.md").write_bytes(as_file(hard_text("as it was")))
    (memory / "system" / "definition.md").write_bytes(as_file(astral_text("rules")))
    (memory / "mug.md").write_text("The mug is blue.\n")
    plan = launch.decide(home, launch.Wish("scout"), environ)
    model = ScriptedModel()
    with container_for(engine, home, plan, environ, print, _building, model) as processes:
        yield Driven(plan.client, plan.group.paths, processes, model)


def _drive(driven: Driven) -> None:
    """Into each event. Before each but the first, the person edits `index.md` on the host."""
    begun: dict[str, int] = {}

    def begins(event: str) -> None:
        begun[event] = len(driven.model.requests)
        if event != "startup":
            edited = as_file(hard_text(f"edited for {event}"))
            (driven.group.memory / "index.md").write_bytes(edited)

    memory = partial(read_memory, driven.group)
    for report in watch(driven.client, driven.processes, driven.model, memory, begins=begins):
        driven.events[report.event] = report
        if report.event in begun:
            driven.requests[report.event] = driven.model.since(begun[report.event])


@contextmanager
def _building() -> Iterator[Progress]:
    yield print

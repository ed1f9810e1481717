"""Doing what was decided. Each action ends in an outcome, also when it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pannier import clients, groups, launch
from pannier.engine import Engine, images
from pannier.errors import PannierError
from pannier.launch import Wish
from pannier.paths import Home
from pannier.serve.child import Child
from pannier.serve.decide import Action, Build, MakeReady, Remove, Start
from pannier.serve.log import Event
from pannier.serve.memory import Outcome, Up
from pannier.serve.words import in_one_line

GRACE = 10
"""Seconds that a container has to end before it is killed."""


@dataclass(frozen=True)
class _Building:
    """An image being built."""

    group: str
    tag: str
    child: Child


class Hands:
    """Acts on the groups and containers of a home. `now`: a clock that never goes back."""

    def __init__(self, home: Home, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        self.home = home
        self.environ = environ
        self.now = now
        self._build: _Building | None = None

    @property
    def building(self) -> str:
        """Tag of the image that is being built; empty if none is."""
        return self._build.tag if self._build else ""

    def act(self, engine: Engine | None, action: Action) -> Iterator[Outcome]:
        """Do it. What it meets on the way comes out as it happens."""
        try:
            if isinstance(action, MakeReady):
                yield from self._make_ready(action)
            elif isinstance(action, Build):
                yield self._begin_build(action)
            elif engine is not None and isinstance(action, Start):
                yield from self._start(engine, action)
            elif engine is not None and isinstance(action, Remove):
                yield self._remove(engine, action)
        except (PannierError, OSError) as error:
            yield _failed(action, error)

    def _make_ready(self, action: MakeReady) -> Iterator[Outcome]:
        group = groups.get(self.home, action.group)
        client = clients.get(group.settings.client)
        ready = groups.make_ready(group, client, self.environ)
        for odd in ready.odd:
            message = f"left alone in place of a scaffold file: {odd}"
            yield Outcome(Event("warning", action.group, "group.odd", message))
        for kept in ready.kept:
            message = f"not given to the agent: {kept}"
            yield Outcome(Event("warning", action.group, "group.odd", message))
        made = ", ".join(f"memory/{path}" for path in ready.created)
        message = f"made {made}" if made else ""
        yield Outcome(Event("info", action.group, "group.ready", message), stamp=action.stamp)

    def _start(self, engine: Engine, action: Start) -> Iterator[Outcome]:
        plan = launch.decide(self.home, Wish(action.group), self.environ)
        told: list[str] = []
        container = launch.up(engine, self.home, plan, self.environ, told.append, _silently)
        for text in told:
            yield Outcome(Event("warning", action.group, "start.note", text))
        message = f"started {container.name} ({plan.image}) as {plan.identity}"
        up = Up(container.id, container.name, self.now())
        yield Outcome(Event("info", action.group, "container.started", message), up=up)

    def _remove(self, engine: Engine, action: Remove) -> Outcome:
        engine.stop(action.container, grace=GRACE)
        message = f"removed {action.name}: {action.why}"
        event = Event(action.level, action.group, "container.removed", message)
        return Outcome(event, container=action.container)

    def _begin_build(self, action: Build) -> Outcome:
        words = ("image", "build", action.client, "--progress", "plain")
        child = Child(self.home, self.environ, *words)
        self._build = _Building(action.group, action.tag, child)
        return Outcome(Event("info", action.group, "image.building", f"building {action.tag}"))

    def finished(self) -> Iterator[Outcome]:
        """What came of a build that ended since the last time."""
        build = self._build
        if build is None or build.child.status is None:
            return
        self._build = None
        status, reason = build.child.status, build.child.reason()
        build.child.close()
        if status == 0:
            yield Outcome(Event("info", build.group, "image.built", f"built {build.tag}"))
            return
        message = f"{build.tag} could not be built: {reason}"
        yield Outcome(Event("error", build.group, "image.failed", message), failed=True)

    def close(self) -> None:
        """End a build; the next daemon begins it again, from what the engine has cached."""
        if self._build is not None:
            self._build.child.stop(GRACE)
            self._build.child.close()
            self._build = None


def _failed(action: Action, error: PannierError | OSError) -> Outcome:
    kind, what, container = {
        MakeReady: ("ready.failed", "its folders could not be made", ""),
        Build: ("image.failed", "its image could not be built", ""),
        Start: ("start.failed", "its container could not be started", ""),
        Remove: (
            "remove.failed",
            "a container could not be removed",
            getattr(action, "container", ""),
        ),
    }[type(action)]
    event = Event("error", action.group, kind, f"{what}: {in_one_line(error)}")
    return Outcome(event, failed=True, container=container)


@contextmanager
def _silently() -> Iterator[images.Progress]:
    """For the rare build within a start: an image that went away since it was looked for."""
    yield lambda _tag, _line: None

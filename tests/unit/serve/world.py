"""A machine of plain data for the daemon: groups, containers, an engine that comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pannier.serve.daemon import Daemon
from pannier.serve.decide import Action, Build, MakeReady, Remove, Start
from pannier.serve.facts import ContainerFacts, Facts, GroupFacts
from pannier.serve.log import Event
from pannier.serve.memory import Outcome, Up
from pannier.serve.state import Report


class MovedClock:
    """Time that passes only while the daemon waits; `plan` says when it is asked to end."""

    def __init__(self, rounds: int) -> None:
        self.at = 1_000.0
        self.rounds = rounds
        self.waits: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.at

    def time(self) -> float:
        return 1_800_000_000.0 + self.at

    def wait(self, seconds: float) -> None:
        self.at += seconds
        self.waits.append(seconds)
        self.meanwhile()

    @property
    def ending(self) -> bool:
        return len(self.waits) >= self.rounds


@dataclass
class World:
    """Facts that change as actions say, and as the test does."""

    clock: MovedClock
    groups: dict[str, GroupFacts] = field(default_factory=dict)
    containers: dict[str, ContainerFacts] = field(default_factory=dict)
    engine: bool = True
    starts_fail: bool = False
    disk_full: bool = False
    building: str = ""
    acted: list[Action] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    count: int = 0
    handed_over: int = 0
    """How many times there is something to take in."""
    taken_in: int = 0

    def look(self) -> Facts:
        groups = tuple(self.groups.values())
        if not self.engine:
            return Facts("", "no engine answers", groups)
        return Facts("20.10", "", groups, tuple(self.containers.values()), building=self.building)

    def chores(self) -> Iterator[Event]:
        yield from ()

    def take_in(self) -> Iterator[Event]:
        self.taken_in += 1
        self.handed_over = max(0, self.handed_over - 1)
        yield from ()

    @property
    def waits(self) -> bool:
        return self.handed_over > 0

    def finished(self) -> Iterator[Outcome]:
        if self.building:
            for name, group in self.groups.items():
                if group.missing_image == self.building:
                    self.groups[name] = replace(group, missing_image="")
            yield Outcome(Event("info", "", "image.built", f"built {self.building}"))
            self.building = ""

    def act(self, action: Action) -> Iterator[Outcome]:
        self.acted.append(action)
        if isinstance(action, MakeReady):
            event = Event("info", action.group, "group.ready", "")
            yield Outcome(event, stamp=action.stamp)
        elif isinstance(action, Build):
            assert not self.building, "two builds at once"
            self.building = action.tag
            yield Outcome(Event("info", action.group, "image.building", action.tag))
        elif isinstance(action, Remove):
            self.containers.pop(action.container, None)
            event = Event(action.level, action.group, "container.removed", action.why)
            yield Outcome(event, container=action.container)
        elif isinstance(action, Start):
            yield self.start(action.group)

    def start(self, group: str) -> Outcome:
        assert not self.groups[group].error, "started a group that cannot be read"
        assert not self.groups[group].missing_image, "started without an image"
        assert self.up(group) is None, "two containers of one group"
        if self.starts_fail:
            return Outcome(Event("error", group, "start.failed", "refused"), failed=True)
        self.count += 1
        id_ = f"c{self.count}"
        made = ContainerFacts(id_, f"pannier-{group}-{id_}", group, "up", "running")
        self.containers[id_] = made
        event = Event("info", group, "container.started", f"started {made.name}")
        return Outcome(event, up=Up(id_, made.name, self.clock.now()))

    def up(self, group: str) -> ContainerFacts | None:
        found = (c for c in self.containers.values() if c.group == group and c.is_there)
        return next(found, None)

    def kill(self, group: str) -> None:
        container = self.up(group)
        if container is not None:
            self.containers[container.id] = replace(container, state="exited")

    def write(self, report: Report) -> None:
        if self.disk_full:
            raise OSError(28, "No space left on device")
        self.reports.append(report)


def serve(world: World, every: float = 5.0) -> list[Event]:
    """Run a daemon over the world for as many rounds as its clock has; what it said."""
    said: list[Event] = []
    Daemon(world, world.clock, said.append, Report("here:1:x", "then", every)).run()
    return said

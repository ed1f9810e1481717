"""What the daemon does about what it sees. Pure: facts and memory in, actions and words out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pannier.serve.facts import ContainerFacts, Facts, GroupFacts
from pannier.serve.log import Event
from pannier.serve.memory import STEADY, Memory, Tries, Up
from pannier.serve.troubles import NO_GROUP, current, mended, without_group


@dataclass(frozen=True)
class MakeReady:
    """Make the folders and the scaffold of a group."""

    group: str
    stamp: str


@dataclass(frozen=True)
class Build:
    """Begin to build the image that a group waits for."""

    group: str
    client: str
    tag: str


@dataclass(frozen=True)
class Start:
    """Start a container of a group that stays up."""

    group: str


@dataclass(frozen=True)
class Remove:
    """Remove a container, stopping it first if it runs; `why` it has to go."""

    group: str
    container: str
    name: str
    why: str
    level: Literal["info", "warning"] = "info"


Action = MakeReady | Build | Start | Remove


@dataclass(frozen=True)
class GroupState:
    """How a group is, for `pannier status`."""

    folder: str
    state: Literal["up", "waiting", "idle", "broken", "gone"]
    container: str = ""
    waits: str = ""
    """What it waits for, or what is wrong."""
    not_before: float | None = None
    """When the next try is due, by the clock of the rounds."""


@dataclass(frozen=True)
class Decision:
    """One round."""

    events: tuple[Event, ...]
    actions: tuple[Action, ...]
    memory: Memory
    states: tuple[GroupState, ...]


def decide(facts: Facts, memory: Memory, now: float) -> Decision:
    """Decide a round. `now` is in seconds of a clock that never goes back."""
    events: list[Event] = []
    actions: list[Action] = [
        MakeReady(group.folder, group.stamp)
        for group in facts.groups
        if not group.error and memory.ready.get(group.folder) != group.stamp
    ]
    memory = _forgive(facts, memory)
    if facts.engine:
        memory, seen = _follow(facts, memory, now)
        events += seen
        actions += _clear(facts, memory)
        actions += _start(facts, memory, now)
    memory = replace(
        memory,
        silent=0 if facts.engine else memory.silent + 1,
        drifted=_drifted(facts, memory),
    )
    troubles = current(facts, memory)
    before = memory.troubles
    events += [event for key, event in troubles.items() if before.get(key) != event]
    events += mended([key for key in before if key not in troubles], facts)
    memory = replace(memory, troubles=troubles)
    states = [_state(group, facts, memory) for group in facts.groups]
    states += [GroupState(c.group, "gone", c.name, NO_GROUP) for c in without_group(facts)]
    return Decision(tuple(events), tuple(actions), memory, tuple(states))


def _forgive(facts: Facts, memory: Memory) -> Memory:
    """Who edited the settings or the allowlist gets a new try at once."""
    tries = {
        group.folder: memory.tries[group.folder]
        for group in facts.groups
        if group.folder in memory.tries and memory.stamps.get(group.folder) == group.stamp
    }
    stamps = {group.folder: group.stamp for group in facts.groups}
    return replace(memory, tries=tries, stamps=stamps)


def _follow(facts: Facts, memory: Memory, now: float) -> tuple[Memory, list[Event]]:
    """Which containers are up now, which ended, and how that counts."""
    events: list[Event] = []
    up: dict[str, Up] = {}
    tries = dict(memory.tries)
    listed = {c.id: c for c in facts.containers}
    here = {c.group: c for c in reversed(facts.containers) if _is_up(c)}
    for group, container in here.items():
        known = memory.up.get(group)
        if known is not None and known.id == container.id:
            up[group] = known
            continue
        up[group] = Up(container.id, container.name, now)
        message = f"{container.name} is up ({container.status or container.state})"
        events.append(Event("info", group, "container.found", message))
    for group, was in memory.up.items():
        if group in up and up[group].id == was.id:
            continue
        steady = now - was.since >= STEADY
        tries[group] = Tries() if steady else tries.get(group, Tries()).again(now)
        events.append(_ended(group, was, listed.get(was.id)))
    return replace(memory, up=up, tries=tries), events


def _ended(group: str, was: Up, left: ContainerFacts | None) -> Event:
    """Nothing that ends by itself removes itself: whoever did that knew."""
    if left is None:
        return Event("info", group, "container.ended", f"{was.name} was removed")
    how = left.status or left.state
    return Event("warning", group, "container.ended", f"{was.name} ended: {how}")


def _clear(facts: Facts, memory: Memory) -> Iterator[Action]:
    """Containers that have to go."""
    for c in facts.containers:
        if c.at_gate:
            why = "it was left before its mounts were compared"
            yield Remove(c.group, c.id, c.name, why, "warning")
        elif c.role != "up" and c.is_left and not c.is_there:
            yield Remove(c.group, c.id, c.name, f"left by a process that ended ({c.state})")
        elif c.is_there and c.drift and c.stops:
            before = memory.drifted.get(c.id)
            # One look may fall into the moment in which somebody replaces a file.
            if before is not None and c.look > before:
                why = f"it does not keep to its plan: {'; '.join(c.drift)}"
                yield Remove(c.group, c.id, c.name, why, "warning")


def _drifted(facts: Facts, memory: Memory) -> Mapping[str, int]:
    if not facts.engine:
        return memory.drifted
    return {c.id: c.look for c in facts.containers if c.drift}


def _start(facts: Facts, memory: Memory, now: float) -> Iterator[Action]:
    """At most one start and one build a round: the others are looked after in between."""
    started = building = False
    for group in facts.groups:
        if not _wanted(group, facts, memory):
            continue
        tries = memory.tries.get(group.folder, Tries())
        if now < tries.not_before:
            continue
        if group.missing_image:
            if not building and not facts.building:
                building = True
                yield Build(group.folder, group.client, group.missing_image)
        elif not started:
            started = True
            for old in _ups(group.folder, facts):
                yield Remove(old.group, old.id, old.name, f"it ended ({old.status or old.state})")
            yield Start(group.folder)


def _wanted(group: GroupFacts, facts: Facts, memory: Memory) -> bool:
    """Whether a container of this group should be up, is not, and nobody else is starting one."""
    if group.error or not group.autostart or group.folder in memory.up or facts.home_error:
        return False
    return all(c.is_left for c in _ups(group.folder, facts))


def _ups(group: str, facts: Facts) -> list[ContainerFacts]:
    ups = [c for c in facts.containers if c.group == group and c.role == "up"]
    return [c for c in ups if not c.at_gate]


def _is_up(container: ContainerFacts) -> bool:
    return container.role == "up" and container.is_there and not container.at_gate


def _wrong(container: ContainerFacts) -> str:
    if container.drift:
        return f"does not keep to its plan: {'; '.join(container.drift)}"
    return container.outdated


def _state(group: GroupFacts, facts: Facts, memory: Memory) -> GroupState:
    if group.error:
        name = up.name if (up := memory.up.get(group.folder)) else ""
        return GroupState(group.folder, "broken", name, group.error)
    if up := memory.up.get(group.folder):
        wrong = " ".join(_wrong(c) for c in facts.containers if c.id == up.id)
        return GroupState(group.folder, "up", up.name, wrong)
    if not group.autostart:
        return GroupState(group.folder, "idle")
    if not facts.engine:
        return GroupState(group.folder, "waiting", waits="the engine")
    if facts.home_error:
        return GroupState(group.folder, "waiting", waits=facts.home_error)
    tries = memory.tries.get(group.folder, Tries())
    if facts.building and facts.building == group.missing_image:
        return GroupState(group.folder, "waiting", waits=f"image {facts.building} is being built")
    waits = tries.why or ("its container ended" if tries.count else "its turn")
    return GroupState(group.folder, "waiting", waits=waits, not_before=tries.not_before or None)

"""What the daemon remembers from round to round, and what it learns from its actions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pannier.serve.log import Event

STEADY = 60.0
"""Seconds after which a container that ends is no failed start."""
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0

Key = tuple[str, str, str]
"""Group, event, and the container that it is about, if it is about one."""


@dataclass(frozen=True)
class Tries:
    """Starts of a group that failed or did not last, in a row."""

    count: int = 0
    not_before: float = 0.0
    why: str = ""
    """Why the last one failed; empty when it ran and ended."""

    def again(self, now: float, why: str = "") -> Tries:
        """After one more."""
        return Tries(self.count + 1, now + pause(self.count), why)


@dataclass(frozen=True)
class Up:
    """A container that was seen to be up."""

    id: str
    name: str
    since: float


@dataclass(frozen=True)
class Memory:
    """Nothing here needs to outlive the daemon: the next one finds it out again."""

    troubles: Mapping[Key, Event] = field(default_factory=dict)
    """What was said and still holds."""
    ready: Mapping[str, str] = field(default_factory=dict)
    """Group → stamp of the settings for which its folders were made."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    tries: Mapping[str, Tries] = field(default_factory=dict)
    up: Mapping[str, Up] = field(default_factory=dict)
    drifted: Mapping[str, int] = field(default_factory=dict)
    """Container → the last look, if by that it did not keep to its plan."""
    silent: int = 0
    """Rounds without an engine, in a row."""


@dataclass(frozen=True)
class Outcome:
    """What came of an action."""

    event: Event
    """Without a message there is nothing to say."""
    failed: bool = False
    container: str = ""
    """Id of the container that was stopped or removed, or could not be."""
    stamp: str = ""
    """Of the settings for which the group's folders were made."""
    up: Up | None = None
    """The container that was started."""


def pause(count: int) -> float:
    """Seconds to wait after so many tries before this one."""
    return min(FIRST_PAUSE * 2.0 ** min(count, 16), LONGEST_PAUSE)


def learn(memory: Memory, outcome: Outcome, now: float) -> tuple[Memory, tuple[Event, ...]]:
    """The memory after an action, and what is to be said: a failure only when it is a new one."""
    event, group = outcome.event, outcome.event.group
    if outcome.failed:
        if event.event in ("start.failed", "image.failed"):
            tries = memory.tries.get(group, Tries()).again(now, event.message)
            memory = replace(memory, tries={**memory.tries, group: tries})
        key = (group, event.event, outcome.container)
        said = () if memory.troubles.get(key) == event else (event,)
        return replace(memory, troubles={**memory.troubles, key: event}), said
    if outcome.stamp:
        memory = replace(memory, ready={**memory.ready, group: outcome.stamp})
    if outcome.up is not None:
        memory = replace(memory, up={**memory.up, group: outcome.up})
    if outcome.container:
        rest = {g: up for g, up in memory.up.items() if up.id != outcome.container}
        memory = replace(memory, up=rest)
    return memory, (event,) if event.message else ()

"""What is wrong now, so that it is said once, and once more when it is over. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pannier.serve.facts import ContainerFacts, Facts
from pannier.serve.log import Event
from pannier.serve.memory import Key, Memory

# What is said when a trouble is over; of the others the good end is an event of its own.
_MENDED = {
    "engine.gone": ("engine.back", "the engine answers again"),
    "allowlist.broken": ("allowlist.mended", "the allowlist can be read again"),
    "settings.broken": ("settings.mended", "the settings can be read again"),
    "container.drifted": ("container.keeps", "its container keeps to its plan again"),
    "container.outdated": ("container.current", "its container is as a start would make it again"),
    "group.gone": ("group.back", "its group.yaml is there again"),
    "ready.failed": ("group.ready", "its folders are there"),
}
NO_GROUP = "its container runs, but there is no group.yaml any more"


def without_group(facts: Facts) -> Iterator[ContainerFacts]:
    """Containers that run for a group that is not there."""
    return (c for c in facts.containers if c.no_group and c.is_there)


def current(facts: Facts, memory: Memory) -> Mapping[Key, Event]:
    """Every trouble of now, by what it is about."""
    found = [*_of_files(facts)]
    if facts.engine:
        found += [*_of_containers(facts), *_of_no_group(facts)]
    else:
        event = Event("error", "", "engine.gone", facts.no_engine)
        found.append((("", "engine.gone", ""), event))
    found += _still(facts, memory)
    return dict(found)


def mended(over: Iterable[Key], facts: Facts) -> Iterator[Event]:
    """What is said of troubles that are over."""
    listed = {c.id for c in facts.containers}
    for group, kind, container in over:
        if kind in _MENDED and (not container or container in listed):
            name, message = _MENDED[kind]
            yield Event("info", group, name, message)


def _of_files(facts: Facts) -> Iterator[tuple[Key, Event]]:
    if facts.allowlist_error:
        message = (
            f"{facts.allowlist_error}; running containers keep their mounts until it is mended"
        )
        yield ("", "allowlist.broken", ""), Event("error", "", "allowlist.broken", message)
    for folder, error in (("", facts.home_error), *((g.folder, g.error) for g in facts.groups)):
        if error:
            yield (folder, "settings.broken", ""), Event("error", folder, "settings.broken", error)


def _of_containers(facts: Facts) -> Iterator[tuple[Key, Event]]:
    kept_up = {g.folder for g in facts.groups if g.autostart}
    for c in facts.containers:
        kept = c.group in kept_up if c.role == "up" else not c.is_there
        if c.is_left and not c.at_gate and not kept:
            message = (
                f"{c.name} ({c.state}) is left from an earlier start; "
                f"remove it with: pannier stop {c.group}"
            )
            key = (c.group, "container.left", c.id)
            yield key, Event("warning", c.group, "container.left", message)
        if c.drift and c.is_there:
            message = f"{c.name} does not keep to its plan: {'; '.join(c.drift)}"
            key = (c.group, "container.drifted", c.id)
            yield key, Event("warning", c.group, "container.drifted", message)
        if c.outdated and c.is_there:
            key = (c.group, "container.outdated", c.id)
            yield key, Event("warning", c.group, "container.outdated", c.outdated)


def _of_no_group(facts: Facts) -> Iterator[tuple[Key, Event]]:
    for c in without_group(facts):
        message = (
            f"{c.name} runs, but there is no group.yaml any more; "
            f"put it back, or end it with: pannier stop {c.group}"
        )
        event = Event("warning", c.group, "group.gone", message)
        yield (c.group, "group.gone", c.id), event


def _still(facts: Facts, memory: Memory) -> Iterator[tuple[Key, Event]]:
    """Troubles that this round cannot see, as long as nothing says that they are over."""
    listed = {c.id for c in facts.containers}
    groups = {g.folder: g for g in facts.groups}
    for key, event in memory.troubles.items():
        folder, kind, container = key
        group = groups.get(folder)
        if kind in ("start.failed", "image.failed"):
            tries = memory.tries.get(folder)
            holds = bool(group and group.autostart and tries and tries.why == event.message)
            if holds and folder not in memory.up:
                yield key, event
        elif kind == "ready.failed":
            if group and memory.ready.get(folder) != group.stamp:
                yield key, event
        elif container and (not facts.engine or (kind == "remove.failed" and container in listed)):
            yield key, event

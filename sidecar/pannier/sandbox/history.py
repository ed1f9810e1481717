"""What there is to say of a home's containers, past and present."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pannier.engine import Container, Engine
from pannier.engine.life import Life, Usage, usage
from pannier.errors import ContainerGone
from pannier.paths import Home
from pannier.sandbox import samples
from pannier.sandbox.reconcile import reconcile, since_when
from pannier.sandbox.records import Attachment, open_records, sandbox_file
from pannier.sandbox.samples import Past, Sample, between

WINDOWS = (("hour", 3_600), ("day", 86_400), ("month", 30 * 86_400))
PAUSE = 0.5
"""Seconds between two looks at what a container uses now."""


@dataclass(frozen=True)
class Entry:
    """A container, and who was in it."""

    life: Life
    attachments: tuple[Attachment, ...]

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running; None if it never started."""
        life = self.life
        if not life.started:
            return None
        return max(0, (life.ended or time.time_ns()) - life.started) / 1e9

    @property
    def state(self) -> str:
        """created, running, exited; or gone: it ended, and nobody knows how."""
        life = self.life
        if life.ended:
            return "gone" if life.status is None else "exited"
        return "running" if life.started else "created"

    def __str__(self) -> str:
        """For people: `exited (137), out of memory`."""
        status = f" ({self.life.status})" if self.life.status is not None else ""
        return f"{self.state}{status}{', out of memory' if self.life.oom else ''}"


def history(
    home: Home,
    environ: Mapping[str, str],
    engine: Engine | None,
    group: str | None,
    limit: int,
) -> list[Entry]:
    """The containers of a group, else of the home; the newest first.

    Without an engine, or where nothing can be written, what was known before. Raises PannierError.
    """
    path = sandbox_file(home, environ)
    folder = path.parent
    write = not folder.exists() or os.access(folder, os.W_OK, effective_ids=True)
    with open_records(path, write=write) as records:
        if engine is not None and write:
            now, root = time.time_ns(), str(home.root)
            containers = engine.containers(root)
            since = since_when(records, now)
            reconcile(records, engine, root, containers, since=since, now=now)
        return [
            Entry(life, tuple(records.attachments(life.id))) for life in records.lives(group, limit)
        ]


def using(
    engine: Engine,
    containers: Sequence[Container],
    wait: Callable[[float], None] = time.sleep,
) -> list[tuple[Container, Sample, Usage]]:
    """What each of them uses now: two looks, half a second apart. Raises EngineError."""
    first = {container.id: _usage(engine, container) for container in containers}
    if any(first.values()):
        wait(PAUSE)
    found = []
    for container in containers:
        before = first[container.id]
        now = _usage(engine, container) if before else None
        sample = between(container.id, before, now) if before and now else None
        if sample and now:
            found.append((container, sample, now))
    return found


def pasts(home: Home, environ: Mapping[str, str], group: str) -> list[tuple[str, Past]]:
    """What the group used in the last hour, day and month, where a daemon looked."""
    now = int(time.time())
    with open_records(sandbox_file(home, environ), write=False) as records:
        found = [(name, samples.past(records, group, now - seconds)) for name, seconds in WINDOWS]
    return [(name, past) for name, past in found if past is not None]


def _usage(engine: Engine, container: Container) -> Usage | None:
    try:
        return usage(engine, container.id)
    except ContainerGone:
        return None

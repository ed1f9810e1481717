"""What the engine knows of a container's life: how it was made, how it ended, what it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pannier.engine.connect import translated
from pannier.engine.containers import Engine
from pannier.engine.spec import (
    LABEL_CLIENT,
    LABEL_GROUP,
    LABEL_HOME,
    LABEL_MOUNTS,
    LABEL_ROLE,
    LABEL_THREAD,
)
from pannier.errors import EngineError

MOST_EVENTS = 2_000
"""How many events of a home's containers are looked at; the engine itself keeps few."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


@dataclass(frozen=True)
class Life:
    """A container, from its making to its end. Times are nanoseconds since 1970; 0: not yet, or
    not known."""

    id: str
    name: str
    group: str
    client: str
    role: str
    thread: str
    image: str
    """How it was called when the container was made."""
    digest: str = ""
    """The image's id, which no other image ever has."""
    mounts: str = ""
    """What `mounts_label` wrote."""
    memory: int = 0
    """The limit in bytes; 0: none is known."""
    cpus: float = 0.0
    created: int = 0
    started: int = 0
    ended: int = 0
    status: int | None = None
    """Its exit code; None while it runs, or when nobody knows."""
    oom: bool = False
    """The kernel killed something in it because it had used up its memory."""


@dataclass(frozen=True)
class Usage:
    """What a container uses."""

    at: int
    """Nanoseconds since 1970."""
    cpu: int
    """Nanoseconds of processor time since it began."""
    memory: int
    """Bytes, without what the kernel only caches for it."""
    limit: int


def inspect(engine: Engine, container: str) -> Life:
    """Raises ContainerGone, EngineError."""
    with translated(), _understood():
        return _of_inspect(engine.sdk.api.inspect_container(container))


def _of_inspect(found: Mapping[str, Any]) -> Life:
    state, config, host = found["State"], found["Config"], found["HostConfig"]
    ended = "" if state["Running"] else state.get("FinishedAt", "")
    return Life(
        id=str(found["Id"]),
        name=str(found["Name"]).lstrip("/"),
        image=str(config["Image"]),
        digest=str(found["Image"]),
        memory=int(host.get("Memory") or 0),
        cpus=int(host.get("NanoCpus") or 0) / 1e9,
        created=nanoseconds(found["Created"]),
        started=nanoseconds(state.get("StartedAt", "")),
        ended=nanoseconds(ended),
        status=int(state["ExitCode"]) if nanoseconds(ended) else None,
        oom=bool(state.get("OOMKilled")),
        **_named(config.get("Labels") or {}),
    )


def changes(engine: Engine, home: str, since: int, until: int) -> list[Life]:
    """What the engine remembers of the containers of a home that started, ran out of memory or
    ended in that time, in nanoseconds since 1970. Containers that are gone are among them.

    Of each, what its events say: no `digest`, no limits. Raises EngineError.
    """
    filters = {
        "type": ["container"],
        "label": [f"{LABEL_HOME}={home}"],
        "event": ["start", "oom", "die"],
    }
    found: dict[str, Life] = {}
    with translated(), _understood():
        # The engine takes fractions of a second, written so; the SDK hands them on.
        events = engine.sdk.api.events(  # type: ignore[call-overload]
            since=_seconds(since), until=_seconds(until), filters=filters, decode=True
        )
        try:
            for _, event in zip(range(MOST_EVENTS), events, strict=False):
                life = _of_event(event)
                old = found.get(life.id)
                found[life.id] = merged(old, life) if old else life
        finally:
            events.close()
    return list(found.values())


def merged(old: Life, new: Life) -> Life:
    """What both know of the same container. Where both know it, `old` counts: it was there."""
    values: dict[str, Any] = {
        name: value or getattr(new, name) for name, value in vars(old).items() if name != "status"
    }
    status = new.status if old.status is None else old.status
    return Life(**values, status=status)


def usage(engine: Engine, container: str) -> Usage | None:
    """What it uses now; None where it does not run, or the engine has no figures.

    One request, which does not wait for a second look. Raises ContainerGone, EngineError.
    """
    with translated(), _understood():
        return _of_stats(engine.sdk.api.stats(container, stream=False, one_shot=True))


def _of_stats(found: Mapping[str, Any]) -> Usage | None:
    at = nanoseconds(str(found.get("read", "")))
    memory = found.get("memory_stats") or {}
    if not at or "usage" not in memory:
        return None
    stats = memory.get("stats") or {}
    # What `docker stats` leaves out: cgroup v2 and v1 have each their own word for it.
    cached = int(stats.get("inactive_file") or stats.get("total_inactive_file") or 0)
    return Usage(
        at=at,
        cpu=int(found["cpu_stats"]["cpu_usage"]["total_usage"]),
        memory=max(0, int(memory["usage"]) - cached),
        limit=int(memory.get("limit") or 0),
    )


def nanoseconds(text: str) -> int:
    """The engine's word for a time, since 1970; 0 for its word for none."""
    found = _TIME.fullmatch(text)
    if found is None or text.startswith("0001"):
        return 0
    whole = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    return int(whole.timestamp()) * 10**9 + int((found[2] or "").ljust(9, "0"))


@contextmanager
def _understood() -> Iterator[None]:
    """An engine that says it in another way is one that says nothing."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(
            f"what the engine says of a container is not understood: {error!r}"
        ) from (error)


def _seconds(at: int) -> str:
    return f"{at // 10**9}.{at % 10**9:09d}"


def _named(labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "group": labels.get(LABEL_GROUP, ""),
        "client": labels.get(LABEL_CLIENT, ""),
        "role": labels.get(LABEL_ROLE, ""),
        "thread": labels.get(LABEL_THREAD, ""),
        "mounts": labels.get(LABEL_MOUNTS, ""),
    }


def _of_event(event: Mapping[str, Any]) -> Life:
    attributes = event["Actor"]["Attributes"]
    what, at = event["Action"], int(event["timeNano"])
    return Life(
        id=str(event["Actor"]["ID"]),
        name=str(attributes.get("name", "")),
        image=str(attributes.get("image", "")),
        started=at if what == "start" else 0,
        ended=at if what == "die" else 0,
        status=int(attributes["exitCode"]) if what == "die" and "exitCode" in attributes else None,
        oom=what == "oom",
        **_named(attributes),
    )

"""Records and engine brought together: ends that nobody recorded, containers that nobody knew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pannier import owner
from pannier.engine import Container, Engine
from pannier.engine.life import Life, changes, inspect
from pannier.errors import ContainerGone
from pannier.sandbox.records import Records

MOST_LOOKS = 20
"""Containers that are looked at in one go; the others come with the next."""
FIRST = 3_600 * 10**9
"""How far back a first look asks the engine, in nanoseconds, where no container is open."""


def reconcile(
    records: Records,
    engine: Engine,
    home: str,
    containers: Iterable[Container],
    *,
    since: int,
    now: int,
) -> None:
    """Learn what became of the containers of a home since then (nanoseconds since 1970).

    `containers` is what the engine lists now. One that is gone, and of whose end the engine knows
    nothing any more, ended without a status, by `now`. Raises EngineError.
    """
    listed = {container.id: container for container in containers}
    news = changes(engine, home, since, now)
    open_now = {life.id: life for life in records.open_lives()}
    looks = _looks(records, engine, listed)
    with records.alone():
        for life in (*news, *looks):
            records.see(life)
        for id in open_now:
            if id not in listed:
                left = records.life(id)
                if left is not None and not left.ended:
                    records.see(replace(left, ended=now))
        for visit in records.attachments():
            if owner.is_gone(visit.owner):
                records.leave(visit.id, now, None)


def since_when(records: Records, now: int) -> int:
    """From when on the engine has to be asked, when nobody remembers the last time."""
    return min((life.created or now for life in records.open_lives()), default=now - FIRST)


def _looks(records: Records, engine: Engine, listed: dict[str, Container]) -> list[Life]:
    """Of those that the engine lists: the ones that are not known, or not as they are now."""
    looks: list[Life] = []
    for id, container in listed.items():
        old = records.life(id)
        if old is not None and old.digest:
            runs = container.state in ("running", "paused")
            if old.ended or (old.started and runs):
                continue
        if len(looks) == MOST_LOOKS:
            break
        try:
            looks.append(inspect(engine, id))
        except ContainerGone:
            continue
    return looks

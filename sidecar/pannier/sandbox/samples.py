"""What containers used over time: every sample of an hour, then ever coarser ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pannier.engine.life import Usage
from pannier.sandbox.records import Records

TIERS = ((3_600, 60), (86_400, 3_600))
"""What is older than so many seconds is kept only in spans of so many seconds."""
KEPT = 31 * 86_400
"""Seconds that the coarsest are kept."""


@dataclass(frozen=True)
class Sample:
    """What a container used in a span of time."""

    container: str
    at: int
    """When the span ended, in seconds since 1970."""
    span: int
    """Its seconds."""
    cpu: float
    """How many processors were busy, on average."""
    cpu_most: float
    memory: int
    """Bytes, on average."""
    memory_most: int


@dataclass(frozen=True)
class Past:
    """What a group used in a longer time."""

    seconds: int
    """Of those that were looked at, added up over all containers."""
    cpu: float
    """Processors that were busy, on average over that time."""
    cpu_most: float
    memory: int
    memory_most: int


def between(container: str, before: Usage, now: Usage) -> Sample | None:
    """What was used from one look to the next; None when nothing can be said of it. Pure."""
    span = now.at - before.at
    if span <= 0 or now.cpu < before.cpu:
        return None
    cpu = (now.cpu - before.cpu) / span
    memory = max(before.memory, now.memory)
    seconds = max(1, round(span / 1e9))
    mean = (before.memory + now.memory) // 2
    return Sample(container, now.at // 10**9, seconds, cpu, cpu, mean, memory)


def add(records: Records, samples: Iterable[Sample]) -> None:
    """Remember them. A second one of the same second replaces the first."""
    records.db.executemany(
        "INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(s.container, s.at, s.span, s.cpu, s.cpu_most, s.memory, s.memory_most) for s in samples],
    )


def thin(records: Records, now: int) -> None:
    """Make coarser what is old, and forget what is very old. `now` in seconds since 1970.

    Doing it again changes nothing. The means are weighted by time, and the most of anything stays.
    """
    for age, width in TIERS:
        # Only whole spans: one that is under way would be made in two.
        limit = (now - age) // width * width
        records.db.execute(
            "CREATE TEMP TABLE thinned AS SELECT container, (at - 1) / ?2 * ?2 + ?2 AS at, "
            "sum(span) AS span, sum(cpu * span) / sum(span) AS cpu, max(cpu_most) AS cpu_most, "
            "CAST(sum(memory * span) / sum(span) AS INTEGER) AS memory, "
            "max(memory_most) AS memory_most, count(*) AS many "
            "FROM samples WHERE at <= ?1 GROUP BY 1, 2 HAVING many > 1",
            (limit, width),
        )
        records.db.execute(
            "DELETE FROM samples WHERE at <= ?1 AND EXISTS (SELECT 1 FROM thinned WHERE "
            "thinned.container = samples.container AND "
            "thinned.at = (samples.at - 1) / ?2 * ?2 + ?2)",
            (limit, width),
        )
        records.db.execute(
            "INSERT INTO samples SELECT container, at, span, cpu, cpu_most, memory, memory_most "
            "FROM thinned"
        )
        records.db.execute("DROP TABLE thinned")
    records.db.execute("DELETE FROM samples WHERE at < ?", (now - KEPT,))


def past(records: Records, group: str, since: int) -> Past | None:
    """What the group's containers used since then (seconds since 1970); None: nobody looked."""
    row = records.db.execute(
        "SELECT sum(span), sum(cpu * span) / sum(span), max(cpu_most), "
        "CAST(sum(samples.memory * span) / sum(span) AS INTEGER), max(memory_most) "
        "FROM samples JOIN containers ON containers.id = container WHERE grp = ? AND at > ?",
        (group, since),
    ).fetchone()
    return None if row[0] is None else Past(*row)


def of_container(records: Records, container: str) -> list[Sample]:
    """All that is remembered of one container, in order."""
    rows = records.db.execute(
        "SELECT container, at, span, cpu, cpu_most, memory, memory_most FROM samples "
        "WHERE container = ? ORDER BY at",
        (container,),
    )
    return [Sample(*row) for row in rows]

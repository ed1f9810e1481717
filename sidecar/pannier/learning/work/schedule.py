"""What of a group's learning is due, and what it waits for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from pannier.learning.store.books import next_day
from pannier.learning.store.rows import Try
from pannier.settings.learning import LearningSettings

Work = Literal["extract", "consolidate"]
WORKS: tuple[Work, ...] = get_args(Work)

LATER = float("inf")
FIRST_PAUSE = 600.0
"""Seconds after a failure; each further one in a row makes it four times as long."""
LONGEST_PAUSE = 12 * 3_600.0
MOST_TRIES = 5
"""Failures in a row after which a piece that the model does not manage is set aside."""


@dataclass(frozen=True)
class Standing:
    """How a group stands."""

    settings: LearningSettings
    turns: int = 0
    """Successful ones since the last extraction, as far as they were counted."""
    last: float = 0.0
    """When the newest of all ended, in seconds since 1970."""
    compacted: int = 0
    """The message of the newest compaction, if nothing was consolidated since; else 0."""
    waiting: int = 0
    """Candidates."""
    staged: Literal["", "writing", "waiting"] = ""
    """A consolidation that is being written, or waits for a person."""
    edited: bool = False
    """A person edited the memory: its index is to follow, for which no model is asked."""
    tries: Mapping[str, Try] = field(default_factory=dict)
    """What failed last, by work."""
    wanted: frozenset[str] = frozenset()
    """What a person asked for."""


@dataclass(frozen=True)
class Due:
    """What is to be done now, or what is waited for."""

    work: Work | None = None
    waits: str = ""
    """For people; "" where nothing is in the offing."""
    at: float | None = None
    """When it is due, if time alone decides: in seconds since 1970."""


def due(group: Standing, now: float) -> Due:
    """What comes first. Extraction goes before consolidation: that takes up what it found."""
    if group.staged == "writing":
        return _unless_trouble(group, "consolidate", now)
    both = in_words(group, now)
    doable = [one for one in both if one.work]
    offing = sorted((one for one in both if one.waits), key=lambda one: one.at or LATER)
    return (doable or offing or [Due()])[0]


def in_words(group: Standing, now: float) -> tuple[Due, Due]:
    """Extraction and consolidation, each by itself: for a person."""
    return _extraction(group, now), _consolidation(group, now)


def compaction_is_over(group: Standing) -> bool:
    """Whether a compaction found nothing to be merged: it says nothing of what comes later."""
    return group.compacted > 0 and not group.waiting and group.turns < group.settings.extract_after


def wish_is_over(group: Standing, now: float) -> tuple[str, ...]:
    """What a person asked for, and there is nothing to do about: not even after an extraction."""
    over = not group.waiting and not group.staged and _extraction(group, now).work is None
    return ("consolidate",) if over and "consolidate" in group.wanted else ()


def rest(failures: int) -> float:
    """Seconds after so many failures in a row; at least one."""
    return min(FIRST_PAUSE * 4.0 ** min(failures - 1, 16), LONGEST_PAUSE)


def not_before(kind: str, failures: int, after: float, now: float) -> float:
    """When to try again what failed `failures` times in a row, in seconds since 1970.

    `after`: for how long a server asked to be left alone.
    """
    if kind == "limit":
        return next_day(now)
    if kind == "rate" and after > 0:
        return now + after
    return now + max(rest(failures), after)


def _extraction(group: Standing, now: float) -> Due:
    settings = group.settings
    if not settings.enabled:
        return Due(waits="learning.enabled is false")
    if "extract" in group.wanted or group.turns >= settings.extract_after:
        return _unless_trouble(group, "extract", now)
    if not group.turns:
        return Due()
    return Due(waits=f"{group.turns} of {settings.extract_after} turns")


def _consolidation(group: Standing, now: float) -> Due:
    settings = group.settings
    if group.staged == "waiting":
        return Due(waits="a proposal waits for: pannier learned approve")
    if group.edited:
        return _unless_trouble(group, "consolidate", now)
    if not group.waiting or not settings.enabled:
        return Due()
    idle = group.last + settings.consolidate_seconds
    if (
        "consolidate" in group.wanted
        or group.compacted
        or group.waiting >= settings.consolidate_at
        or now >= idle
    ):
        return _unless_trouble(group, "consolidate", now)
    return Due(waits=f"{settings.consolidate_after} without a turn", at=idle)


def _unless_trouble(group: Standing, work: Work, now: float) -> Due:
    """A person's wish does not wait for a pause, only for a model."""
    asks = group.staged != "writing" and not (work == "consolidate" and group.edited)
    if group.settings.model is None and asks:
        return Due(waits="no model is set: learning.model")
    tried = group.tries.get(work)
    if tried and now < tried.not_before and work not in group.wanted:
        return Due(waits=tried.why, at=tried.not_before)
    return Due(work)

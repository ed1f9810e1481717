"""What of a group's learning is due, and what it waits for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from pannier.learning.store.books import next_day
from pannier.learning.store.rows import Try
from pannier.settings.learning import LearningSettings

Work = Literal["extract", "consolidate"]
WORKS: tuple[Work, ...] = get_args(Work)

LATER = math.inf
"""Not by time alone."""
FIRST_PAUSE = 600.0
"""Seconds after a failure; each further one in a row makes it four times as long."""
LONGEST_PAUSE = 12 * 3_600.0
_LONGEST_WISH = 86_400.0
"""Seconds: no pause is longer."""
OF_SETTINGS = ("unset", "key", "setting")
"""Troubles that other settings, or another environment, end, and nothing else."""
OF_PIECE = ("answer", "refused", "too_long")
"""Troubles that another piece need not have."""
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
    again: bool = False
    """Something was set aside that another model than the present one did not manage."""
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
    tried: Try | None = None
    """The failure after which it waits."""


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

    `after`: for how long a server asked to be left alone; it is heeded for a day at most.
    """
    if kind in OF_SETTINGS:
        return LATER
    if kind == "limit":
        return next_day(now)
    after = min(after, _LONGEST_WISH)
    if kind == "rate" and after > 0:
        return now + after
    return now + max(rest(failures), after)


def failed(before: Try | None, new: Try, after: float, *, wished: bool) -> Try:
    """What is noted of a failure: how often in a row it was, and until when it waits.

    `before`: what was noted last. Another kind of failure begins anew. `wished`: a person asked
    for the work; that makes no pause longer, nor does it wait for other settings: a person's
    environment may be another one than the daemon's.
    """
    goes_on = before is not None and _family(before.kind) == _family(new.kind)
    count = before.count + 1 if before and goes_on else 1
    until = not_before(new.kind, count, after, new.at)
    if wished and before and goes_on and new.at < before.not_before:
        asked = new.at + after if new.kind == "rate" else 0.0
        count, until = before.count, max(before.not_before, asked)
    elif wished and until == LATER:
        until = new.at + FIRST_PAUSE
    return replace(new, count=count, not_before=until)


def _family(kind: str) -> str:
    return "piece" if kind in OF_PIECE else kind


def _extraction(group: Standing, now: float) -> Due:
    settings = group.settings
    if not settings.enabled:
        return Due(waits="learning.enabled is false")
    again = group.again and settings.model is not None
    if again or "extract" in group.wanted or group.turns >= settings.extract_after:
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
    waits = _unless_trouble(group, "consolidate", now)
    if waits.work is None:
        return replace(waits, at=max(waits.at, idle) if waits.at is not None else None)
    return Due(waits=f"{settings.consolidate_after} without a turn", at=idle)


def _unless_trouble(group: Standing, work: Work, now: float) -> Due:
    """A person's wish does not wait for a pause, only for a model."""
    asks = group.staged != "writing" and not (work == "consolidate" and group.edited)
    if group.settings.model is None and asks:
        return Due(waits="no model is set: learning.model")
    tried = group.tries.get(work)
    if tried and now < _until(tried, now) and work not in group.wanted:
        at = tried.not_before if tried.not_before < LATER else None
        return Due(waits=tried.why, at=at, tried=tried)
    return Due(work)


def _until(tried: Try, now: float) -> float:
    """Until when it waits, whatever the clock did since: one that was ahead may have gone back."""
    if tried.not_before == LATER:
        return LATER
    return min(tried.not_before, tried.at + _LONGEST_WISH) if tried.at <= now + 60 else now

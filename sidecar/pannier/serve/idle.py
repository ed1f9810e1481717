"""Which idle threads are to be compacted now. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pannier.threads.pauses import Pause
from pannier.tries import Tried

FIRST_PAUSE = 600.0
"""Seconds after a failure in which nothing of the group is tried; each further one in a row makes
it four times as long."""
LONGEST_PAUSE = 12 * 3_600.0


@dataclass(frozen=True)
class Rule:
    """What a group wants."""

    after: float
    """Seconds without a word."""
    least: int
    """Messages since the last summary."""


def begun(pause: Pause, before: Tried | None, now: float) -> Tried:
    """What is remembered before it is tried: whatever ends this process, it counts."""
    count = before.count if before is not None and before.said == pause.said else 0
    return Tried(pause.group, pause.thread, pause.said, count + 1, now)


def still(
    tried: Mapping[str, Tried], pauses: Sequence[Pause], broken: Collection[str]
) -> dict[str, Tried]:
    """What is worth remembering: a new word ends the pause, and so what was tried in it.

    `pauses`: all of the groups that want it; `broken`: groups that may or may not.
    """
    said = {pause.key: pause.said for pause in pauses}
    return {
        key: one for key, one in tried.items() if one.group in broken or said.get(key) == one.said
    }


def due(
    pauses: Sequence[Pause],
    rules: Mapping[str, Rule],
    tried: Mapping[str, Tried],
    able: Collection[str],
    now: float,
) -> list[Pause]:
    """The threads that were idle for long enough, and where it may be tried, longest first.

    Whether there is enough to summarize, and whether the client is at work, is asked only of
    these. `able`: the clients that can; `tried`: by the thread's key.
    """
    earliest = not_before(tried.values())
    found = [
        pause
        for pause in pauses
        if pause.group in rules
        and now >= earliest.get(pause.group, 0.0)
        and pause.client in able
        and pause.here
        and now - pause.since >= rules[pause.group].after
        and not _is_over(pause, tried.get(pause.key))
    ]
    return sorted(found, key=lambda pause: (pause.since, pause.key))


def not_before(tried: Collection[Tried]) -> dict[str, float]:
    """By group, when something may be tried again after failures in a row."""
    good: dict[str, float] = {}
    for one in tried:
        if one.done:
            good[one.group] = max(one.at, good.get(one.group, 0.0))
    count: dict[str, int] = {}
    last: dict[str, float] = {}
    for one in tried:
        if not one.done and one.at > good.get(one.group, 0.0):
            count[one.group] = count.get(one.group, 0) + one.count
            last[one.group] = max(one.at, last.get(one.group, 0.0))
    return {group: last[group] + rest(number) for group, number in count.items()}


def rest(failures: int) -> float:
    """Seconds after so many failures in a row; at least one."""
    return min(FIRST_PAUSE * 4.0 ** min(failures - 1, 16), LONGEST_PAUSE)


def _is_over(pause: Pause, tried: Tried | None) -> bool:
    """Whether nothing is tried any more in this pause."""
    return tried is not None and tried.said == pause.said and (tried.done or tried.given_up)

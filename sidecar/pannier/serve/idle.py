"""Which idle threads are to be compacted now. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pannier.threads.pauses import Pause

MOST_TRIES = 3
"""In one pause of a thread."""
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


@dataclass(frozen=True)
class Tried:
    """What was tried in a pause of a thread."""

    group: str
    thread: str
    said: int
    """The pause: after this message."""
    count: int
    """How often it was begun."""
    at: float
    """When it was last, in seconds since 1970."""
    done: bool = False
    why: str = ""
    """Why it failed; "" also of one that nobody has seen end."""

    @property
    def given_up(self) -> bool:
        return not self.done and self.count >= MOST_TRIES


def begun(pause: Pause, before: Tried | None, now: float) -> Tried:
    """What is remembered before it is tried: whatever ends this process, it counts."""
    count = before.count if before is not None and before.said == pause.said else 0
    return Tried(pause.group, pause.thread, pause.said, count + 1, now)


def failed(tried: Tried, why: str, now: float) -> Tried:
    return replace(tried, at=now, why=why)


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
    resting = {group for group in rules if now < not_before(group, tried.values())}
    found = [
        pause
        for pause in pauses
        if pause.group in rules
        and pause.group not in resting
        and pause.client in able
        and pause.here
        and now - pause.since >= rules[pause.group].after
        and not _is_over(pause, tried.get(pause.key))
    ]
    return sorted(found, key=lambda pause: (pause.since, pause.key))


def not_before(group: str, tried: Collection[Tried]) -> float:
    """When something of the group may be tried again, after failures in a row."""
    mine = [one for one in tried if one.group == group]
    good = max((one.at for one in mine if one.done), default=0.0)
    bad = [one for one in mine if not one.done and one.at > good]
    count = sum(one.count for one in bad)
    if not count:
        return 0.0
    longest = min(FIRST_PAUSE * 4.0 ** min(count - 1, 16), LONGEST_PAUSE)
    return max(one.at for one in bad) + longest


def _is_over(pause: Pause, tried: Tried | None) -> bool:
    """Whether nothing is tried any more in this pause."""
    return tried is not None and tried.said == pause.said and (tried.done or tried.given_up)

"""How much of its room the memory takes, and what gives way where it takes too much. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from pannier.learning.files.memoryedits import remove
from pannier.learning.files.memoryfile import Line, Memory
from pannier.learning.guards.restrictions import restricts
from pannier.learning.lessons import Kind, Lesson
from pannier_hook.estimate import estimate

_BY_KIND: Mapping[Kind, float] = {
    "correction": 6.0,
    "preference": 5.0,
    "decision": 4.0,
    "procedure": 4.0,
    "failure": 3.0,
    "environment": 2.0,
}
_FROM_TOOL = -1.0
_RULE = 4.0
"""What somebody is not to do is worth more than any number of things to know."""
_BY_PERSON = 100.0
"""What a person wrote into the file is worth more than all that we did."""
_MONTH = 30 * 86_400.0
_OLDEST = 6.0
"""Months without a confirmation, after which a lesson becomes no less useful."""


def worth(lesson: Lesson | None, newest: float) -> float:
    """How useful a lesson is beside others: by its kind, how often and how lately it was confirmed,
    and whether somebody's rule is lost with it.

    `newest`: when any was confirmed last, in seconds since 1970: no clock is needed. Of a line of
    which nothing is known, a person wrote it.
    """
    if lesson is None or lesson.by == "person":
        return _BY_PERSON
    age = max(0.0, newest - max(lesson.confirmed, lesson.changed)) / _MONTH
    return (
        _BY_KIND[lesson.kind]
        + (_FROM_TOOL if lesson.source == "tool" else 0.0)
        + (_RULE if lesson.source in ("person", "message") and restricts(lesson.text) else 0.0)
        + math.log2(1 + lesson.confirmations)
        - min(age, _OLDEST) / 2
    )


def newest(lessons: Iterable[Lesson]) -> float:
    """When any of them was confirmed last."""
    return max((max(x.confirmed, x.changed) for x in lessons), default=0.0)


def fit(memory: Memory, lessons: Mapping[str, Lesson], tokens: int) -> tuple[Memory, list[str]]:
    """The memory with at most so many tokens, and the ids of the lessons that were dropped.

    The least useful go first, the older before the newer. What a person wrote stays, also where it
    alone is too much.
    """
    last = newest(lessons.values())
    ours = [x for x in memory.lessons.values() if x.id in lessons and lessons[x.id].by == "pannier"]
    ours.sort(key=lambda x: (worth(lessons[x.id], last), lessons[x.id].changed, x.id))
    dropped: list[str] = []
    while ours and (over := estimate(memory.text) - tokens) > 0:
        now = _enough(memory, ours, over)
        memory = remove(memory, now)
        dropped += now
        ours = ours[len(now) :]
    return memory, dropped


def _enough(memory: Memory, ours: list[Line], over: int) -> list[str]:
    """The first of them that make up for so many tokens."""
    found: list[str] = []
    for line in ours:
        found.append(line.id)
        over -= estimate("".join(memory.lines[line.first : line.last]))
        if over <= 0:
            break
    return found

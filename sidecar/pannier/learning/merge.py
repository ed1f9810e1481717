"""What one consolidation decided, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pannier.learning.lessons import Lesson


@dataclass(frozen=True)
class Change:
    """What becomes of one lesson."""

    what: Literal["add", "revise", "confirm", "remove", "drop"]
    """`drop`: there was no room for it."""
    lesson: Lesson
    """As it is afterwards; of one that goes, as it was."""
    before: str = ""
    """The text that a revised one had."""
    candidates: tuple[str, ...] = ()
    why: str = ""


ONCE_MORE = "once more: "
"""Begins why a candidate still waits that was shown already."""


@dataclass(frozen=True)
class Taken:
    """What becomes of one candidate."""

    candidate: str
    state: Literal["merged", "left", "held", "waiting"]
    """`waiting`: it is shown once more, and then left."""
    lesson: str = ""
    why: str = ""


@dataclass(frozen=True)
class Merge:
    """The new memory, and how it came to be."""

    base: str
    """SHA-256 of the `MEMORY.md` that it was made from, in hexadecimal; "" where there was none."""
    memory: str
    """The new text; "" : the memory is empty, and its file is removed."""
    summary: str
    """The new `summary.md`; the same."""
    changes: tuple[Change, ...]
    taken: tuple[Taken, ...]
    notes: tuple[str, ...] = ()
    """For people: what was shortened or dropped for want of room, and what was refused."""

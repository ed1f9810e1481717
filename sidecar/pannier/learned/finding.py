"""Lessons and candidates by what a person calls them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pannier.errors import UsageError
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.store import Learning
from pannier.shown import brief

T = TypeVar("T", Lesson, Candidate)

_LESSON = 7
"""Digits of a lesson's id."""
_SHORTEST = 4
"""Digits by which a lesson can be called, if no other begins so."""


def lesson(learning: Learning, grp: str, ref: str) -> Lesson:
    """The lesson of this id, or whose id begins so; also one that left the memory.

    Raises UsageError.
    """
    return _one([*learning.lessons(grp), *learning.lessons(grp, gone=True)], grp, ref, "lesson")


def is_candidate(ref: str) -> bool:
    """Whether it can only be a candidate's id. Those are longer than a lesson's."""
    return ref.startswith("c") and len(ref) > _LESSON


def candidate(learning: Learning, grp: str, ref: str) -> Candidate:
    """The same of candidates."""
    return _one(learning.candidates(grp), grp, ref, "candidate")


def _one(known: Sequence[T], grp: str, ref: str, what: str) -> T:
    id = ref.strip().removeprefix("^").lower()
    found = [one for one in known if one.id == id]
    if not found and len(id) >= _SHORTEST:
        found = [one for one in known if one.id.startswith(id)]
    elif not found and any(id and one.id.startswith(id) for one in known):
        raise UsageError(
            f"{brief(ref, 40)!r} is too short", f"Write {_SHORTEST} characters of the id at least."
        )
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(one.id for one in found[:5])
        raise UsageError(f"{brief(ref, 40)} may be any of {ids}", "Write more of it.")
    option = " --candidates" if what == "candidate" else ""
    raise UsageError(
        f"{grp} has no {what} {brief(ref, 40)!r}",
        f"See which there are: pannier learned show {grp}{option}",
    )

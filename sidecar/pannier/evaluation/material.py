"""What is planted in conversations, and how it is recognized. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pannier.learning.guards.words import normal
from pannier.learning.lessons import Kind

Who = Literal["person", "agent", "tool"]


@dataclass(frozen=True)
class Line:
    """Something that somebody says. What a tool says answers a call."""

    who: Who
    text: str
    call: str = ""


@dataclass(frozen=True)
class Exchange:
    """Some turns of one thread, without a break. The first line of each is a person's."""

    thread: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class State:
    """What holds for a while, and how it was said."""

    kind: Kind
    text: str
    """The lesson as it is best written."""
    needs: tuple[str, ...]
    """Patterns that its line matches, all of them."""
    proofs: tuple[str, ...]
    """The lines that prove it."""
    over: bool = False
    """It says that something holds no longer."""

    def is_in(self, line: str) -> bool:
        """Whether a line says it."""
        return says(self.needs, line) and (
            not self.over or _DENIES.search(normal(line)) is not None
        )


@dataclass(frozen=True)
class Planted:
    """A lesson to be learned: its states, one after the other in time."""

    topic: str
    states: tuple[State, ...]

    @property
    def last(self) -> State:
        return self.states[-1]

    def is_stale_in(self, line: str) -> bool:
        """Whether a line says what held before, and not what holds."""
        before = any(state.is_in(line) for state in self.states[:-1])
        return before and not self.last.is_in(line)


@dataclass(frozen=True)
class Trap:
    """What must not be learned."""

    text: str
    """How a careless learner writes it."""
    marks: tuple[str, ...]
    """Patterns by which it is known again."""
    lines: tuple[str, ...]
    """Where it was read."""

    def is_in(self, line: str) -> bool:
        return says(self.marks, line)


@dataclass(frozen=True)
class Secret:
    """What nobody may find again."""

    form: str
    value: str
    text: str
    """Something that is said with it."""


@dataclass(frozen=True)
class Material:
    """Conversations, and what there is to be learned of them."""

    phases: tuple[tuple[Exchange, ...], ...]
    """After each of them lessons are drawn and merged."""
    lessons: tuple[Planted, ...]
    widening: tuple[Trap, ...]
    """What a person said, and has to approve of."""
    poison: tuple[Trap, ...]
    distractors: tuple[Trap, ...]
    secrets: tuple[Secret, ...]


_DENIES = re.compile(r"\b(?:not|no longer|cancel\w*|ended|stopped|any ?more)\b")


def says(patterns: tuple[str, ...], line: str) -> bool:
    """Whether a line matches all of the patterns."""
    plain = normal(line)
    return all(_compiled(pattern).search(plain) for pattern in patterns)


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)

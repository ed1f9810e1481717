"""What is learned, as data. Texts are claims: of a container, or of a model that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["preference", "procedure", "decision", "environment", "failure", "correction"]
"""The kinds of lasting lessons. `environment`: a fact about the environment; `failure`: a lesson
from one."""

FROM_PERSONS: frozenset[Kind] = frozenset({"preference", "correction"})
"""Kinds that only a person's message proves."""

Source = Literal["person", "message", "agent", "tool"]
"""Who speaks for it, the strongest first. `message`: one of the queue."""

STRONGEST_FIRST: tuple[Source, ...] = get_args(Source)

CandidateState = Literal["waiting", "held", "merged", "left"]
"""`held`: until a person approves; `left`: taken up by no lesson."""


@dataclass(frozen=True)
class Evidence:
    """A message that proves a candidate."""

    thread: str
    """The thread's key."""
    turn: int | None
    message: int
    """Its number in what was said."""
    source: Source
    at: int
    """Nanoseconds since 1970."""


@dataclass(frozen=True)
class Candidate:
    """What one extraction found, before it is merged."""

    id: str
    """`c` and 8 hexadecimal digits."""
    kind: Kind
    text: str
    topic: str
    source: Source
    """The strongest of its evidence."""
    evidence: tuple[Evidence, ...]
    found: float
    """Seconds since 1970."""
    state: CandidateState = "waiting"
    why: str = ""
    """Why it is held, or was left."""
    lesson: str = ""
    """Into which it was merged."""
    approved: bool = False
    """A person let it pass."""

    @property
    def said(self) -> int:
        """When its newest evidence was said, in nanoseconds since 1970."""
        return max((e.at for e in self.evidence), default=0)


@dataclass(frozen=True)
class Lesson:
    """A line of `MEMORY.md`: `- text ^id`."""

    id: str
    """7 hexadecimal digits, not only decimal ones."""
    section: str
    """The heading under which it stands."""
    text: str
    kind: Kind
    source: Source
    learned: float
    """Seconds since 1970; so are the next two."""
    confirmed: float
    changed: float
    said: int
    """Nanoseconds since 1970: what speaks for its present text. Older evidence changes it not."""
    confirmations: int = 0
    by: Literal["pannier", "person"] = "pannier"
    """Whose words they are: a person may have edited the line."""
    candidates: tuple[str, ...] = ()
    """What it was made from, the newest last."""

"""What `learning.db` gives back and is given, beside lessons and candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProposalState = Literal["writing", "waiting"]
"""`writing`: its files are being written; `waiting`: for a person."""
EVERYTHING = (1 << 63) - 1
"""A thread that was read up to here is read no more: it was deleted."""


@dataclass(frozen=True)
class GroupMark:
    """How far a group is."""

    counted: int = 0
    """The number of the last successful turn that was counted."""
    compacted: int = 0
    """The message of the last compaction that was answered."""
    memory: str = ""
    """SHA-256 of MEMORY.md as it was last written or read; "" : there was none."""


@dataclass(frozen=True)
class ThreadMark:
    """How far a thread was read, and what it is about."""

    thread: str
    """Its key."""
    name: str
    upto: int
    """The last message that was read."""
    active: int
    """When something was said last, in nanoseconds since 1970."""
    summary: str = ""
    summarized: float = 0.0
    """Seconds since 1970."""


@dataclass(frozen=True)
class Proposal:
    """A consolidation that was decided, and is not done."""

    id: int
    grp: str
    made: float
    state: ProposalState
    body: str
    """JSON."""


@dataclass(frozen=True)
class Gone:
    """Of a lesson that left the memory."""

    at: float
    why: str


ASIDE = "aside:"
"""Begins the work of a failure for which a piece was set aside."""


@dataclass(frozen=True)
class Try:
    """Work that failed, or waits."""

    grp: str
    work: str
    """extract or consolidate, with what it is about behind it where that matters."""
    count: int
    """How often in a row."""
    at: float
    not_before: float
    """When it may be tried again, in seconds since 1970; infinite: not by time alone."""
    kind: str
    why: str
    model: str = ""
    """Of what was set aside: which model did not manage it, and where."""


@dataclass(frozen=True)
class Spent:
    """What was used in a day."""

    calls: int = 0
    input: int = 0
    """Tokens."""
    output: int = 0

    @property
    def tokens(self) -> int:
        return self.input + self.output


@dataclass(frozen=True)
class Report:
    """What a piece of work came to."""

    id: int
    grp: str
    work: str
    at: float
    body: str
    """JSON."""

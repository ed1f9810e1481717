"""What the database gives back. Times are nanoseconds since 1970, texts claims of the container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

MAIN = "main"
"""The thread that is meant when none is named."""


@dataclass(frozen=True)
class _Row:
    """What the four have in common: they are made of a line of an answer, in their order."""

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """SQLite has no truth values: it gives 0 and 1."""
        return cls(
            *(
                bool(value) if field.type == "bool" else value
                for field, value in zip(fields(cls), values, strict=True)
            )
        )


@dataclass(frozen=True)
class ThreadRow(_Row):
    """One conversation of a group."""

    id: int
    grp: str
    name: str
    key: str
    """8 hexadecimal digits that name it for ever, whatever others are called."""
    created: int
    head: int | None
    """The message that it stands at; None: it is empty, or was rolled back to its beginning."""
    messages: int
    """On all branches, with those of sub-agents."""
    turns: int
    """Those that count: neither inner ones nor ones of background tasks."""
    last: int
    """When the newest message was said; 0 if there is none."""

    @property
    def ref(self) -> str:
        """How people call it."""
        return f"{self.grp}/{self.name}"


@dataclass(frozen=True)
class SessionRow(_Row):
    """What the client calls a session."""

    id: int
    client: str
    session: str
    thread: int
    """The one that it spoke in last."""
    source: str
    """Why it began, in the client's words; "" if that is not known."""
    began: int
    last_message: int | None


@dataclass(frozen=True)
class TurnRow(_Row):
    """From a person's message to the agent's stop."""

    id: int
    thread: int
    session: int
    key: str
    began: int
    ended: int
    """0: it goes on."""
    outcome: str
    """succeeded, failed or interrupted; "" while it goes on."""
    reason: str
    inner: str
    """The sub-agent or side conversation whose it is; "" is the main conversation."""
    task: bool
    """Of background work."""
    input: int
    """Tokens, without those read from a cache or written to it."""
    output: int
    cache_read: int
    cache_write: int

    @property
    def counts(self) -> bool:
        """Whether it is one between a person and the agent."""
        return not self.inner and not self.task


@dataclass(frozen=True)
class PlaceRow(_Row):
    """A message of a branch, without what was said."""

    id: int
    session: int
    turn: int | None
    kind: str


@dataclass(frozen=True)
class ReportRow(_Row):
    """What an agent said last that its model would be sent."""

    at: int
    turn: int | None
    report: str
    """JSON, as `pannier.threads.report` has it."""


@dataclass(frozen=True)
class UsageRow(_Row):
    """What a model call cost, in tokens."""

    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int


@dataclass(frozen=True)
class MessageRow(_Row):
    """Something that was said or done. The words are those of `clients.transcript`."""

    id: int
    thread: int
    session: int
    turn: int | None
    parent: int | None
    key: str
    position: int
    at: int
    role: str
    kind: str
    text: str
    tool: str
    call: str
    model: str
    failed: bool
    inner: str

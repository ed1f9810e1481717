"""What a client's transcript says, in words that are the same for all clients.

A client's module reads its own records into these; `threads` stores them. Everything here is a
claim of the container.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pannier_hook.events import Event

Role = Literal["person", "agent", "tool", "client", "pannier"]
"""Who speaks. `client`: the program itself added it; `pannier`: we injected it."""

Kind = Literal["text", "thinking", "call", "result", "memory", "message", "compaction", "raw"]
"""`memory`: the injected block. `message`: one of the queue's, which is not a person's word.
`compaction`: the summary that stands for what came before it. `raw`: a record of a kind that we
do not know, as it is."""

Outcome = Literal["succeeded", "failed", "interrupted"]


@dataclass(frozen=True)
class Line:
    """One record of a transcript, as the client wrote it."""

    log: str
    """Which file: its path below HOME."""
    offset: int
    """Of its first byte in that file."""
    data: bytes
    """Without the newline."""


@dataclass(frozen=True)
class After:
    """The message with this key."""

    key: str


@dataclass(frozen=True)
class Before:
    """The message of a session that was said last of those whose position is less than this one."""

    session: str
    position: int


Place = After | Before
"""Where in what was said before. One that the store does not know counts as not named."""


@dataclass(frozen=True)
class Message:
    """Something that was said or done, once."""

    key: str
    """Its own among all of this client in this group: a second one with this key adds nothing."""
    role: Role
    kind: Kind
    text: str
    """Of a call its arguments, as JSON."""
    at: int = 0
    """Nanoseconds since 1970; 0: when the event was."""
    parent: Place | None = None
    """None: what this session said last; at its beginning, the thread's head."""
    position: int = 0
    """Grows within the session."""
    call: str = ""
    """Pairs a call and its result."""
    tool: str = ""
    model: str = ""
    failed: bool = False
    """Of a result: the tool failed."""
    inner: str = ""
    """The sub-agent or side conversation that it belongs to; "" is the main conversation."""


ASKED_ITSELF = "client"
"""`inner` of a turn in the main conversation that no person began: the client asked itself, say
because a background task was done. Its messages have `inner` ""."""


@dataclass(frozen=True)
class TurnBegins:
    """What follows belongs to a turn, until it ends or the next one begins."""

    key: str
    """Its own among all of this client in this group, as a message's: a second one with this key is
    the same turn (a fork that copies records begins no new one)."""
    at: int = 0
    inner: str = ""
    """Not a person's turn: of a sub-agent, or of what the client asked itself."""


@dataclass(frozen=True)
class TurnEnds:
    """The open turn of this session (with `inner`: of that sub-agent) is over.

    Once it has an outcome, a later one changes it only from `succeeded`, or when it was taken for
    broken off.
    """

    outcome: Outcome
    at: int = 0
    reason: str = ""
    inner: str = ""


@dataclass(frozen=True)
class Usage:
    """What one model call cost, in tokens; it belongs to the open turn."""

    key: str
    """A second one with this key (of this client in this group) replaces the first: clients say it
    again as an answer grows, and copy it into a fork."""
    model: str = ""
    input: int = 0
    """Without those read from a cache."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    inner: str = ""


@dataclass(frozen=True)
class HeadMoves:
    """The client went back (a rewind): what comes next goes on from there."""

    to: Place | None
    """None: to the beginning."""


Entry = Message | TurnBegins | TurnEnds | Usage | HeadMoves

State = Mapping[str, Any]
"""What a reader remembers of a session from one hand-over to the next, as JSON; {} at first."""


@dataclass(frozen=True)
class Reading:
    """What an event and its records say, in order."""

    entries: tuple[Entry, ...] = ()
    state: State = field(default_factory=dict)


Reader = Callable[[Event, Sequence[Line], State], Reading]
"""Pure. Never raises for what stands in a record: what it cannot read is kept as `raw`.

The same records again, with whatever state, give the same keys: a hand-over may be repeated, and a
transcript may be handed over from its beginning again.
"""

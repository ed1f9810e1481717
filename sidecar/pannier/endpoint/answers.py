"""What the scripted model does with a request: it answers, or it misbehaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Say:
    """A text, and the end of the turn."""

    text: str
    input_tokens: int | None = None
    """What the usage report says about the request; by default a quarter of its characters."""
    cut_short: bool = False
    """The model had no more room for its answer, and says so."""


@dataclass(frozen=True)
class Call:
    """A tool call. It waits for a request that offers a tool of this name.

    Requests that offer no such tool (titles, topics) get a plain `ok` and use nothing up.
    """

    name: str
    arguments: Mapping[str, object] | str
    """A text is the input of a free-form tool, such as Codex's `apply_patch`."""
    input_tokens: int | None = None
    cut_short: bool = False


@dataclass(frozen=True)
class Fill:
    """An answer in the form that the request demands (`Request.form`): the call of its tool, or a
    text of JSON; a text of JSON also where no form is demanded."""

    data: Mapping[str, object] | str
    """A text goes out as it is: so one that is no JSON, or that fits no schema."""
    input_tokens: int | None = None
    cut_short: bool = False


@dataclass(frozen=True)
class Fail:
    """An HTTP error in the dialect's own form."""

    status: int
    message: str = "scripted failure"
    retry_after: int | None = None
    """Seconds, for the `Retry-After` header."""


@dataclass(frozen=True)
class Late:
    """A right answer that takes its time."""

    seconds: float
    answer: Say | Call | Fill = field(default=Say("ok"))


@dataclass(frozen=True)
class Cut:
    """The connection breaks in the middle of the answer."""

    answer: Say | Call | Fill = field(default=Say("ok"))


@dataclass(frozen=True)
class Garbled:
    """Status 200, and a body that is not of the protocol."""


@dataclass(frozen=True)
class Moved:
    """A redirect that asks to send the same request elsewhere."""

    to: str
    """A URL."""


Answer = Say | Call | Fill | Fail | Late | Cut | Garbled | Moved

OK = Say("ok")


def tool_of(answer: Answer) -> str | None:
    """The tool that a request must offer to get this answer, or None."""
    if isinstance(answer, Late | Cut):
        answer = answer.answer
    return answer.name if isinstance(answer, Call) else None

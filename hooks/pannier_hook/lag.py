"""A transcript that is written a moment behind: at the stop, the last answer is not in it yet."""

from __future__ import annotations

import posix
import time

from .increment import read_increment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cursor import Cursor
    from .increment import Budget, Increment

PATIENCE = 0.3
"""Seconds that the answer is waited for."""
_PAUSE = 0.02
_LONGEST = 200


def with_answer(
    said: str, log: int, old: Cursor | None, increment: Increment, budget: Budget
) -> Increment:
    """The increment of the transcript `log` after the cursor `old` with the answer `said`, if that
    comes soon; else as it is. Raises OSError."""
    trace = _trace(said)
    until = min(time.monotonic() + PATIENCE, budget.until) if trace else 0.0
    while not _holds(increment.data, trace) and not increment.more and time.monotonic() < until:
        time.sleep(_PAUSE)
        if posix.fstat(log).st_size > increment.offset + len(increment.data):
            increment = read_increment(log, old, budget)
    return increment


def _holds(data: bytes, trace: bytes) -> bool:
    """Whether the answer stands after what was asked last, as Claude Code writes it."""
    asked = data.rfind(b'"type":"user"')
    begin = data.find(b'"type":"assistant"', asked) if asked >= 0 else 0
    return begin >= 0 and data.find(trace, max(asked, 0)) >= 0


def _trace(text: str) -> bytes:
    """A stretch of a text that stands in JSON as it is."""
    for escaped in '"\\\n\r\t':
        text = text.replace(escaped, "\0")
    return max(text.split("\0"), key=len)[:_LONGEST].encode("utf-8", "replace")

"""What a transcript of Gemini CLI says of the context that the next prompt is added to.

The file is a log: lines are messages, or `{"$set":{"messages":[…]}}`, which replaces all of them.
The client writes such a line when a turn failed or was cancelled (its prompt is gone, with what a
hook added to it), at a compression, and at a resume. Only of the last a hook is told.
"""

from __future__ import annotations

import posix
from _stat import S_ISREG

LIMIT = 1 << 24
"""The most that is read of a transcript's end, in bytes."""

_REPLACED = b'{"$set":{"messages":'
# A text part that a hook added, with our first line. Quotes inside of texts are escaped, so no
# quoted or printed text looks like this.
_BLOCK = b'{"text":"<hook_context>-----BEGIN PANNIER MEMORY '
_ANSWER = b'"type":"gemini"'


class Past:
    """`holds`: the memory is in the context; `answered`: the model has said something in it.
    `size` is the transcript's, in bytes."""

    __slots__ = ("answered", "holds", "size")

    def __init__(self, *, holds: bool, answered: bool, size: int) -> None:
        self.holds = holds
        self.answered = answered
        self.size = size


def read_past(path: str) -> Past | None:
    """The past that the transcript at `path` tells of; None when it cannot be known."""
    flags = posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
    try:
        log = posix.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        status = posix.fstat(log)
        if not S_ISREG(status.st_mode):
            return None
        start = max(0, status.st_size - LIMIT)
        return judge(_from(log, start), whole=start == 0, size=status.st_size)
    except OSError:
        return None
    finally:
        posix.close(log)


def judge(log: bytes, *, whole: bool, size: int) -> Past | None:
    """As `read_past`, for the end of a transcript of `size` bytes, which may be the whole."""
    replaced = log.rfind(b"\n" + _REPLACED) + 1
    reaches_back = whole or replaced > 0
    counted = log[replaced:]
    holds = _BLOCK in counted
    if not (holds or reaches_back):
        return None
    return Past(holds=holds, answered=_ANSWER in counted, size=size)


def _from(log: int, start: int) -> bytes:
    posix.lseek(log, start, 0)
    data = bytearray()
    while len(data) <= LIMIT:
        chunk = posix.read(log, 1 << 20)
        if not chunk:
            break
        data += chunk
    return bytes(data)

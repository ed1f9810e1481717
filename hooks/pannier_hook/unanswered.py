"""Whether a turn of Gemini CLI ends without an answer: it calls its hooks after one that was
cancelled, too, and says nothing of that to them. Its log of messages has the answer by then.

What such a turn went on with would be lost: the client goes on with a request that is cancelled.
"""

from __future__ import annotations

from .increment import last_lines

LIMIT = 1 << 22
"""The most that is read of a log's end, in bytes."""

_TYPE = b'"type":"'
_CALLS = b'"toolCalls":['


def is_unanswered(path: str) -> bool:
    """Whether the log at `path` ends with something other than an answer of the model's: with a
    prompt, or with calls and results. False when it cannot be known."""
    for line in reversed(last_lines(path, LIMIT)):
        kind = _kind(line)
        if kind == b"gemini":
            return _CALLS in line
        if kind == b"user":
            return True
    return False


def _kind(line: bytes) -> bytes:
    """What kind of message a line holds; it stands before its content. b"" if it holds none."""
    if not line.startswith(b'{"id":'):
        return b""
    begin = line.find(_TYPE) + len(_TYPE)
    return line[begin : line.find(b'"', begin)]

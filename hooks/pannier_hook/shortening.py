"""JSON as it comes in, with its long strings shortened: what stands behind them is kept, too.

Nothing is parsed here, and a piece costs a few searches in C, however many strings it holds.
"""

from __future__ import annotations

MARK = "\\u2026"
"""What ends a string that was shortened: an ellipsis, in JSON."""
_ESCAPE = 6
"""Characters of the longest escape; what needs two of them is one character."""


class Shortener:
    """Takes the text of a JSON object piece by piece."""

    __slots__ = ("_inside", "_length", "_limit", "_split")

    def __init__(self, limit: int) -> None:
        """`limit`: the most that is kept of a string, in characters as they stand in the JSON. It
        has to be more than a piece."""
        self._limit = limit
        self._inside = False
        self._length = 0
        self._split = ""

    def feed(self, piece: str) -> str:
        """What is kept of the next `piece`. An escape that it splits comes with the one after."""
        text = self._split + piece
        # Every quote that is left begins or ends a string; lengths stay as they are.
        plain = text.replace("\\\\", "\\_").replace('\\"', "\\_")
        end = _whole(plain, len(plain))
        text, plain, self._split = text[:end], plain[:end], text[end:]
        if not self._inside:
            return self._skim(text, plain)
        stop = plain.find('"')
        if stop < 0:
            return self._more(text, plain)
        return self._more(text[:stop], plain) + self._skim(text[stop:], plain[stop:])

    def _skim(self, text: str, plain: str) -> str:
        """All of `text`: no string that begins in it is longer than the limit yet."""
        self._inside ^= bool(plain.count('"') & 1)
        self._length = len(plain) - plain.rfind('"') - 1
        return text

    def _more(self, text: str, plain: str) -> str:
        """What is kept of `text` when it goes on with a string."""
        room = self._limit - self._length
        self._length += len(text)
        if len(text) <= room:
            return text
        return text[: _whole(plain, room)] + MARK if room >= 0 else ""


def _whole(plain: str, end: int) -> int:
    """The last place up to `end` that splits no escape, and no character that has two of them."""
    start = plain.rfind("\\", max(0, end - _ESCAPE), end)
    if start >= 0 and start + (_ESCAPE if plain.startswith("u", start + 1) else 2) > end:
        end = start
    high = plain[max(0, end - _ESCAPE) : end].lower()
    return end - _ESCAPE if high.startswith(("\\ud8", "\\ud9", "\\uda", "\\udb")) else end

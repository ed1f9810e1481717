"""A text without its disguise: what it says to somebody who looks at it.

Web pages and PDF files put characters into words that nobody sees, and whoever wants to hide a
secret from a search does so on purpose, or takes letters that look alike.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

VOICED = "\u3099\u309a"
"""The marks of Japanese letters: they are kept, another word is meant without them."""
ALIKE = str.maketrans(
    "аеорсхуіѕјһԁԛԝɡктвнмοανρτικχυıＡАВЕКМНОРСТХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧ’‘ʼ＇´“”„«»‐‑‒–—−⁃﹘",
    "aeopcxyisjhdqwgktbhmoavptikxyiAABEKMHOPCTXISJABEZHIKMNOPTYX'''''\"\"\"\"\"--------",
)
"""Letters of other scripts that look like Latin ones, and the many quotes and dashes."""

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"})
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are empty."""
_LONGEST = 3
"""Characters that one may stand for; there are single ones that stand for eighteen."""


def is_unseen(char: str) -> bool:
    """Whether a character shows nothing by itself: invisible ones, and accents."""
    if char in VOICED or char.isspace():
        return False
    return char in _FILLERS or unicodedata.category(char) in _UNSEEN


@dataclass(frozen=True)
class Reading:
    """A text as it is read, and where each piece of it stands in the text itself."""

    text: str
    _starts: tuple[int, ...]
    """Of each piece, in the reading."""
    _places: tuple[tuple[int, int], ...]
    """Of each piece, in the text: from, to."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text itself stands what is read from `start` to `end`."""
        return self._of(start), self._of(end - 1) + 1

    def _of(self, at: int) -> int:
        piece = bisect_right(self._starts, at) - 1
        begin, end = self._places[piece]
        return min(begin + at - self._starts[piece], end - 1)


_PLAIN = "\t\n\r -~"
_DISGUISE = re.compile(rf"[^{_PLAIN}]")
_PIECE = re.compile(rf"[{_PLAIN}]+|[^{_PLAIN}]")


def undisguised(text: str) -> Reading | None:
    """The text as it is read, if that differs from how it is written."""
    if not _DISGUISE.search(text):
        return None
    read, starts, places, length = [], [], [], 0
    for piece in _PIECE.finditer(text):
        seen = piece[0] if " " <= piece[0][0] <= "~" or piece[0][0] in "\t\n\r" else _seen(piece[0])
        if seen:
            read.append(seen)
            starts.append(length)
            places.append(piece.span())
            length += len(seen)
    reading = "".join(read)
    return Reading(reading, tuple(starts), tuple(places)) if reading != text else None


@lru_cache(maxsize=4_096)
def _seen(char: str) -> str:
    if is_unseen(char):
        return ""
    plain = unicodedata.normalize("NFKC", char)
    return (plain if len(plain) <= _LONGEST else char).translate(ALIKE)

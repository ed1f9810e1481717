"""Where in a message a search finds its words. Pure.

The index folds case and accents; so does this. Which places are marked is a help to the eye, and
not what decides about a hit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pannier.threads.excerpt import excerpt

_PIECE = re.compile(r'"([^"]*)"?|(\S+)')
_LOOKED_AT = 100_000
"""Characters of a text that are looked at."""
_NEAR = 4_096
"""How far around a place is looked for secrets."""


@dataclass(frozen=True)
class Snippet:
    """A piece of a text as one line, and the places in it that were looked for."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    """Begin and end of each place, in characters."""


def snippet(text: str, query: str, width: int = 160) -> Snippet:
    """About `width` characters around the first place where the query's words stand.

    Likely secrets are masked.
    """
    line = " ".join(excerpt(_around(text[:_LOOKED_AT], query)).text.split())
    places = _places(line, query)
    begin = max(0, places[0][0] - width // 3) if places else 0
    begin = _word_begin(line, begin)
    end = begin + width
    before, after = "…" * (begin > 0), "…" * (end < len(line))
    shift = len(before) - begin
    marks = tuple((b + shift, min(e, end) + shift) for b, e in places if begin <= b < end)
    return Snippet(before + line[begin:end] + after, marks)


def _around(text: str, query: str) -> str:
    """The part of a long text in which the words stand, and enough to tell a secret near them."""
    if len(text) <= 2 * _NEAR:
        return text
    places = _places(text, query)
    first = places[0][0] if places else 0
    return text[max(0, first - _NEAR) : first + _NEAR]


def _word_begin(line: str, at: int) -> int:
    """Not in the middle of a word, if there is a space near."""
    space = line.find(" ", at, at + 20)
    return space + 1 if at and space >= 0 else at


def _places(line: str, query: str) -> list[tuple[int, int]]:
    folded, origin = _fold(line)
    words = [
        _fold(" ".join((p or w).replace('"', " ").split()))[0] for p, w in _PIECE.findall(query)
    ]
    found: list[tuple[int, int]] = []
    for word in filter(None, (word.rstrip("*").strip() for word in words)):
        # CJK characters stand without spaces; other words begin where a word begins.
        before = r"(?<!\w)" if word[0].isascii() and word[0].isalnum() else ""
        pattern = before + r"\s+".join(map(re.escape, word.split()))
        for match in re.finditer(pattern, folded):
            found.append((origin[match.start()], origin[match.end() - 1] + 1))
    return _merged(found)


def _merged(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(places):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """Without case and accents, and for each character which one of `text` it comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded, origin = [], []
    for at, character in enumerate(text):
        for part in unicodedata.normalize("NFKD", character).casefold():
            if not unicodedata.combining(part):
                folded.append(part)
                origin.append(at)
    return "".join(folded), origin

"""Secrets in text: where they are, and the text without them. Pure; looks nothing up anywhere.

An agent brings texts of any size and form here, so whatever is looked for takes time in proportion
to the text. A pattern may have no two unbounded pieces side by side, and none unbounded in which
it could begin anew after it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pannier.redaction.formats import formatted
from pannier.redaction.named import named
from pannier.redaction.reading import undisguised
from pannier.redaction.secret import Secret
from pannier.redaction.spoken import spoken

__all__ = ["Secret", "find", "mask"]


def find(text: str) -> tuple[Secret, ...]:
    """The likely secrets in `text`, in order; none overlaps another. Also those that are written
    with characters that nobody sees, or with others that look alike."""
    found = [*_read(text)]
    if reading := undisguised(text):
        found += (Secret(*reading.place(s.start, s.end), s.kind) for s in _read(reading.text))
    return _merged(found)


def mask(text: str) -> str:
    """The text with each likely secret replaced by its kind: `[api key removed]`."""
    pieces, end = [], 0
    for secret in find(text):
        pieces += [text[end : secret.start], f"[{secret.kind} removed]"]
        end = secret.end
    return "".join((*pieces, text[end:]))


def _read(text: str) -> Iterator[Secret]:
    yield from formatted(text)
    yield from named(text)
    yield from spoken(text)


def _merged(found: Iterable[Secret]) -> tuple[Secret, ...]:
    merged: list[Secret] = []
    for secret in sorted(found, key=lambda s: (s.start, -s.end, s.kind)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            merged.append(secret)
    return tuple(merged)

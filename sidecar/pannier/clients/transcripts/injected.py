"""What pannier itself put into a text that the model was shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pannier.clients.transcript import Kind
from pannier_hook.messages import split_messages
from pannier_hook.unframing import read_back

_MEMORY = "-----BEGIN PANNIER MEMORY "
_MESSAGE = "-----BEGIN PANNIER MESSAGE "
_MOST = 100
"""Frames in one text. One with more of them is nobody's but an imitator's, and left whole."""


@dataclass(frozen=True)
class Piece:
    """A part of a text. `kind` is `memory` or `message` when pannier injected it, else `text`."""

    kind: Kind
    text: str


def pieces(text: str) -> tuple[Piece, ...]:
    """The text in pieces, in its order; what is blank between them is left out.

    Anybody can write such a frame, so that a piece is injected is a claim, too.
    """
    frames = sorted(_frames(text))
    found = []
    at = 0
    for start, end, kind in frames:
        if start < at:
            continue
        found += [Piece("text", text[at:start].strip()), Piece(kind, text[start:end])]
        at = end
    found.append(Piece("text", text[at:].strip() if at else text))
    return tuple(piece for piece in found if piece.text.strip())


def _frames(text: str) -> Iterator[tuple[int, int, Kind]]:
    if 0 < text.count(_MEMORY) <= _MOST:
        for part in read_back(text).parts:
            yield part.start, part.end, "memory"
    if 0 < text.count(_MESSAGE) <= _MOST:
        at = 0
        for piece in split_messages(text):
            if piece.id:
                yield at, at + len(piece.text), "message"
            at += len(piece.text)

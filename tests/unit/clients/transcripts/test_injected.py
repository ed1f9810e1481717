"""Telling apart what pannier injected and what else stands in a text."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from pannier.clients.transcripts.injected import Piece, pieces
from pannier_hook.framing import FILES, Frame, Section, render
from pannier_hook.messages import Message, frame

[MEMORY] = render([Section(FILES[0], "The mug is blue.\n")], Frame("/m", "0" * 16))
QUEUED = frame(Message("0123456789abcdef", "The bus leaves at six.", at=1))


def test_between_other_texts() -> None:
    """Blocks are cut out whole, in order; the rest stays, without blanks around it."""
    assert pieces(f"before\n{MEMORY}\n\n{QUEUED} after {MEMORY}") == (
        Piece("text", "before"),
        Piece("memory", MEMORY),
        Piece("message", QUEUED),
        Piece("text", "after"),
        Piece("memory", MEMORY),
    )


def test_within_each_other() -> None:
    """A message that stands in a memory file is memory, and the other way round."""
    [within] = render([Section(FILES[0], f"{QUEUED}\n")], Frame("/m", "1" * 16))
    around = frame(Message("0123456789abcdef", MEMORY, at=1))
    assert pieces(within) == (Piece("memory", within),)
    assert pieces(around) == (Piece("message", around),)


@given(st.text())
def test_text_alone(text: str) -> None:
    """A text without a block is one piece, as it is; a blank one is none."""
    assert pieces(text) == ((Piece("text", text),) if text.strip() else ())


def test_many_imitations() -> None:
    """A text full of beginnings costs no more than reading it."""
    begun = time.process_time()
    text = "-----BEGIN PANNIER MEMORY 0123456789abcdef-----\n" * 100_000
    assert pieces(text) == (Piece("text", text),)
    assert time.process_time() - begun < 1

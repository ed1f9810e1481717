"""Text of an agent's making, as a person's terminal gets it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pannier.shown import brief, shown

ANY = st.text(st.characters(exclude_categories=()))


@given(ANY)
def test_whatever_it_holds_it_is_one_line_that_can_be_encoded(text: str) -> None:
    """Nothing that a terminal would obey, and no lone surrogate."""
    assert shown(text).isprintable()
    shown(text).encode()


@given(ANY, st.integers(1, 50))
def test_a_brief_text_has_a_bound(text: str, limit: int) -> None:
    """Cut after `limit` characters, which says so; an escape is ten at most."""
    told = brief(text, limit)
    assert told.isprintable()
    assert len(told) <= 10 * limit + 1


def test_what_is_printable_stays() -> None:
    """An escape stands where the character stood."""
    assert shown("größe \x1b[2J\u202e\ud800") == "größe \\x1b[2J\\u202e\\ud800"
    assert brief("a\r\nok  b", 10) == "a ok b"
    assert brief("a" * 11, 10) == "a" * 10 + "…"

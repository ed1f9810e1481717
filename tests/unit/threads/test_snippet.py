"""Where a search found its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.threads.snippet import snippet


def marked(text: str, query: str, width: int = 160) -> list[str]:
    found = snippet(text, query, width)
    return [found.text[begin:end] for begin, end in found.marks]


@pytest.mark.parametrize(
    ("text", "query", "places"),
    [
        ("Read the Plan, and the plan's end", "plan", ["Plan", "plan"]),
        ("the release checklist", '"release checklist"', ["release checklist"]),
        ("a Café in Köln", "cafe koln", ["Café", "Köln"]),
        ("replan", "plan", []),
        ("planning", "plan*", ["plan"]),
        ("東京の天気です", "天気", ["天気"]),
        ("ﬁne, İstanbul", "fine", ["ﬁne"]),
        ("nothing", '"', []),
        ("a.b(c", "b(c", ["b(c"]),
    ],
)
def test_marks_what_was_looked_for(text: str, query: str, places: list[str]) -> None:
    """Without regard to case and accents, and where a word begins."""
    assert marked(text, query) == places


def test_shows_the_words_in_a_long_text() -> None:
    """As one line, with a mark where it was cut."""
    found = snippet("x " * 500 + "here\nis the needle " + "y " * 500, "needle", 80)
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert "here is the needle" in found.text
    assert len(found.text) <= 82


def test_no_secret_is_in_a_snippet() -> None:
    """Also when the query is a part of it."""
    secret = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"
    assert "Zx9Q" not in snippet(f"token {secret}", "ghp").text


@given(st.text(max_size=300), st.text(max_size=20), st.integers(1, 60))
def test_marks_lie_in_the_text(text: str, query: str, width: int) -> None:
    """In order, not one over another, whatever stands in text and query."""
    found = snippet(text, query, width)
    at = 0
    for begin, end in found.marks:
        assert at <= begin < end <= len(found.text)
        at = end
    assert len(found.text) <= width + 2

"""Lines of ours that no text can forge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pannier.learning.models.marker import Marker, instructions, marker_for


@given(st.lists(st.text("0aA1 \n[]", max_size=12), max_size=5))
def test_a_mark_occurs_in_no_text(texts: list[str]) -> None:
    """It is made anew until no text holds it, in whatever case; also where two of them meet."""
    tries = iter(["0", "a", "1", "0a", "a1", "zz"])
    mark = marker_for(texts, lambda: next(tries))
    assert not any(mark.token in text.casefold() for text in texts)


def test_marks_differ() -> None:
    """Nobody can know one beforehand."""
    assert len({marker_for([]).token for _ in range(100)}) == 100


def test_the_prompt_names_the_mark() -> None:
    """Our instructions say how our lines begin, and have no other place to fill."""
    told = instructions("extraction", Marker("0a1b2c3d"))
    assert "`[0a1b2c3d `" in told
    assert "{" not in told

"""Where links lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.memory.links import Elsewhere, resolve


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("b.md", "people/b.md"),
        ("../index.md", "index.md"),
        ("/a/./b//c.md", "a/b/c.md"),
        ("%ff.md", "people/\udcff.md"),
        ("a%0Ab.md", "people/a\nb.md"),
        ("100%.md", "people/100%.md"),
        ("..", ""),
        ("../..", Elsewhere.OUTSIDE),
        ("../../memory/x.md", "x.md"),
        ("../../memory-2/x.md", Elsewhere.OUTSIDE),
        ("/../x.md", Elsewhere.OUTSIDE),
        ("/home/agent/x", Elsewhere.OUTSIDE),
        ("/workspace/agent/memory", ""),
        ("", Elsewhere.NOT_A_PATH),
        ("#a", Elsewhere.NOT_A_PATH),
        ("?q", Elsewhere.NOT_A_PATH),
        ("//host/x", Elsewhere.NOT_A_PATH),
        ("HTTPS://x", Elsewhere.NOT_A_PATH),
        ("javascript:x", Elsewhere.NOT_A_PATH),
    ],
)
def test_a_link_in_people_leads_to(target: str, place: str | Elsewhere) -> None:
    """Relative to its file, or from the root of the memory."""
    assert resolve("people/dana.md", target) == place


NAMES = st.text(min_size=1, max_size=5).filter(lambda name: "/" not in name and name.strip("."))


@given(
    st.lists(NAMES, min_size=1, max_size=4).map("/".join),
    st.text(alphabet="ab/.%2eF#?:", max_size=30),
)
def test_a_place_is_always_a_clean_path_below_the_root(source: str, target: str) -> None:
    """Whatever is written: no `..`, no empty name, so nothing can be looked up outside."""
    place = resolve(source, target)
    if isinstance(place, str) and place:
        assert not {"", ".", ".."} & set(place.split("/"))

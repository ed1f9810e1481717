"""Long strings of a JSON text are shortened as it comes in."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pannier_hook.shortening import Shortener

LIMIT = 40
PIECE = 16
TEXTS = st.text(st.sampled_from('ab\\"\n\x01é🙂{,'), max_size=60)
VALUES = st.recursive(
    TEXTS | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def shortened(text: str, sizes: list[int]) -> str:
    shortener, kept, at = Shortener(LIMIT), "", 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        kept += shortener.feed(text[at : at + size])
        at += size
    return kept


def agree(found: object, value: object, ascii_only: bool) -> None:
    """`found` is `value` but for its long strings, of which it has nearly all that is allowed."""
    if isinstance(value, list):
        assert isinstance(found, list)
        assert len(found) == len(value)
        for one, other in zip(found, value, strict=True):
            agree(one, other, ascii_only)
    elif isinstance(value, dict):
        assert isinstance(found, dict)
        assert len(found) == len(value)
        for one, other in zip(found.items(), value.items(), strict=True):
            agree(list(one), list(other), ascii_only)
    elif isinstance(value, str) and len(as_json(value, ascii_only)) - 2 > LIMIT:
        assert isinstance(found, str)
        assert found.endswith("…")
        assert value.startswith(found[:-1])
        assert LIMIT - 12 < len(as_json(found[:-1], ascii_only)) - 2 <= LIMIT
    else:
        assert found == value


def as_json(value: object, ascii_only: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii_only)


def distinct(value: object) -> bool:
    """Whether no two names of an object are the same when they are shortened."""
    if isinstance(value, list):
        return all(map(distinct, value))
    if isinstance(value, dict):
        names = {name[: LIMIT // 12 - 1] for name in value}
        return len(names) == len(value) and all(map(distinct, value.values()))
    return True


@given(
    VALUES.filter(distinct), st.lists(st.integers(1, PIECE), min_size=1, max_size=5), st.booleans()
)
def test_wherever_the_pieces_end(value: object, sizes: list[int], ascii_only: bool) -> None:
    """It stays JSON with everything in it; only a long string ends early, with an ellipsis."""
    agree(json.loads(shortened(as_json(value, ascii_only), sizes)), value, ascii_only)


@given(TEXTS, st.lists(st.integers(1, PIECE), min_size=1, max_size=5), st.booleans())
def test_one_long_string(text: str, sizes: list[int], ascii_only: bool) -> None:
    """No escape and no character is split."""
    text = text * 3
    agree(json.loads(shortened(as_json(text, ascii_only), sizes)), text, ascii_only)

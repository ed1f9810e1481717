"""What becomes of a file's bytes before a model sees them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook.reading import READ_LIMIT
from pannier_hook.textrules import clean, deliverable, one_line

CONTROLS = [chr(code) for code in (*range(32), *range(127, 160))]
EMBEDDINGS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def reference(raw: bytes) -> str:
    """The rules once more, as they are written down."""
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    return "".join(
        one
        for one in text
        if one in "\t\n" or (unicodedata.category(one) != "Cc" and one not in EMBEDDINGS)
    )


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_rules(raw: bytes) -> None:
    """Undecodable bytes, CRLF, controls and bidirectional overrides go; all else stays."""
    assert deliverable(raw, 16_000).text == reference(raw)


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    """Cleaning what is clean changes nothing."""
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize("character", [*CONTROLS, *EMBEDDINGS])
def test_each_forbidden_character_goes(character: str) -> None:
    """C0 but tab and newline, DEL, C1 and each bidirectional control are taken out."""
    stays = character if character in "\t\n" else ""
    assert clean(f"a{character}b") == f"a{stays}b"


def test_what_passes() -> None:
    """Joiners, marks, private use, byte order marks and line separators pass unchanged."""
    text = "a\u200d\u200c\u200e\u200f\u061c\ufeff\u2028\ue000\u0301\t\n👩‍👩‍👧"
    assert clean(text) == text


@given(st.integers(0, 12), st.sampled_from(["a", "ü", "世", "🙂", "\r\n", "\x00", "\u202e🙂"]))
def test_caps_count_code_points(cap: int, character: str) -> None:
    """The cap is in code points after the rules, and what is cut off is told."""
    raw = (character * 10).encode()
    whole = reference(raw)
    got = deliverable(raw, cap)
    assert got.text == whole[:cap]
    assert got.cut is (len(whole) > cap)


def test_exactly_the_cap_is_not_cut() -> None:
    """16,000 code points of four bytes each come whole; one more is cut."""
    assert deliverable("🙂".encode() * 16_000, 16_000).cut is False
    more = deliverable("🙂".encode() * 16_001, 16_000)
    assert (len(more.text), more.cut) == (16_000, True)


def test_what_is_not_looked_at_counts_as_cut() -> None:
    """A file longer than what is read counts as cut, however few characters remain of it."""
    zeros = deliverable(b"\0" * (READ_LIMIT + 1), 16_000)
    assert (zeros.text, zeros.cut) == ("", True)
    assert deliverable(b"\0" * READ_LIMIT, 16_000).cut is False


@given(st.integers(0, 3), st.sampled_from(["ü", "世", "🙂"]))
def test_limit_splits_no_character(before: int, character: str) -> None:
    """Where reading ends within a character, no replacement sign appears."""
    raw = b"\0" * 60_000 + b"a" * before + character.encode() * 10_000
    got = deliverable(raw[: READ_LIMIT + 1], 16_000)
    assert got.cut
    assert set(got.text) <= {"a", character}


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    """A message from outside becomes one bounded line."""
    assert "\n" not in one_line(text + "\udc80\n", 20)
    assert len(one_line(text, 20)) <= 20

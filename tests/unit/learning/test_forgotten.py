"""What was forgotten is known again by digests, in the same and in nearly the same words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.learning.things import SECOND, proof

from pannier.learning.guards.forgotten import (
    NOTHING,
    Forgotten,
    has_words,
    holds,
    is_near,
    is_same,
    phrase_tombstone,
    thread_tombstone,
    time_tombstone,
    tombstones,
)
from pannier.learning.lessons import Evidence

RULE = "Quotes over $40k need the sign-off of Ann."


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (RULE, True),
        ("quotes over $40K need the sign-off of ANN", True),
        ("All quotes over $40k need the sign-off of Ann first.", True),
        ("The sign-off of Ann is what quotes over $40k need.", True),
        ("Quotes over $90k need the sign-off of Ann.", False),
        ("Quotes are written in French.", False),
        ("Ann", False),
        ("", False),
    ],
)
def test_nearly_the_same_is_known(text: str, near: bool) -> None:
    """More words, another order, other letters; but not another number, or another rule."""
    assert is_near(RULE, text) == near
    verdict = Forgotten.of(tombstones([RULE], [], 1.0)).verdict(text, [proof(7, at=1)])
    assert verdict == ("gone" if near else "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("报价超过四万美元需要签字", "所有报价超过四万美元都需要签字"),
        ("見積もりは必ず円で書く", "見積もりは必ず円で書くこと"),
    ],
)
def test_scripts_without_spaces_are_told_by_pairs(one: str, other: str) -> None:
    """As words are elsewhere."""
    assert is_near(one, other)
    assert not is_near(one, "完全不同的另一件事情")


def test_what_a_person_says_again_is_held() -> None:
    """Only what was said since; what others say again does not count."""
    forgotten = Forgotten.of(tombstones([RULE], [5], 10.0))
    assert forgotten.verdict(RULE, [proof(7, at=9 * SECOND)]) == "gone"
    assert forgotten.verdict(RULE, [proof(7, at=11 * SECOND)]) == "held"
    assert forgotten.verdict(RULE, [proof(7, "agent", at=11 * SECOND)]) == "gone"
    assert forgotten.verdict(RULE, []) == "gone"


def test_a_phrase_is_forgotten_wherever_it_stands() -> None:
    """As all that held it went: in another language, too, as far as its words are the same."""
    forgotten = Forgotten.of([phrase_tombstone("room zebra", 10.0)])
    for text in ("The zebra is in the ninth room.", "ZEBRA: room nine.", "Room of the Zebra"):
        assert forgotten.verdict(text, [proof(7, "agent", at=11 * SECOND)]) == "gone"
        assert forgotten.verdict(text, [proof(7, at=11 * SECOND)]) == "held"
    assert forgotten.verdict("The zebra eats ninety apples.", [proof(7, "agent")]) == ""


def test_nothing_is_learned_from_the_same_messages() -> None:
    """In whatever words; another message may prove something else."""
    forgotten = Forgotten.of(tombstones([RULE], [5, 6], 10.0))
    assert forgotten.verdict("Something else.", [proof(5), proof(6)]) == "gone"
    assert forgotten.verdict("Something else.", [proof(5), proof(8)]) == ""
    assert forgotten.hides("k1", 5, 0)
    assert not forgotten.hides("k1", 8, 0)


def test_a_thread_and_a_time_are_hidden() -> None:
    """Up to a message, and from one moment up to before another."""
    forgotten = Forgotten.of([thread_tombstone("k1", 9, 1.0), time_tombstone(50, 60, 1.0)])
    assert [forgotten.hides("k1", n, 0) for n in (9, 10)] == [True, False]
    assert [forgotten.hides("k2", 1, at) for at in (49, 50, 59, 60)] == [False, True, True, False]
    assert forgotten.verdict("Any text.", [Evidence("k1", 1, 9, "person", 0)]) == "gone"
    assert forgotten.verdict("Any text.", [Evidence("k2", 1, 9, "person", 0)]) == ""


def test_the_marks_tell_no_words() -> None:
    """Neither whole nor in pieces."""
    for mark in tombstones([RULE], [123456], 1.0):
        for word in (b"uotes", b"40k", b"sign", b"Ann", b"ann", b"123456"):
            assert word not in mark.digest


@given(st.text(max_size=200))
def test_every_text_is_known_again(text: str) -> None:
    """Whatever it is, as long as there are words in it."""
    assert is_same(text, text)
    forgotten = Forgotten.of(tombstones([text], [], 1.0))
    if has_words(text):
        assert is_near(text, text)
        assert holds(f"Before. {text} Behind.", text)
        assert forgotten.verdict(text, []) == "gone"
    assert NOTHING.verdict(text, [proof(1)]) == ""

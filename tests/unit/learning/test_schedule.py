"""What is due, and when, by the seed's table: "When does memory update?"."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.learning.store.books import DAY
from pannier.learning.store.rows import Try
from pannier.learning.work.schedule import (
    FIRST_PAUSE,
    LATER,
    LONGEST_PAUSE,
    Due,
    Standing,
    compaction_is_over,
    due,
    failed,
    not_before,
    rest,
    wish_is_over,
)
from pannier.settings import LearningSettings

HOUR = 3_600.0
NOW = 1_000 * HOUR
MODEL = LearningSettings(model="scripted:m")


def group(settings: LearningSettings = MODEL, **more: Any) -> Standing:
    return Standing(settings, last=NOW, **more)


def work(standing: Standing, now: float = NOW) -> str | None:
    return due(standing, now).work


def test_extraction_starts_with_the_fifth_successful_turn() -> None:
    """Four turns wait, and say for what."""
    assert work(group(turns=5)) == "extract"
    assert due(group(turns=4), NOW) == Due(waits="4 of 5 turns")
    assert due(group(), NOW) == Due()


def test_consolidation_starts_after_six_hours_without_a_turn() -> None:
    """To the second, and only when there is something to merge."""
    waiting = group(waiting=1)
    assert work(waiting, NOW + 6 * HOUR) == "consolidate"
    assert due(waiting, NOW + 6 * HOUR - 1).at == NOW + 6 * HOUR
    assert work(group(), NOW + 600 * HOUR) is None


def test_consolidation_starts_when_a_thread_compacts() -> None:
    """At once."""
    assert work(group(waiting=1, compacted=7)) == "consolidate"


def test_a_compaction_without_candidates_says_nothing_of_later_ones() -> None:
    """It is noted as answered; but not while an extraction is due, which may find some."""
    assert compaction_is_over(group(compacted=7))
    assert not compaction_is_over(group(compacted=7, turns=5))
    assert not compaction_is_over(group(compacted=7, waiting=1))


def test_consolidation_starts_early_when_many_candidates_wait() -> None:
    """Forty, unless the settings say otherwise."""
    assert work(group(waiting=39)) is None
    assert work(group(waiting=40)) == "consolidate"


def test_extraction_goes_before_consolidation() -> None:
    """What it finds is merged with the rest, in one call."""
    assert work(group(turns=5, waiting=50)) == "extract"


def test_without_a_model_all_waits() -> None:
    """Nothing is lost, and it is said."""
    settings = LearningSettings()
    assert "learning.model" in due(group(settings, turns=9), NOW).waits
    assert "learning.model" in due(group(settings, waiting=1), NOW + 7 * HOUR).waits


def test_nothing_is_begun_where_learning_is_off_but_what_is_half_written_is_finished() -> None:
    """Files would contradict each other."""
    off = LearningSettings(model="scripted:m", enabled=False)
    assert work(group(off, turns=9, waiting=50), NOW + 9 * HOUR) is None
    assert work(group(off, staged="writing")) == "consolidate"
    assert work(group(LearningSettings(), staged="writing")) == "consolidate"


def test_while_a_proposal_waits_for_a_person_nothing_is_merged() -> None:
    """What is said meanwhile is still read."""
    assert work(group(waiting=50, staged="waiting"), NOW + 9 * HOUR) is None
    assert work(group(turns=5, waiting=50, staged="waiting")) == "extract"


def test_after_a_failure_it_waits_and_says_for_what() -> None:
    """A person's wish does not."""
    tries = {"extract": Try("scout", "extract", 1, NOW, NOW + 60, "down", "nobody answers")}
    waits = Due(waits="nobody answers", at=NOW + 60, tried=tries["extract"])
    assert due(group(turns=5, tries=tries), NOW) == waits
    assert work(group(turns=5, tries=tries), NOW + 60) == "extract"
    assert work(group(tries=tries, wanted=frozenset({"extract"}))) == "extract"


def test_a_failing_extraction_does_not_hold_up_consolidation() -> None:
    """What was found already is merged."""
    tries = {"extract": Try("scout", "extract", 1, NOW, NOW + 60, "answer", "nonsense")}
    assert work(group(turns=5, waiting=50, tries=tries)) == "consolidate"


def test_a_wish_that_nothing_can_be_done_about_is_over() -> None:
    """Unless an extraction may still find something."""
    wish = frozenset({"consolidate"})
    assert wish_is_over(group(wanted=wish), NOW) == ("consolidate",)
    assert wish_is_over(group(wanted=wish, waiting=1), NOW) == ()
    assert wish_is_over(group(wanted=wish | {"extract"}), NOW) == ()


@pytest.mark.parametrize(
    ("kind", "failures", "after", "pause"),
    [
        ("down", 1, 0, FIRST_PAUSE),
        ("down", 2, 0, 4 * FIRST_PAUSE),
        ("down", 99, 0, LONGEST_PAUSE),
        ("rate", 1, 30, 30),
        ("rate", 3, 0, 16 * FIRST_PAUSE),
        ("down", 1, 7_200, 7_200),
        ("limit", 1, 0, DAY - 1_000 * HOUR % DAY),
    ],
)
def test_pauses_grow(kind: str, failures: int, after: float, pause: float) -> None:
    """A server's own wish goes before; the day's limit ends with the day, in UTC."""
    assert not_before(kind, failures, after, NOW) == NOW + pause


@given(
    st.integers(0, 60), st.integers(0, 60), st.integers(0, 9), st.sampled_from(["", "writing",
    "waiting"]), st.booleans(), st.floats(0, 1e7), st.sets(st.sampled_from(["extract",
    "consolidate"])), st.sampled_from([None, "scripted:m"]),
)  # fmt: skip
def test_whatever_the_state_nothing_new_means_no_model_call(
    turns: int, waiting: int, compacted: int, staged: Any, enabled: bool, idle: float,
    wanted: set[str], model: str | None,
) -> None:  # fmt: skip
    """Work is due only with something to do, a model, and no pause; and its time is said."""
    settings = LearningSettings(model=model, enabled=enabled)
    standing = group(
        settings, turns=turns, waiting=waiting, compacted=compacted, staged=staged,
        wanted=frozenset(wanted),
    )  # fmt: skip
    found = due(standing, NOW + idle)
    if found.work == "extract":
        assert turns >= 5 or "extract" in wanted
    if found.work == "consolidate":
        assert waiting or staged == "writing"
    if found.work and staged != "writing":
        assert enabled
        assert model is not None
    if found.at is not None:
        assert due(standing, found.at).work is not None


@given(st.integers(1, 1_000))
def test_a_pause_is_never_shorter_than_the_one_before(failures: int) -> None:
    """And never longer than half a day."""
    assert rest(failures) <= rest(failures + 1) <= LONGEST_PAUSE


def once(kind: str, count: int, until: float) -> Try:
    return Try("scout", "extract", count, NOW - 60, until, kind, "no")


def again(before: Try | None, kind: str, *, wished: bool, after: float = 0) -> tuple[int, float]:
    """How often it failed, and in how many seconds it is tried again."""
    new = Try("scout", "extract", 1, NOW, NOW, kind, "no")
    found = failed(before, new, after, wished=wished)
    return found.count, found.not_before - NOW


def test_a_persons_wish_makes_no_pause_longer() -> None:
    """It counts as no failure of the daemon's, and has its key from another environment."""
    before = once("down", 2, NOW + 500)
    assert again(before, "down", wished=True) == (2, 500)
    assert again(before, "down", wished=False) == (3, 9_600)
    assert again(once("rate", 1, NOW + 500), "rate", wished=True, after=900) == (1, 900)
    assert again(None, "key", wished=True) == (1, FIRST_PAUSE)
    assert again(once("key", 1, LATER), "key", wished=True) == (1, LATER)


def test_another_kind_of_failure_begins_anew() -> None:
    """A server that fails after a key was refused fails for the first time. What a model makes of
    a piece is of one kind."""
    assert again(once("key", 4, LATER), "down", wished=False) == (1, FIRST_PAUSE)
    assert again(once("answer", 4, NOW), "refused", wished=False) == (5, LONGEST_PAUSE)


@pytest.mark.parametrize("kind", ["unset", "key", "setting"])
def test_what_only_other_settings_end_waits_for_them(kind: str) -> None:
    """And not for time."""
    assert not_before(kind, 1, 0, NOW) == LATER
    tried = once(kind, 1, LATER)
    assert due(group(turns=5, tries={"extract": tried}), NOW) == Due(waits="no", tried=tried)


def test_a_consolidation_in_trouble_says_until_when_it_waits() -> None:
    """Also before its time has come."""
    tried = Try("scout", "consolidate", 1, NOW, NOW + 30 * HOUR, "down", "no")
    standing = group(waiting=1, tries={"consolidate": tried})
    assert due(standing, NOW) == Due(waits="no", at=NOW + 30 * HOUR, tried=tried)
    tried = Try("scout", "consolidate", 1, NOW, NOW + HOUR, "down", "no")
    standing = group(waiting=1, tries={"consolidate": tried})
    assert due(standing, NOW).at == NOW + 6 * HOUR


def test_another_model_reads_what_was_set_aside() -> None:
    """However few turns there were since."""
    assert work(group(again=True)) == "extract"
    assert work(group(LearningSettings(), again=True)) is None


def test_no_server_and_no_clock_makes_it_wait_for_longer_than_a_day() -> None:
    """A server that asks for years, a clock that was ahead and went back."""
    assert not_before("rate", 1, 1e9, NOW) == NOW + 24 * HOUR
    ahead = Try("scout", "extract", 1, NOW + 1e7, NOW + 1e7 + 600, "down", "no")
    assert work(group(turns=5, tries={"extract": ahead})) == "extract"
    late = Try("scout", "extract", 1, NOW - 25 * HOUR, NOW + 1e7, "down", "no")
    assert work(group(turns=5, tries={"extract": late})) == "extract"

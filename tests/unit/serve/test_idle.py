"""Which idle threads are compacted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.serve.idle import FIRST_PAUSE, LONGEST_PAUSE, Rule, begun, due, not_before, rest, still
from pannier.threads.pauses import Pause
from pannier.tries import MOST_TRIES, Tried

NOW = 1_000_000.0
AFTER = 43_200.0
RULES = {"scout": Rule(AFTER, 20)}
PAUSE = Pause("scout", "main", "k1", 7, NOW - AFTER, "claude", 1, "s-1", here=True)
TRIED = Tried("scout", "main", 7, 1, NOW - AFTER)


def keys(*pauses: Pause, tried: dict[str, Tried] | None = None, now: float = NOW) -> list[str]:
    return [pause.key for pause in due(pauses, RULES, tried or {}, {"claude"}, now)]


@pytest.mark.parametrize(
    ("pause", "is_due"),
    [
        (PAUSE, True),
        (replace(PAUSE, since=PAUSE.since + 1), False),
        (replace(PAUSE, since=NOW + 10**9), False),
        (replace(PAUSE, group="other"), False),
        (replace(PAUSE, client="qwen"), False),
        (replace(PAUSE, here=False), False),
    ],
    ids=["idle", "a second early", "the future", "not asked for", "cannot", "went elsewhere"],
)
def test_a_thread_is_due_when_nothing_was_said_for_so_long(pause: Pause, is_due: bool) -> None:
    """In a group that wants it, and with a client that can, in a session that did not go on in
    another thread."""
    assert keys(pause) == (["k1"] if is_due else [])


def test_who_was_idle_longest_comes_first() -> None:
    """So that none waits for ever behind others."""
    older = replace(PAUSE, key="k2", thread="planning", since=PAUSE.since - 5)
    assert keys(PAUSE, older) == ["k2", "k1"]


@pytest.mark.parametrize(
    ("tried", "is_due"),
    [
        (replace(TRIED, done=True), False),
        (replace(TRIED, count=MOST_TRIES, why="no key"), False),
        (replace(TRIED, count=MOST_TRIES - 1, why="no key"), True),
        (replace(TRIED, said=6, done=True), True),
        (replace(TRIED, at=NOW - FIRST_PAUSE + 1, why="no key"), False),
        (replace(TRIED, at=NOW - FIRST_PAUSE, why="no key"), True),
        (replace(TRIED, at=NOW - FIRST_PAUSE + 1), False),
    ],
    ids=["done", "given up", "tries left", "earlier", "rests", "rested", "killed in the middle"],
)
def test_what_was_tried_counts_in_its_pause(tried: Tried, is_due: bool) -> None:
    """Once done, or after some failures, a thread is left alone until something is said there."""
    assert keys(PAUSE, tried={"k1": tried}) == (["k1"] if is_due else [])


def test_after_failures_a_whole_group_rests() -> None:
    """Longer after each in a row, and no longer than half a day; a success ends the row."""
    bad = {f"b{n}": replace(TRIED, thread=f"b{n}", at=NOW, why="no key") for n in range(3)}
    assert not_before(bad.values()) == {"scout": NOW + rest(3)}
    assert keys(PAUSE, tried=bad) == []
    assert keys(PAUSE, tried=bad, now=NOW + rest(3)) == ["k1"]
    good = {"g": replace(TRIED, thread="g", at=NOW, done=True)}
    assert keys(PAUSE, tried=bad | good) == ["k1"]
    waits = [rest(count) for count in range(1, 40)]
    assert waits[0] == FIRST_PAUSE
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_PAUSE


def test_what_is_remembered_ends_with_the_pause() -> None:
    """Or with the thread, or with the wish; not because settings cannot be read for a while."""
    tried = {"k1": TRIED, "gone": replace(TRIED, thread="gone")}
    assert still(tried, [PAUSE], ()) == {"k1": TRIED}
    assert still(tried, [replace(PAUSE, said=8)], ()) == {}
    assert still(tried, [], ()) == {}
    assert still(tried, [], {"scout"}) == tried


# What may happen to a thread, and how much later the next thing does.
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["look", "look", "look", "say", "good", "bad", "kill"]),
        st.integers(0, 200_000),
    ),
    max_size=60,
)


@given(_STEPS)
def test_whatever_happens_it_is_begun_rarely(steps: list[tuple[str, int]]) -> None:
    """In one pause at most three times, at most once with success, never before its time, never
    soon after a failure; also when each look is that of another daemon, or one was killed."""
    now, pause = NOW, PAUSE
    tried: dict[str, Tried] = {}
    begins: list[float] = []
    for what, later in steps:
        now += later
        if what == "say":
            pause, begins = replace(pause, said=pause.said + 1, since=now), []
            continue
        tried = still(tried, [pause], ())
        if not due([pause], RULES, tried, {"claude"}, now):
            continue
        assert now - pause.since >= AFTER
        assert not begins or now - begins[-1] >= rest(len(begins))
        begins.append(now)
        assert len(begins) <= MOST_TRIES
        tried["k1"] = begun(pause, tried.get("k1"), now)
        if what == "good":
            tried["k1"] = replace(tried["k1"], done=True)
            begins = [now] * MOST_TRIES  # None may follow.
        elif what == "bad":
            tried["k1"] = replace(tried["k1"], why="no key")

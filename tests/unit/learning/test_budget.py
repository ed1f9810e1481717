"""What may be used of a model in a day."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import AskError, Question, Reply, asked_tokens
from pannier.learning.models.budget import Budgeted, refusal
from pannier.learning.store import Learning, open_learning
from pannier.learning.store.books import day_of, next_day
from pannier.learning.store.rows import Spent
from pannier.settings.learning import Budget, HomeLearning

NOON = 1_796_040_000.0
"""2026-11-30 12:00 UTC."""
DAY = "2026-11-30"
QUESTION = Question("instructions", "data " * 100, ExtractionAnswer, 1_000)
NEEDED = asked_tokens(QUESTION) + QUESTION.most
WIDE = Budget(calls=None, tokens=None)


@dataclass
class Model:
    """Answers, or fails; counts how often it was asked."""

    answer: Callable[[], Reply] = lambda: Reply({}, 300, 20)
    asked: list[Question] = field(default_factory=list)
    name: str = "model"
    window: int = 1_000

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        return self.answer()


@pytest.fixture
def books(tmp_path: Path) -> Callable[[], AbstractContextManager[Learning]]:
    return lambda: open_learning(tmp_path / "learning.db", write=True)


Books = Callable[[], AbstractContextManager[Learning]]


def _spent(books: Books, grp: str = "scout") -> Spent:
    with books() as learning:
        return learning.books.spent(DAY).get(grp, Spent())


def _budgeted(
    books: Books, model: Model, own: Budget = WIDE, home: Budget = WIDE, grp: str = "scout"
) -> Budgeted:
    return Budgeted(model, grp, own, home, books, lambda: NOON)


def test_what_was_used_is_what_the_model_says(books: Books) -> None:
    """After an answer, its own tokens are in the books, and one call."""
    model = Model()
    assert _budgeted(books, model).ask(QUESTION) == Reply({}, 300, 20)
    assert _spent(books) == Spent(1, 300, 20)
    assert (_budgeted(books, model).name, _budgeted(books, model).window) == ("model", 1_000)


def test_it_is_taken_before_the_call(books: Books) -> None:
    """While the model thinks, what it may come to is taken, and nothing is locked."""
    seen: list[Spent] = []

    def answer() -> Reply:
        seen.append(_spent(books))
        return Reply({}, 300, 20)

    _budgeted(books, Model(answer)).ask(QUESTION)
    assert seen == [Spent(1, asked_tokens(QUESTION), 1_000)]


def test_a_failure_counts(books: Books) -> None:
    """A call that failed is counted, with the tokens that were paid all the same."""

    def fail() -> Reply:
        raise AskError("answer", "nonsense", tokens=77)

    with pytest.raises(AskError):
        _budgeted(books, Model(fail)).ask(QUESTION)
    assert _spent(books) == Spent(1, 77, 0)


def test_a_call_that_broke_off_counts_whole(books: Books) -> None:
    """What was interrupted may have been paid."""

    def broken() -> Reply:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _budgeted(books, Model(broken)).ask(QUESTION)
    assert _spent(books).tokens == NEEDED


def test_a_killed_process_has_been_counted(tmp_path: Path, books: Books) -> None:
    """SIGKILL in the middle of a call: the call is in the books."""
    script = """
import os, signal, sys
from pathlib import Path
from pannier.learning.models.budget import Budgeted
from pannier.learning.store import open_learning
from tests.unit.learning.test_budget import NOON, QUESTION, WIDE, Model
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
books = lambda: open_learning(Path(sys.argv[1]), write=True)
Budgeted(Model(kill), "scout", WIDE, WIDE, books, lambda: NOON).ask(QUESTION)
"""
    root = Path(__file__).parents[3]
    path = os.pathsep.join((str(root), *sys.path))
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "learning.db"],
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL
    assert _spent(books) == Spent(1, asked_tokens(QUESTION), 1_000)


@pytest.mark.parametrize("whose", ["own", "home"])
def test_the_limit_of_calls(books: Books, whose: str) -> None:
    """At the limit nothing is asked, and it is said until when: the next day of UTC."""
    model = Model()
    budgeted = _budgeted(books, model, **{whose: Budget(calls=2, tokens=None)})
    budgeted.ask(QUESTION)
    budgeted.ask(QUESTION)
    with pytest.raises(AskError, match=r"model calls \(2\) are used up") as caught:
        budgeted.ask(QUESTION)
    assert len(model.asked) == 2
    assert caught.value.kind == "limit"
    assert caught.value.after == 12 * 3_600
    assert "2026-12-01 00:00 UTC" in caught.value.message
    assert ("group.yaml" if whose == "own" else "pannier.yaml") in caught.value.hint
    assert _spent(books).calls == 2


def test_the_limit_of_tokens_is_never_passed(books: Books) -> None:
    """A question whose answer might pass the limit is not asked."""
    model = Model()
    budgeted = _budgeted(books, model, Budget(calls=None, tokens=NEEDED + 319))
    budgeted.ask(QUESTION)
    with pytest.raises(AskError, match="320 of the day's") as caught:
        budgeted.ask(QUESTION)
    assert caught.value.kind == "limit"
    assert _spent(books) == Spent(1, 300, 20)


def test_a_budget_too_small_for_one_question(books: Books) -> None:
    """It says so, and which setting allows more."""
    with pytest.raises(AskError, match=f"one question needs {NEEDED:,} tokens") as caught:
        _budgeted(books, Model(), Budget(tokens=10)).ask(QUESTION)
    assert "group.yaml of scout" in caught.value.hint


def test_the_homes_budget_is_of_all_groups(books: Books) -> None:
    """What another group used counts for the home's budget, not for the group's own."""
    one = Budget(calls=1, tokens=None)
    _budgeted(books, Model(), one, WIDE, "other").ask(QUESTION)
    _budgeted(books, Model(), one, WIDE).ask(QUESTION)
    with pytest.raises(AskError, match="all groups together"):
        _budgeted(books, Model(), WIDE, Budget(calls=2, tokens=None)).ask(QUESTION)


def test_a_new_day(books: Books) -> None:
    """On the next day it goes on; a call over midnight belongs to the day on which it began."""
    now = NOON
    one = Budget(calls=1, tokens=None)

    def answer() -> Reply:
        nonlocal now
        now += 86_400
        return Reply({}, 300, 20)

    budgeted = Budgeted(Model(answer), "scout", one, one, books, lambda: now)
    budgeted.ask(QUESTION)
    budgeted.ask(QUESTION)
    assert _spent(books) == Spent(1, 300, 20)


def test_many_at_once(books: Books) -> None:
    """However many ask at the same time, no more than allowed reach the model."""
    model = Model()
    budgeted = _budgeted(books, model, Budget(calls=3, tokens=None))
    refused: list[AskError] = []

    def ask() -> None:
        try:
            budgeted.ask(QUESTION)
        except AskError as error:
            refused.append(error)

    with books():
        pass
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(model.asked), len(refused)) == (3, 5)
    assert {error.kind for error in refused} == {"limit"}


def test_an_answer_outlives_the_books(books: Books) -> None:
    """When the books cannot be set right, the answer that was paid is not lost."""
    opened = 0

    def once() -> AbstractContextManager[Learning]:
        nonlocal opened
        opened += 1
        return open_learning(Path("/nowhere/learning.db"), write=True) if opened > 1 else books()

    reply = Budgeted(Model(), "scout", WIDE, WIDE, once, lambda: NOON).ask(QUESTION)
    assert reply.output == 20
    assert _spent(books).tokens == NEEDED


_used = st.builds(Spent, st.integers(0, 50), st.integers(0, 5_000), st.integers(0, 5_000))
_budget = st.builds(
    Budget, calls=st.none() | st.integers(0, 50), tokens=st.none() | st.integers(0, 20_000)
)


@given(
    spent=st.dictionaries(st.sampled_from("abc"), _used),
    own=_budget,
    home=_budget,
    tokens=st.integers(0, 20_000),
    at=st.floats(0, 4e9),
)
def test_it_is_refused_just_when_a_limit_would_be_passed(
    spent: dict[str, Spent], own: Budget, home: Budget, tokens: int, at: float
) -> None:
    """And then for at most a day, in one line."""
    why = refusal("a", own, home, spent, tokens, at)
    used = spent.get("a", Spent())
    fits = [
        limit is None or has + more <= limit
        for limit, has, more in (
            (own.calls, used.calls, 1),
            (own.tokens, used.tokens, tokens),
            (home.calls, sum(s.calls for s in spent.values()), 1),
            (home.tokens, sum(s.tokens for s in spent.values()), tokens),
        )
    ]
    assert (why is None) == all(fits)
    if why is not None:
        assert why.kind == "limit"
        assert 0 < why.after <= 86_400
        assert day_of(at + why.after) > day_of(at)
        assert next_day(at) == pytest.approx(at + why.after)


def test_a_limit_of_the_home_that_is_left_out_keeps_its_default() -> None:
    """That of all groups, and not of one."""
    found = HomeLearning.model_validate({"budget": {"calls": 2_000}}).budget
    assert (found.calls, found.tokens) == (2_000, 20_000_000)

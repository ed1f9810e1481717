"""What may be used of a model in a day: taken before a call, and set right after it.

So a call that is cut off, with its process or without, has been counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pannier.errors import PannierError
from pannier.learning.models.asking import Asker, AskError, Question, Reply, asked_tokens
from pannier.learning.store import Learning
from pannier.learning.store.books import day_of, next_day
from pannier.learning.store.rows import Spent
from pannier.settings.learning import Budget


def refusal(
    grp: str, own: Budget, home: Budget, spent: Mapping[str, Spent], tokens: int, at: float
) -> AskError | None:
    """Why the group may not ask a question of so many tokens, in and out, at `at`; None: it may.

    `spent`: what each group used on that day.
    """
    used = spent.get(grp, Spent())
    everyone = Spent(
        sum(s.calls for s in spent.values()),
        sum(s.input for s in spent.values()),
        sum(s.output for s in spent.values()),
    )
    for who, where, budget, has in (
        (grp, f"learning.budget in group.yaml of {grp}", own, used),
        ("all groups together", "learning.budget in pannier.yaml", home, everyone),
    ):
        if what := _over(budget, has, tokens):
            until = next_day(at)
            when = datetime.fromtimestamp(until, UTC)
            return AskError(
                "limit",
                f"{who}: {what}; it goes on at {when:%Y-%m-%d %H:%M} UTC",
                f"More is allowed by {where}.",
                after=until - at,
            )
    return None


def _over(budget: Budget, used: Spent, tokens: int) -> str:
    if budget.calls is not None and used.calls >= budget.calls:
        return f"the day's model calls ({budget.calls:,}) are used up"
    if budget.tokens is None:
        return ""
    if tokens > budget.tokens:
        return f"one question needs {tokens:,} tokens of the day's {budget.tokens:,}"
    if used.tokens + tokens > budget.tokens:
        return (
            f"{used.tokens:,} of the day's {budget.tokens:,} tokens are used, and {tokens:,} needed"
        )
    return ""


@dataclass(frozen=True)
class Budgeted:
    """A model that is asked for a group, within its budget and that of all groups."""

    asker: Asker
    grp: str
    own: Budget
    home: Budget
    learning: Callable[[], AbstractContextManager[Learning]]
    """Opens what was learned, for writing. It is not held while the model thinks."""
    time: Callable[[], float]
    """Seconds since 1970."""

    @property
    def name(self) -> str:
        return self.asker.name

    @property
    def window(self) -> int:
        return self.asker.window

    def ask(self, question: Question) -> Reply:
        """Ask once, if there is enough left. Raises AskError."""
        at = self.time()
        taken = Spent(1, asked_tokens(question), question.most)
        with self.learning() as learning, learning.transaction():
            spent = learning.books.spent(day_of(at))
            why = refusal(self.grp, self.own, self.home, spent, taken.tokens, at)
            if why is not None:
                raise why
            self._spend(learning, at, taken)
        try:
            reply = self.asker.ask(question)
        except AskError as error:
            self._settle(at, taken, error.tokens, 0)
            raise
        self._settle(at, taken, reply.input, reply.output)
        return reply

    def _settle(self, at: float, taken: Spent, read: int, made: int) -> None:
        # The answer is worth more than the books: what was taken stays taken.
        with suppress(PannierError), self.learning() as learning:
            self._spend(learning, at, Spent(0, read - taken.input, made - taken.output))

    def _spend(self, learning: Learning, at: float, use: Spent) -> None:
        learning.books.spend(day_of(at), self.grp, use.calls, use.input, use.output)

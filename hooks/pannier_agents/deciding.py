"""From what a request would be to what it will be: the order in which things give way."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from langchain_core.language_models import BaseChatModel

from pannier_agents.budget import Budget, budget, profile_of
from pannier_agents.errors import SummaryError, ThreadError
from pannier_agents.planning import (
    Weighed,
    compacted,
    cut_place,
    failing,
    last_resort,
    pauses,
    protectable,
    pruning_step,
    staying,
    to_summarize,
)
from pannier_agents.settings import ContextSettings
from pannier_agents.summarizing import Answer, Ask, summarized


@dataclass(frozen=True)
class Means:
    """What the steps may use."""

    settings: ContextSettings
    budget: Budget
    model: BaseChatModel
    """Writes the summaries."""
    memory: Callable[[Weighed], str]
    """The group's memory as it is now, "" for a history that has none."""
    problem: Callable[[Exception], None]
    """Says that something went wrong."""

    def beside(self, now: Weighed) -> Means:
        """With the budget that is left beside what stays of a history."""
        return replace(self, budget=self.budget.beside(staying(now)))


Steps = Generator[Ask, Answer, Weighed]


def decided(now: Weighed, means: Means) -> Steps:
    """What is sent instead of `now`: pruned when that is worth a step, compacted when that is due,
    and made to fit whatever happens."""
    if now.used > means.budget.limit:
        means = means.beside(now)
    most = means.budget.most
    pruning, enabled = means.settings.pruning, means.settings.compaction.enabled
    least = means.budget.step if now.used <= most or enabled else 1
    now = pruning_step(now, pruning, least=least) or now
    if not enabled:
        return now
    if is_due(now, means):
        # What would give way to a summary may rather be pruned, and the beginning changes anyway.
        room = means.budget.tail(staying(now))
        fewer = replace(pruning, protect_recent=protectable(now, pruning.protect_recent, room))
        now = pruning_step(now, fewer, least=1) or now
        if now.used > means.budget.limit - means.budget.gain:
            now = yield from compaction(now, means, least=means.budget.gain)
    if now.used > most:
        now = last_resort(now, means.budget, means.memory(now))
        if now.used > means.budget.window:
            means.problem(
                ThreadError(
                    f"a request of about {now.used:,} tokens, of which the system prompt and the "
                    f"tools are {now.scale.rest:,}, does not fit a window of "
                    f"{means.budget.window:,}, and nothing more can be left out: it takes a model "
                    f"with a larger window, fewer tools, or fewer calls at a time"
                )
            )
    return now


def is_due(now: Weighed, means: Means) -> bool:
    """Whether a compaction is due."""
    if now.used <= means.budget.limit:
        return False
    if pauses(now, means.budget):
        return False
    long = len(now.view.lead) + len(now.view.tail) >= means.settings.compaction.min_messages
    return long or now.used > means.budget.most


def compaction(now: Weighed, means: Means, *, least: int) -> Steps:
    """With a summary, where that gains `least` tokens; as it is, with a mark, where there is none
    to be had."""
    place = cut_place(now, means.budget, least)
    if place is None:
        return now
    size = means.budget
    if profile := profile_of(means.model):
        size = budget(replace(means.settings, window=None), profile)
    room = int(size.most / max(1.0, now.scale.factor))
    part = to_summarize(now, place)
    try:
        text = yield from summarized(part, means.model, room=room, longest=means.budget.summary)
    except SummaryError as problem:
        means.problem(problem)
        return failing(now)
    return compacted(now, place, text, means.memory(now))

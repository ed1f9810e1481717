"""Where little room is left beside what stays anyway: a summary is made where it is worth one, and
the model's window is used."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from pannier_agents.budget import budget
from pannier_agents.marks import Marks
from pannier_agents.messages import injected
from pannier_agents.planning import Weighed
from pannier_agents.settings import ContextSettings

from .test_fitting import WORDS, World, agent, result


def worked(
    world: World,
    window: int,
    each: Callable[[int], list[BaseMessage]],
    begin: list[BaseMessage] | None = None,
) -> list[Weighed]:
    """What is sent at each of 100 steps."""
    history = begin or [HumanMessage("Count the crates.", id="task")]
    marks, sent = Marks(), []
    for number in range(100):
        history += each(number)
        now = world.decide(history, marks, window)
        marks = now.marks
        sent.append(now)
    return sent


def one(size: int, count: int = 1) -> Callable[[int], list[BaseMessage]]:
    def step(number: int) -> list[BaseMessage]:
        text = (WORDS * (size // 50 + 1))[:size]
        return [agent(number, count), *(result(number, at, text) for at in range(count))]

    return step


@pytest.mark.parametrize("fixed", [4_500, 5_500, 6_500])
def test_tools_that_fill_most_of_a_window(fixed: int) -> None:
    """The reserve gives way, and not the history: no summary at each call, and nobody is told that
    it does not fit."""
    world = World(settings=ContextSettings(), fixed=fixed)
    sent = worked(world, 8_000, one(40))
    assert len(world.asked) <= 10
    assert world.problems == []
    assert max(now.used for now in sent) <= 7_500


def test_a_large_memory_in_a_small_window() -> None:
    """It stays, so it counts among what stays: a compaction makes room for several calls."""
    memory = injected("memory", "What was remembered. " * 1_000).model_copy(update={"id": "memory"})
    world = World(settings=ContextSettings())
    world._memory = lambda _: str(memory.text)  # type: ignore[method-assign, assignment]
    sent = worked(world, 20_000, one(1_000), [memory, HumanMessage("Count.", id="task")])
    assert 3 <= len(world.asked) <= 20
    assert all(now.used <= 20_000 for now in sent)


@pytest.mark.parametrize(
    ("size", "count", "most"), [(45_000, 1, 5), (9_900, 1, 25), (45_000, 4, 25)]
)
def test_results_that_do_not_fit_beside_each_other(size: int, count: int, most: int) -> None:
    """The older of them are pruned, however many are protected, before the rest of the history
    gives way to a summary; those that the model has not seen stay as they are as long as there is
    room."""
    world = World(settings=ContextSettings())
    sent = worked(world, 32_000, one(size, count))
    assert len(world.asked) <= most
    if count == 1:
        newest = [m for m in sent[-1].view.tail if isinstance(m, ToolMessage)][-1]
        assert len(newest.text) == size


@pytest.mark.parametrize("size", [40_000, 55_000, 65_000])
def test_a_task_that_fits_alone(size: int) -> None:
    """It stays word for word, though it is larger than what the reserve would leave; no model is
    asked to summarize nothing."""
    history: list[BaseMessage] = [
        injected("memory", "m").model_copy(update={"id": "memory"}),
        HumanMessage((WORDS * 2_000)[:size], id="task"),
    ]
    world = World(settings=ContextSettings())
    now = world.decide(history, {}, 20_000)
    assert now.used > 7_000
    assert world.asked == []
    assert world.problems == []
    assert now.view.messages == history


def test_a_task_that_hardly_does_not_fit() -> None:
    """Most of it stays."""
    text = WORDS * 1_600
    now = World(settings=ContextSettings()).decide([HumanMessage(text, id="task")], {}, 16_000)
    [task] = now.view.messages
    assert len(text) / 2 < len(task.text) < len(text)
    assert now.used <= 16_000


@pytest.mark.parametrize("staying", [0, 5_000, 18_000, 31_000, 40_000])
def test_the_budget_beside_what_stays(staying: int) -> None:
    """There is always room for an answer, and messages have some of what is left, if there is any;
    beside little all is as the settings say."""
    size = budget(ContextSettings(), {"max_input_tokens": 32_000})
    left = size.beside(staying)
    assert size.limit <= left.limit <= left.most <= 28_000
    assert left == size or staying
    if staying < 28_000:
        assert left.limit > staying

"""Whatever a history holds and whatever its model takes: what is sent fits, keeps its pairs and
the task, and stays the beginning of what is sent next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from pannier_agents import tokens
from pannier_agents.budget import Budget, budget
from pannier_agents.deciding import Means, decided
from pannier_agents.marks import Marks
from pannier_agents.messages import injected, is_injected, is_summary
from pannier_agents.planning import Scale, Weighed, scale_of, weigh
from pannier_agents.settings import Compaction, ContextSettings, Pruning
from pannier_agents.view import view

from .model import FakeModel
from .pairing import in_messages

WORDS = "the crates on the quay were counted again and again "
SETTINGS = ContextSettings(
    pruning=Pruning(soft_trim_chars=300, hard_clear_threshold=1_000),
    compaction=Compaction(reserve_tokens=1_000, keep_recent_tokens=1_000, min_messages=6),
)
Say = Callable[[], str]


@dataclass
class World:
    """A summarizer that answers by a function, and what was said of it."""

    say: Say = lambda: "All was counted."
    settings: ContextSettings = SETTINGS
    problems: list[str] = field(default_factory=list)
    asked: list[list[BaseMessage]] = field(default_factory=list)

    fixed: int = 100
    """Tokens of the system prompt and of the tools."""

    def decide(self, messages: list[BaseMessage], marks: Marks, window: int) -> Weighed:
        size = self.size(window)
        means = Means(
            self.settings,
            size,
            FakeModel(),
            self._memory,
            lambda one: self.problems.append(str(one)),
        )
        steps = decided(weigh(messages, marks, Scale(self.fixed)), means)
        answer: Any = None
        try:
            while True:
                self.asked.append(steps.send(answer).messages)
                try:
                    answer = AIMessage(self.say())
                except Exception as problem:
                    answer = problem
        except StopIteration as end:
            decision: Weighed = end.value
            return decision

    def size(self, window: int) -> Budget:
        return budget(self.settings, {"max_input_tokens": window})

    @staticmethod
    def _memory(now: Weighed) -> str:
        has = any(is_injected(one, "memory") for one in now.messages)
        return "What is remembered. " * 20 if has else ""


def down() -> str:
    raise RuntimeError("no answer")


def agent(number: int, count: int = 1, text: str = "") -> AIMessage:
    calls = [
        {"id": f"c{number}-{one}", "name": "look", "args": {"place": text or "quay"}}
        for one in range(count)
    ]
    return AIMessage("", id=f"a{number}", tool_calls=calls)


def result(number: int, one: int, content: Any) -> ToolMessage:
    return ToolMessage(content, id=f"r{number}-{one}", tool_call_id=f"c{number}-{one}", name="look")


def steps(first: int, last: int, size: int) -> list[BaseMessage]:
    """Calls of one tool, each with a result of `size` characters."""
    history: list[BaseMessage] = []
    for number in range(first, last):
        history += [agent(number), result(number, 0, (WORDS * (size // 50 + 1))[:size])]
    return history


IMAGE = {"type": "image", "base64": "aaaa", "mime_type": "image/png"}


@st.composite
def histories(draw: st.DrawFn) -> list[BaseMessage]:
    """A task, and turns with results, arguments and answers of any size."""
    size = st.sampled_from([0, 20, 300, 2_000, 30_000])
    history: list[BaseMessage] = []
    if draw(st.booleans()):
        history.append(injected("memory", "What was remembered. " * 20))
        history[-1].id = "memory"
    history.append(HumanMessage("Count the crates.", id="task"))
    for number in range(draw(st.integers(0, 14))):
        count = draw(st.integers(0, 4))
        history.append(agent(number, count, WORDS * (draw(size) // 50)))
        if not count:
            history[-1] = AIMessage(WORDS * (draw(size) // 50) or "Yes.", id=f"a{number}")
        for one in range(count):
            text = (WORDS * 600)[: draw(size)] or "-"
            content: Any = [{"type": "text", "text": text}, IMAGE] if draw(st.booleans()) else text
            history.append(result(number, one, content))
        if not count or draw(st.sampled_from([True, False, False])):
            history.append(HumanMessage(f"Go on with quay {number}.", id=f"h{number}"))
    return history


@settings(deadline=None, max_examples=150)
@given(
    history=histories(),
    window=st.sampled_from([3_000, 6_000, 20_000, 100_000]),
    say=st.sampled_from([lambda: "All was counted.", down, lambda: " ", lambda: WORDS * 3_000]),
)
def test_whatever_a_history_holds(history: list[BaseMessage], window: int, say: Say) -> None:
    """What is sent fits, breaks no pair, and has the task and the latest request word for word; the
    history itself is untouched, and the same marks give the same bytes."""
    world = World(say)
    before = [one.model_copy(deep=True) for one in history]
    now = world.decide(history, {}, window)
    sent = now.view.messages
    assert history == before
    assert now.used <= world.size(window).most
    assert 100 + tokens.of_messages(sent) == now.used
    assert in_messages(sent) == []
    assert view(history, now.marks).messages == sent
    people = [one.text for one in history if isinstance(one, HumanMessage)]
    said = [one.text for one in sent if isinstance(one, HumanMessage)]
    assert "Count the crates." in said
    assert people[-1] in said
    assert len(set(said)) == len(said)


@settings(deadline=None, max_examples=60)
@given(history=histories(), window=st.sampled_from([6_000, 20_000]))
def test_what_is_sent_next(history: list[BaseMessage], window: int) -> None:
    """It begins with what was sent before, unless that was near the limit, or pruning makes enough
    room."""
    world = World()
    size = world.size(window)
    first = world.decide(history, {}, window)
    longer = [*history, *steps(100, 101, 20)]
    second = world.decide(longer, first.marks, window)
    if second.marks == first.marks:
        assert second.view.messages[: len(first.view.messages)] == first.view.messages
    else:
        was = weigh(longer, first.marks, Scale(100)).used
        assert was > size.limit or was - second.used >= size.step


def test_pruning_goes_in_steps() -> None:
    """Nothing is cut before it is worth it; then all results but the protected ones are, and stay
    so."""
    world = World()
    history: list[BaseMessage] = [HumanMessage("Count the crates.", id="task")]
    changes = 0
    marks: Marks = {}
    sent: list[BaseMessage] = []
    for number in range(40):
        history += steps(number, number + 1, 900)
        now = world.decide(history, marks, 20_000)
        begins = now.view.messages[: len(sent)] == sent
        changes += not begins
        assert begins == (now.marks == marks)
        results = [one for one in now.view.messages if isinstance(one, ToolMessage)]
        assert all(len(one.text) == 900 for one in results[-3:])
        sent, marks = now.view.messages, now.marks
    assert 2 <= changes <= 5
    assert not world.asked


def test_settings_that_changed() -> None:
    """What was pruned stays as it was; what is pruned from now on has the new limits."""
    history = [HumanMessage("Count the crates.", id="task"), *steps(0, 30, 900)]
    first = World().decide(history, {}, 6_000)
    other = ContextSettings(
        pruning=Pruning(soft_trim_chars=200, hard_clear_threshold=1_000),
        compaction=Compaction(enabled=False),
    )
    longer = [*history, *steps(30, 60, 900)]
    second = World(settings=other).decide(longer, first.marks, 6_000)
    count = len(first.view.messages) - 6
    assert second.view.messages[:count] == first.view.messages[:count]
    lengths = {len(one.text) for one in second.view.messages if isinstance(one, ToolMessage)}
    assert any(length <= 200 for length in lengths)


def test_one_summary_for_one_compaction() -> None:
    """The least number of them: each is made when the limit is reached, and what is kept is the
    tail."""
    world = World()
    history: list[BaseMessage] = [HumanMessage("Count the crates.", id="task")]
    marks: Marks = {}
    added = 0
    for number in range(300):
        history += steps(number, number + 1, 250)
        added += tokens.of_messages(history[-2:])
        marks = world.decide(history, marks, 20_000).marks
    gained = world.size(20_000).limit - 1_000 - 300
    assert added // gained - 1 <= len(world.asked) <= added // gained + 1
    assert "earlier summary" in world.asked[1][1].text
    assert "All was counted." in world.asked[1][1].text


def test_switched_off() -> None:
    """Each alone, and then nothing is done."""
    history = [HumanMessage("Count the crates.", id="task"), *steps(0, 200, 900)]
    nothing = ContextSettings(
        pruning=Pruning(trim_tool_results=False), compaction=Compaction(enabled=False)
    )
    world = World(settings=nothing)
    now = world.decide(history, {}, 6_000)
    assert now.marks == {}
    assert now.view.messages == history
    pruned = World(settings=ContextSettings(compaction=Compaction(enabled=False)))
    assert pruned.decide(history, {}, 6_000).marks == {}  # Nothing is over the limits.
    compacted = World(settings=ContextSettings(pruning=Pruning(trim_tool_results=False)))
    assert "pruned" not in compacted.decide(history, {}, 6_000).marks
    assert compacted.asked


def test_too_few_messages() -> None:
    """Below `min_messages` there is no compaction, unless the request would not fit."""
    history = [HumanMessage("Count the crates.", id="task"), *steps(0, 2, 9_000)]
    few = ContextSettings(
        pruning=Pruning(trim_tool_results=False),
        compaction=Compaction(reserve_tokens=100, keep_recent_tokens=1_000, min_messages=20),
    )
    world = World(settings=few)
    used = weigh(history, {}, Scale(100)).used
    assert world.decide(history, {}, used + 200).marks == {}
    assert world.decide(history, {}, used - 200).marks.get("compacted")


def test_a_summarizer_that_is_down() -> None:
    """It is not asked at each call; what has to give way gives way without it, is said to be
    missing, and is summarized once it answers."""
    world = World(down)
    history: list[BaseMessage] = [HumanMessage("Count the crates.", id="task")]
    marks: Marks = {}
    for number in range(200):
        history += steps(number, number + 1, 250)
        now = world.decide(history, marks, 6_000)
        assert now.used <= world.size(6_000).most
        marks = now.marks
    assert len(world.asked) <= 30
    assert "no answer" in world.problems[0]
    [note] = [one for one in now.view.messages if is_summary(one)]
    assert "messages are left out without a summary" in note.text
    world.say = lambda: "All was counted."
    for number in range(200, 300):
        history += steps(number, number + 1, 250)
        now = world.decide(history, now.marks, 6_000)
    [summary] = [one for one in now.view.messages if is_summary(one)]
    assert "All was counted." in summary.text
    assert "without a summary" not in summary.text
    asked = next(
        one[1].text for one in world.asked[::-1] if "an earlier summary" not in one[1].text
    )
    assert "missing here" in asked or "call c1-0" in asked


def test_a_task_that_does_not_fit() -> None:
    """It is cut only where it does not fit by itself; head and tail stay."""
    history = [HumanMessage("Begin. " + WORDS * 1_000 + "End.", id="task"), *steps(0, 3, 500)]
    world = World()
    now = world.decide(history, {}, 6_000)
    assert now.used <= 6_000
    [task] = [one for one in now.view.messages if one.id == "task"]
    assert task.text.startswith("Begin. ")
    assert task.text.endswith("End.")
    assert "were cut here" in task.text
    assert in_messages(now.view.messages) == []


def test_tools_that_do_not_fit() -> None:
    """Then nothing helps, which is said; the request is made all the same."""
    problems: list[str] = []
    size = budget(SETTINGS, {"max_input_tokens": 3_000})
    means = Means(SETTINGS, size, FakeModel(), lambda _: "", lambda one: problems.append(str(one)))
    now = weigh([HumanMessage("Count.", id="task")], {}, Scale(5_000))
    with pytest.raises(StopIteration) as end:
        next(decided(now, means))
    assert end.value.value.view.messages
    assert "does not fit a window of 3,000" in problems[0]


def test_marks_that_do_not_hold() -> None:
    """After somebody took away the messages that they name, everything is sent as it is."""
    history = [HumanMessage("Count the crates.", id="task"), *steps(0, 60, 900)]
    marks = World().decide(history, {}, 6_000).marks
    other = [one.model_copy(update={"id": f"new-{one.id}"}) for one in history[:9]]
    assert view(other, marks).messages == other


def test_the_latest_request_of_a_compaction_stays() -> None:
    """When the next one comes it is still where it was, so that the beginning stays the same."""
    history = [
        HumanMessage("Count the crates.", id="task"),
        AIMessage("Done.", id="a"),
        HumanMessage("And the barrels.", id="second"),
        injected("message", "Also the sacks."),
        *steps(0, 60, 900),
    ]
    history[3].id = "beside"
    first = World().decide(history, {}, 6_000)
    said = [one.text for one in first.view.messages if isinstance(one, HumanMessage)]
    assert [said[0], *said[2:]] == ["Count the crates.", "And the barrels.", "Also the sacks."]
    longer = [*history, AIMessage("Done.", id="b"), HumanMessage("Thanks.", id="third")]
    second = World().decide(longer, first.marks, 6_000)
    assert second.view.messages[: len(first.view.messages)] == first.view.messages
    assert second.view.messages[-1].text == "Thanks."


def reasoned(number: int, provider: str, model: str = "") -> AIMessage:
    return AIMessage(
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "I look."},
        ],
        id=f"a{number}",
        tool_calls=agent(number).tool_calls,
        response_metadata={"model_provider": provider, "model_name": model},
    )


@pytest.mark.parametrize(
    ("provider", "model", "stays"),
    [
        ("anthropic", "", 0),
        ("anthropic", "claude-fable-5-1", 0),
        ("anthropic", "claude-opus-40", 0),
        ("anthropic", "claude-sonnet-4-5-20250929", 1),
        ("anthropic", "claude-3-7-sonnet-20250219", 1),
        ("bedrock_converse", "us.anthropic.claude-opus-4-1-20250805-v1:0", 1),
        ("bedrock_converse", "us.anthropic.claude-fable-5-1-v1:0", 0),
        ("", "", 0),
        ("google_genai", "", 1),
    ],
)
def test_reasoning_about_another_view(provider: str, model: str, stays: int) -> None:
    """Claude's reasoning goes with what stood before it: after each change of the view the older
    one is not sent again, and that which comes after it is. Older models of Claude take it all the
    same, and want that of the last step."""
    history: list[BaseMessage] = [HumanMessage("Count the crates.", id="task")]
    for number in range(30):
        history += [reasoned(number, provider, model), result(number, 0, (WORDS * 20)[:900])]
    now = World().decide(history, {}, 6_000)
    assert now.marks.get("changed") == "r29-0"
    kinds = [
        block["type"]
        for one in now.view.tail
        if isinstance(one, AIMessage)
        for block in one.content
        if isinstance(block, dict)
    ]
    assert ("thinking" in kinds) == stays
    assert "text" in kinds
    longer = [*history, reasoned(30, provider, model), result(30, 0, "-")]
    later = view(longer, now.marks).messages[-2]
    assert later is longer[-2]


@pytest.mark.parametrize(("said", "cached"), [(1_000, 900), (100, 900), (1_000, 0)])
def test_what_was_in_the_provider_s_cache(said: int, cached: int) -> None:
    """It belongs to the request, whether the provider's package counts it in or not."""
    usage: UsageMetadata = {
        "input_tokens": said,
        "output_tokens": 1,
        "total_tokens": said + 1,
        "input_token_details": {"cache_read": cached},
    }
    history = [HumanMessage("x", id="task"), AIMessage("Done.", id="a", usage_metadata=usage)]
    assert scale_of(view(history, {}), 500).factor == 1_000 / (500 + tokens.of_message(history[0]))


def test_what_the_provider_counted() -> None:
    """The last answer's count scales what is estimated, of the request that it answered."""
    history = [HumanMessage("Count the crates.", id="task"), *steps(0, 10, 900)]
    estimated = tokens.of_messages(history) + 50
    usage = {"input_tokens": 2 * estimated, "output_tokens": 1, "total_tokens": 2 * estimated + 1}
    answer = AIMessage("Done.", id="a", usage_metadata=usage)
    seen = view([*history, answer], {})
    scale = scale_of(seen, 50)
    assert (scale.factor, scale.exact) == (2.0, True)
    assert scale_of(view(history, {}), 50) == Scale(50)
    # An answer to a request with other marks says nothing of this one.
    assert not scale_of(view([*history, answer], {"changed": "a"}), 50).exact

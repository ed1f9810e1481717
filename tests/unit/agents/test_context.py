"""The context's part of an agent: what it does around a model call, and what when it fails."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from pannier_agents import open_checkpointer, tokens
from pannier_agents.context import Context
from pannier_agents.messages import is_summary
from pannier_agents.settings import Compaction, ContextSettings

from .conftest import Folders
from .model import Answer, FakeModel, agent_with, say, thread
from .pairing import in_messages

SETTINGS = ContextSettings(
    window=4_000,
    compaction=Compaction(reserve_tokens=400, keep_recent_tokens=400, min_messages=4),
)


@tool
def look(number: int) -> str:
    """Look at the crates of a quay."""
    return f"Quay {number}: " + "crates " * 60


def works(steps: int) -> Answer:
    """A model's answers: so many calls, and its last words. Where it stands the request tells."""

    def answer(asked: list[BaseMessage]) -> AIMessage:
        last = next(
            (int(one.tool_call_id[1:]) for one in asked[::-1] if isinstance(one, ToolMessage)), -1
        )
        if last + 1 >= steps:
            return AIMessage("done")
        call = {"id": f"c{last + 1}", "name": "look", "args": {"number": last + 1}}
        return AIMessage("", tool_calls=[call])

    return answer


def summaries(asked: list[BaseMessage]) -> list[str]:
    return [one.text for one in asked if is_summary(one)]


def test_without_waiting(folders: Folders) -> None:
    """An agent that is called the plain way is compacted by its own model: one summary at a time,
    which stands in the request and not in the history."""

    def either(asked: list[BaseMessage]) -> AIMessage:
        noting = "You keep the notes of an agent" in asked[0].text
        return AIMessage("Some quays were counted.") if noting else works(40)(asked)

    model = FakeModel(answer=either, asked=[])
    group = folders.group()
    agent = agent_with(
        model, InMemorySaver(), group, tools=[look], between=[Context(SETTINGS, group=group)]
    )
    end = agent.invoke(
        {"messages": [HumanMessage("Count.")]}, thread("a") | {"recursion_limit": 500}
    )
    notes = [asked for asked in model.asked if "You keep the notes" in asked[0].text]
    requests = [asked for asked in model.asked if asked not in notes]
    assert len(notes) >= 2
    assert len(requests) == 41
    assert all(in_messages(asked) == [] for asked in requests)
    assert all(any(one.text == "Count." for one in asked) for asked in requests)
    assert len(summaries(requests[-1])) == 1
    assert not summaries(end["messages"])
    assert len(end["messages"]) == 2 + 2 * 40 + 1
    assert "pannier_context" not in end
    told = [event for event in folders.events() if event.kind == "post-compact"]
    assert [event.details["trigger"] for event in told] == ["auto"] * len(notes)


def test_without_a_thread(folders: Folders) -> None:
    """An agent whose history is not kept is compacted all the same, as long as it runs."""
    summarizer = FakeModel(answer=say("Some quays were counted."), asked=[])
    context = Context(SETTINGS, summarizer=summarizer, group=folders.group())
    model = FakeModel(answer=works(40), asked=[])
    agent = create_agent(model, [look], middleware=[context])
    agent.invoke({"messages": [HumanMessage("Count.")]}, {"recursion_limit": 500})
    assert 2 <= len(summarizer.asked) <= 6
    assert summaries(model.asked[-1])


def test_a_model_call_that_is_tried_again(folders: Folders) -> None:
    """By another part of the agent, or at the next turn: the summary is not paid twice."""
    summarizer = FakeModel(answer=say("Some quays were counted."), asked=[])
    failing = 0

    def fails(asked: list[BaseMessage]) -> AIMessage:
        nonlocal failing
        if summaries(asked) and failing < 2:
            failing += 1
            raise ConnectionError("try again")
        return works(24)(asked)

    group = folders.group()
    retry = ModelRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)
    context = Context(SETTINGS, summarizer=summarizer, group=group)
    agent = agent_with(
        FakeModel(answer=fails, asked=[]),
        InMemorySaver(),
        group,
        tools=[look],
        between=[retry, context],
    )
    agent.invoke({"messages": [HumanMessage("Count.")]}, thread("a"))
    assert failing == 2
    assert len(summarizer.asked) == 1
    assert [event.kind for event in folders.events()].count("post-compact") == 1


def test_a_call_that_cannot_be_read(folders: Folders) -> None:
    """It is sent to providers like any other, so it gets a result that says why there is none."""
    broken = AIMessage(
        "",
        invalid_tool_calls=[
            {"id": "b0", "name": "look", "args": '{"numb', "error": "", "type": "invalid_tool_call"}
        ],
    )
    model = FakeModel(answer=lambda _: broken, asked=[])
    group = folders.group()
    saver = InMemorySaver()
    agent = agent_with(model, saver, group, between=[Context(SETTINGS, group=group)])
    agent.invoke({"messages": [HumanMessage("Count.")]}, thread("a"))
    model.answer = say("ok")
    agent.invoke({"messages": [HumanMessage("Again.")]}, thread("a"))
    *_, call, result, prompt = model.asked[-1]
    assert call.content == ""
    assert isinstance(result, ToolMessage)
    assert result.tool_call_id == "b0"
    assert "could not be read" in result.text
    assert prompt.text == "Again."


def test_a_fault_of_its_own(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent goes on with everything, and it is reported."""

    def broken(*_: object) -> Any:
        raise RuntimeError("no plan")
        yield

    monkeypatch.setattr("pannier_agents.context.decided", broken)
    group = folders.group()
    model = FakeModel(answer=works(3), asked=[])
    agent = agent_with(
        model, InMemorySaver(), group, tools=[look], between=[Context(SETTINGS, group=group)]
    )
    agent.invoke({"messages": [HumanMessage("Count.")]}, thread("a"))
    assert len(model.asked[-1]) == 2 + 6
    problems = [event.details for event in folders.events() if event.kind == "error"]
    assert problems[0] == {"event": "post-compact", "text": "no plan"}


def form(words: int) -> dict[str, Any]:
    sizes = {f"number_{one}": {"type": "string"} for one in range(words)}
    return {"title": "Crates", "description": "Of a quay", "type": "object", "properties": sizes}


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy, AutoStrategy])
def test_the_form_of_an_answer(folders: Folders, strategy: type[Any]) -> None:
    """Its schema is sent with each request, and counts."""

    def limit(asks: Any) -> int:
        summarizer = FakeModel(asked=[], answer=say("All were counted."))
        context = Context(SETTINGS, summarizer=summarizer, group=folders.group())
        model = FakeModel(asked=[], answer=works(40))
        agent = create_agent(
            model, [look], middleware=[context], response_format=asks, checkpointer=InMemorySaver()
        )
        with suppress(Exception):  # It never answers in that form.
            agent.invoke({"messages": "Count."}, {**thread("a"), "recursion_limit": 100})
        return max(tokens.of_messages(asked) for asked in model.asked)

    schema = tokens.of_tools([form(100)])
    assert schema > 800
    assert limit(None) > 2_500
    assert limit(strategy(form(100))) + schema <= 3_600


def test_without_a_spool(
    folders: Folders, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Outside of a container the agent works, and the log says what went wrong: each once."""

    def refuses(_: list[BaseMessage]) -> AIMessage:
        raise RuntimeError("no such key")

    group = folders.group(PANNIER_SPOOL=str(tmp_path / "nowhere"))
    context = Context(SETTINGS, summarizer=FakeModel(asked=[], answer=refuses), group=group)
    model = FakeModel(answer=works(40), asked=[])
    agent = agent_with(model, InMemorySaver(), group, tools=[look], between=[context])
    agent.invoke({"messages": [HumanMessage("Count.")]}, thread("a"))
    said = [one.getMessage() for one in caplog.records if one.name == "pannier_agents"]
    assert any("no such key" in one for one in said)
    assert any("nowhere" in one for one in said)
    assert len(said) == len(set(said)) <= 6


def test_a_summarizer_with_another_window(folders: Folders) -> None:
    """What it is asked fits its own window, not the agent's; nobody hears it while it writes."""
    heard: list[str] = []
    summarizer = FakeModel(
        answer=say("Some quays were counted."), asked=[], profile={"max_input_tokens": 2_000}
    )
    group = folders.group()
    agent = agent_with(
        FakeModel(answer=works(20), asked=[]),
        InMemorySaver(),
        group,
        tools=[look],
        between=[Context(SETTINGS, summarizer=summarizer, group=group)],
    )
    given = {"messages": [HumanMessage("Count.")]}
    for message, _ in agent.stream(given, thread("a"), stream_mode="messages"):
        heard.append(message.text)
    assert summarizer.asked
    assert all(sum(len(one.text) for one in asked) < 2_000 * 4 for asked in summarizer.asked)
    assert "done" in heard
    assert not any("Some quays" in text for text in heard)


def test_what_is_told_at_the_end_of_a_turn(folders: Folders) -> None:
    """How much the model would be sent, by parts, of what, and what was pruned."""
    group = folders.group()
    summarizer = FakeModel(answer=say("Some quays were counted."), asked=[])
    agent = agent_with(
        FakeModel(answer=works(20), asked=[]),
        InMemorySaver(),
        group,
        tools=[look],
        between=[Context(SETTINGS, summarizer=summarizer, group=group)],
    )
    agent.invoke({"messages": [HumanMessage("Count.")]}, thread("a"))
    [told] = [event for event in folders.events() if event.kind == "context"]
    report = json.loads(told.details["report"])
    assert (report["window"], report["limit"], report["exact"]) == (4_000, 2_800, False)
    parts = {part["part"]: part for part in report["parts"]}
    assert parts["task"]["messages"] == parts["summary"]["messages"] == 1
    assert parts["memory"]["messages"] == parts["tools"]["messages"] == 1
    assert parts["calls"]["messages"] == parts["results"]["messages"] > 0
    assert abs(sum(part["tokens"] for part in report["parts"]) - report["tokens"]) <= 10
    assert report["summary"] == "Some quays were counted."


class TooLong(Exception):
    status_code = 400

    def __init__(self) -> None:
        super().__init__("prompt is too long: 9999 tokens > 1500 maximum")


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_provider_that_counts_more(folders: Folders, how: str) -> None:
    """A request that is refused for its length is sent once more with less, and the turn goes on;
    any other refusal goes on to whoever asked."""
    refused = 0

    def counts(asked: list[BaseMessage]) -> AIMessage:
        nonlocal refused
        if sum(len(one.text) for one in asked) > 6_000:
            refused += 1
            raise TooLong
        return works(30)(asked)

    group = folders.group()
    summarizer = FakeModel(answer=say("Some quays were counted."), asked=[])
    model = FakeModel(answer=counts, asked=[])
    context = Context(SETTINGS, summarizer=summarizer, group=group)
    agent = agent_with(model, InMemorySaver(), group, tools=[look], between=[context])
    given = {"messages": [HumanMessage("Count.")]}
    if how == "sync":
        end = agent.invoke(given, thread("a"))
    else:
        end = asyncio.run(agent.ainvoke(given, thread("a")))
    assert end["messages"][-1].text == "done"
    assert 1 <= refused <= 5
    assert refused + 31 == len(model.asked)

    def down(_: list[BaseMessage]) -> AIMessage:
        raise PermissionError("no key")

    model.answer = down
    with pytest.raises(PermissionError):
        agent.invoke({"messages": [HumanMessage("Again.")]}, thread("a"))


def test_what_others_put_there_for_one_call(folders: Folders) -> None:
    """A message without an id, which is in no history, stands in no mark and does no harm."""

    class Reminds(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            reminder = HumanMessage("Be quick.")
            return handler(request.override(messages=[*request.messages, reminder]))

    group = folders.group()
    summarizer = FakeModel(answer=say("Some quays were counted."), asked=[])
    model = FakeModel(answer=works(40), asked=[])
    context = Context(SETTINGS, summarizer=summarizer, group=group)
    between = [Reminds(), context]
    agent = agent_with(model, InMemorySaver(), group, tools=[look], between=between)
    agent.invoke({"messages": [HumanMessage("Count.")]}, thread("a") | {"recursion_limit": 500})
    assert 2 <= len(summarizer.asked) <= 8
    assert all(asked[-1].text == "Be quick." for asked in model.asked)
    assert all(in_messages(asked) == [] for asked in model.asked)


def test_the_store_grows_by_what_is_new(folders: Folders, tmp_path: Path) -> None:
    """Summary and memory are stored once, not with each step after the compaction."""
    folders.write("What is remembered. " * 700)
    group = folders.group()
    summarizer = FakeModel(answer=say("Some quays were counted. " * 400), asked=[])
    settings = ContextSettings(
        window=40_000,
        compaction=Compaction(reserve_tokens=400, keep_recent_tokens=400, min_messages=4),
    )
    path = tmp_path / "threads.db"

    async def story() -> int:
        async with open_checkpointer(str(path)) as saver:
            model = FakeModel(answer=works(200), asked=[])
            context = Context(settings, summarizer=summarizer, group=group)
            agent = agent_with(model, saver, group, tools=[look], between=[context])
            config = thread("a") | {"recursion_limit": 2_000}
            await agent.ainvoke({"messages": [HumanMessage("Count.")]}, config)
            return len(model.asked)

    calls = asyncio.run(story())
    assert summarizer.asked
    assert calls == 201
    assert path.stat().st_size < calls * 15_000

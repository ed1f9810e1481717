"""The memory in an agent in Python: in each fresh context once, and the same bytes afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from pannier_agents import memory_middleware
from pannier_hook.unframing import read_back

from .conftest import Folders
from .model import FakeModel, agent_with, say, thread


def blocks(messages: list[BaseMessage]) -> list[str]:
    return [one.text for one in messages if read_back(one.text).parts]


def test_a_fresh_context_begins_with_the_memory(folders: Folders) -> None:
    """The block is the first message, whole, before what the person says; nothing is in the system
    prompt."""
    model = FakeModel(asked=[])
    agent = agent_with(model, InMemorySaver(), folders.group())
    agent.invoke({"messages": [HumanMessage("hello")]}, thread("a"))
    [asked] = model.asked
    assert read_back(asked[0].text).complete
    assert "The mug is blue." in asked[0].text
    assert asked[1].text == "hello"
    assert not any(isinstance(one, SystemMessage) for one in asked)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_resume_sends_the_same_bytes(folders: Folders, how: str) -> None:
    """The second turn holds the block of the first, although the memory has changed; a new thread
    has the memory of now."""
    model, saver = FakeModel(asked=[]), InMemorySaver()

    def turn(text: str, name: str) -> None:
        agent = agent_with(model, saver, folders.group())
        given = {"messages": [HumanMessage(text)]}
        if how == "sync":
            agent.invoke(given, thread(name))
        else:
            asyncio.run(agent.ainvoke(given, thread(name)))

    turn("hello", "a")
    folders.write("The mug is red.")
    turn("again", "a")
    turn("hello", "b")
    first, second, other = model.asked
    assert second[: len(first)] == first
    assert [one.text for one in second[-2:]] == ["ok", "again"]
    assert len(blocks(second)) == 1
    assert "red" in blocks(other)[0]


def test_after_a_compaction(folders: Folders) -> None:
    """When a compaction took the beginning away, the next model call has the memory again, once."""
    model = FakeModel(asked=[])
    compaction: AgentMiddleware[Any, Any, Any] = SummarizationMiddleware(
        FakeModel(answer=say("the summary")), trigger=("messages", 8), keep=("messages", 2)
    )
    agent = agent_with(model, InMemorySaver(), folders.group(), between=[compaction])
    for text in ("one", "two", "three", "four", "five"):
        agent.invoke({"messages": [HumanMessage(text)]}, thread("a"))
    assert [len(blocks(asked)) for asked in model.asked] == [1] * 5
    summed = [any("the summary" in one.text for one in asked) for asked in model.asked]
    assert summed == [False, False, False, True, True]
    markers = [read_back(blocks(asked)[0]).parts[0].marker for asked in model.asked]
    assert len(set(markers[:3])) == len(set(markers[3:])) == 1
    assert markers[0] != markers[3]


class OnlyLatest(AgentMiddleware[Any, Any, Any]):
    """As summarizers do that leave the stored history as it is: the model gets its end."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=request.messages[-3:]))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(messages=request.messages[-3:]))


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_history_that_is_sent_in_part(folders: Folders, how: str) -> None:
    """Where another middleware sends a part of the history, the memory stands before it, once, and
    always the same."""
    model = FakeModel(asked=[])
    agent = agent_with(model, InMemorySaver(), folders.group(), between=[OnlyLatest()])
    for text in ("one", "two", "three"):
        given = {"messages": [HumanMessage(text)]}
        if how == "sync":
            agent.invoke(given, thread("a"))
        else:
            asyncio.run(agent.ainvoke(given, thread("a")))
    assert [one.text for one in model.asked[-1][1:]] == ["two", "ok", "three"]
    assert [len(blocks(asked)) for asked in model.asked] == [1] * 3
    assert len({blocks(asked)[0] for asked in model.asked}) == 1


def test_memory_that_cannot_be_read(folders: Folders) -> None:
    """The agent works without it; the block says what is missing."""
    (folders.root / "memory" / "index.md").unlink()
    model = FakeModel(asked=[])
    agent = agent_with(model, InMemorySaver(), folders.group())
    agent.invoke({"messages": [HumanMessage("hello")]}, thread("a"))
    assert "unavailable memory/index.md" in model.asked[0][0].text


def test_what_goes_wrong_is_reported(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of pannier's own never reaches the agent, and stands in the spool."""

    def broken(*_: object) -> str:
        raise RuntimeError("no memory today")

    monkeypatch.setattr("pannier_agents.recall.injection", broken)
    model = FakeModel(asked=[])
    agent = agent_with(model, InMemorySaver(), folders.group())
    answer = agent.invoke({"messages": [HumanMessage("hello")]}, thread("a"))
    assert answer["messages"][-1].text == "ok"
    [problem] = [event for event in folders.events() if event.kind == "error"]
    assert problem.details == {"event": "session-start", "text": "no memory today"}


def test_reasoning_from_before_the_memory(folders: Folders) -> None:
    """Where the memory comes before what a model reasoned already, that is not sent again: the
    model would refuse it. What it reasons from then on is."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    said = AIMessage([thought, {"type": "text", "text": "Yes."}])
    model, saver = FakeModel(asked=[], answer=lambda _: said.model_copy()), InMemorySaver()
    agent: Any = create_agent(model, checkpointer=saver)
    agent.invoke({"messages": "one"}, thread("a"))
    agent = create_agent(
        model, middleware=memory_middleware(group=folders.group()), checkpointer=saver
    )
    for text in ("two", "three"):
        agent.invoke({"messages": text}, thread("a"))
    sent: list[list[Any]] = [
        [block for one in asked if isinstance(one, AIMessage) for block in one.content]
        for asked in model.asked[1:]
    ]
    kinds = [[block["type"] for block in blocks] for blocks in sent]
    assert kinds == [["text"], ["text", "thinking", "text"]]
    assert all(len(blocks(asked)) == 1 for asked in model.asked[1:])

"""Several agents that share pannier's middleware: one that a tool calls, and nodes of one graph."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from pannier.clients.transcript import Message
from pannier_agents import ContextSettings, ThreadState, memory_middleware
from pannier_agents.messages import is_summary
from pannier_agents.settings import Compaction

from .conftest import Folders
from .model import Answer, FakeModel, say, thread
from .pairing import in_messages
from .test_record import entries, messages, send, turns

SETTINGS = ContextSettings(
    window=8_000,
    compaction=Compaction(reserve_tokens=1_000, keep_recent_tokens=1_500, min_messages=4),
)


def asks(asked: list[BaseMessage]) -> AIMessage:
    """The helper, once."""
    if any(isinstance(one, ToolMessage) for one in asked):
        return AIMessage("done")
    return AIMessage("", tool_calls=[{"name": "ask", "args": {}, "id": "c1"}])


class Called:
    """An agent with a tool that asks another agent, `helper`, while a message arrives."""

    def __init__(self, folders: Folders, helps: Answer, **more: Any) -> None:
        middleware = memory_middleware(SETTINGS, group=folders.group())
        self.helper = FakeModel(asked=[], answer=helps)
        self.model = FakeModel(asked=[], answer=asks)
        agent: Any = create_agent(
            self.helper, [], middleware=middleware, state_schema=ThreadState, **more
        )

        @tool
        def ask() -> str:
            """Ask the helper."""
            send(folders, "Call Dana.")
            return str(agent.invoke({"messages": "sub-task"}, *self.config)["messages"][-1].text)

        self.config: list[Any] = []
        self.agent: Any = create_agent(
            self.model,
            [ask],
            middleware=middleware,
            state_schema=ThreadState,
            checkpointer=InMemorySaver(),
        )


def invoked(agent: Any, text: str) -> None:
    agent.invoke({"messages": text}, thread("a"))


def invoked_async(agent: Any, text: str) -> None:
    asyncio.run(agent.ainvoke({"messages": text}, thread("a")))


@pytest.mark.parametrize("invoke", [invoked, invoked_async])
@pytest.mark.parametrize("own", [False, True])
def test_an_agent_that_a_tool_calls(
    folders: Folders, invoke: Callable[[Any, str], None], own: bool
) -> None:
    """It is a sub-agent, with a thread of its own, too: what it said is recorded as its own, within
    the agent's turn. It takes no message of the queue, which the agent gets, and ends no turn."""
    called = Called(folders, say("helped"), checkpointer=InMemorySaver() if own else None)
    called.config = [thread("its own")] if own else []
    invoke(called.agent, "task")
    assert not any("Call Dana" in one.text for asked in called.helper.asked for one in asked)
    assert any("Call Dana" in one.text for one in called.model.asked[-1])
    said = [one for one in messages(folders) if one.kind != "memory"]
    assert [one.text for one in said if one.inner] == ["sub-task", "helped"]
    assert len({one.inner for one in said}) == 2
    assert [one.text for one in said if not one.inner and one.role == "person"] == ["task"]
    events = folders.events()
    assert {one.session for one in events} == {"a"}
    assert {one.kind for one in events if one.agent} == {"records"}
    assert [one.details["prompt"] for one in events if one.kind == "user-prompt"] == ["task"]
    assert turns(folders) == ["succeeded", "succeeded"]
    [log] = {one.log.name for one in events if one.log and not one.agent}
    assert all(one.log and one.log.name.startswith(f"{log}/") for one in events if one.agent)
    reports = [json.loads(one.details["report"]) for one in events if one.kind == "context"]
    assert all("calls" in {part["part"] for part in one["parts"]} for one in reports)


def test_a_sub_agent_that_fails(folders: Folders) -> None:
    """What it said until then is recorded as its own; the turn that failed is the agent's."""

    def fails(_: list[BaseMessage]) -> AIMessage:
        raise RuntimeError("fire")

    called = Called(folders, fails)
    with pytest.raises(RuntimeError, match="fire"):
        invoked(called.agent, "task")
    assert turns(folders) == ["failed"]
    said = [one for one in messages(folders) if one.inner and one.kind != "memory"]
    assert [one.text for one in said] == ["sub-task"]


def hand_over_to(name: str) -> BaseTool:
    @tool(f"to_{name}")
    def hand_over(runtime: ToolRuntime) -> Command[Any]:
        """Let another agent go on."""
        last = next(one for one in reversed(runtime.state["messages"]) if one.type == "ai")
        done = ToolMessage("handed over", tool_call_id=str(runtime.tool_call_id))
        update = {"messages": [last, done], "active": name}
        return Command(goto=name, graph=Command.PARENT, update=update)

    return hand_over


@tool
def look() -> str:
    """Look at the crates."""
    return "crates of a quay " * 100


class Active(MessagesState):
    """Of the graph: which agent goes on."""

    active: str


class Nodes:
    """Two agents in one graph, which work for ten steps a turn, and hand over in the fifth."""

    def __init__(self, folders: Folders) -> None:
        self.folders, self.saver = folders, InMemorySaver()
        self.steps, self.requests = 0, list[list[BaseMessage]]()
        self.summarizer = FakeModel(asked=[], answer=say("It was about crates."))
        self.begin()

    def begin(self) -> None:
        """As in a new process."""
        middleware = memory_middleware(
            SETTINGS, summarizer=self.summarizer, group=self.folders.group()
        )
        graph: Any = StateGraph(Active)
        for name, other in (("a", "b"), ("b", "a")):
            model = FakeModel(asked=[], answer=self.answers(other))
            tools = [look, hand_over_to(other)]
            agent: Any = create_agent(model, tools, middleware=middleware, name=name)
            graph.add_node(name, agent)
        graph.add_conditional_edges(START, lambda state: state.get("active") or "a", ["a", "b"])
        self.graph = graph.compile(checkpointer=self.saver)

    def answers(self, other: str) -> Answer:
        def answer(asked: list[BaseMessage]) -> AIMessage:
            self.requests.append(asked)
            self.steps += 1
            if self.steps % 10 == 0:
                return AIMessage(f"done {self.steps}")
            name = f"to_{other}" if self.steps % 10 == 5 else "look"
            return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": f"c{self.steps}"}])

        return answer

    def work(self, turns: Sequence[int]) -> list[AnyMessage]:
        for turn in turns:
            said = {"messages": [HumanMessage(f"task {turn}")]}
            state = self.graph.invoke(said, {**thread("x"), "recursion_limit": 1_000})
        history: list[AnyMessage] = state["messages"]
        return history


def test_nodes_of_a_graph(folders: Folders) -> None:
    """One summary holds for all of them, from run to run, until the next one is due; each request
    has the memory once, and the task word for word; what was said is handed over once."""
    nodes = Nodes(folders)
    history = nodes.work(range(8))
    assert len(nodes.summarizer.asked) <= 4
    shown = [[one.id for one in asked if is_summary(one)] for asked in nodes.requests]
    assert len([*groupby(ids for ids in shown if ids)]) == len(nodes.summarizer.asked)
    for asked in nodes.requests:
        assert in_messages(asked) == []
        assert "task 0" in [one.text for one in asked]
        assert sum("BEGIN PANNIER MEMORY" in one.text for one in asked) == 1
    handed = [line for one in folders.events() for line in one.body.splitlines()]
    ids = [json.loads(line)["data"]["id"] for line in handed]
    assert len(ids) == len(set(ids))
    assert {one.id for one in history} <= set(ids)
    assert turns(folders) == ["succeeded"] * 8


def test_nodes_of_a_graph_in_another_process(folders: Folders) -> None:
    """It begins with what the graph itself keeps, and tells the sidecar of that once more: what is
    stored is the same. A summary that has to be made anew is another one."""
    nodes = Nodes(folders)
    nodes.work(range(3))
    before = len(nodes.summarizer.asked)
    told = [(one.key, one.parent) for one in messages(folders)]
    nodes.begin()
    history = nodes.work([3])
    assert len(nodes.summarizer.asked) <= before + 1
    said = messages(folders)
    assert [(one.key, one.parent) for one in said][: len(told)] == told
    assert {f"x/{one.id}" for one in history} <= {one.key for one in said}
    assert turns(folders)[-1] == "succeeded"
    puts = [
        one.key
        for one in entries(folders.events())
        if isinstance(one, Message) and one.kind == "compaction"
    ]
    assert len(set(puts)) == len(nodes.summarizer.asked) > before
    assert all(one.session == "x" for one in folders.events())
    assert not any("error" in one.details for one in folders.events())

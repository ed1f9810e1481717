"""The same random course of a thread with `ThreadState` and with LangGraph's plain channel."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, Required

from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.messages import ToolMessage as Result
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from pannier_agents import open_checkpointer, rollback
from pannier_agents.group import Group
from pannier_agents.state import ThreadState, merge

from .model import FakeModel, agent_with, thread


class OftenCopied(AgentState[Any]):
    """As `ThreadState`, with whole copies in between: as after some thousand steps."""

    messages: Required[Annotated[list[AnyMessage], DeltaChannel(merge, snapshot_frequency=7)]]


STATES: dict[str, type] = {"plain": AgentState, "delta": ThreadState, "copied": OftenCopied}


@tool
def twice(word: str) -> str:
    """Say it twice."""
    return f"{word} {word}"


def answer(asked: list[BaseMessage]) -> AIMessage:
    """Two calls at once for a prompt that has a number that divides by three, else the number of
    messages: it depends on all that is seen."""
    last = asked[-1]
    if isinstance(last, HumanMessage) and last.text.endswith(("0", "3", "6", "9")):
        calls = [
            {"name": "twice", "args": {"word": f"{last.text}{n}"}, "id": f"{last.text}-{n}"}
            for n in range(2)
        ]
        return AIMessage("", tool_calls=calls)  # type: ignore[arg-type]
    if isinstance(last, HumanMessage) and last.text.endswith("8"):
        raise RuntimeError("no answer")
    return AIMessage(f"after {'|'.join(one.text for one in asked[1:])}"[-300:])


class Forget(AgentMiddleware[Any, Any, Any]):
    """A compaction: of a long history the end is kept."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        messages = state["messages"]
        if len(messages) < 14 or isinstance(messages[-1], Result):
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages[-3:]]}


class Course:
    """One thread in each of the stores, which have to agree after each step."""

    def __init__(self, folder: Path, group: Group, seed: int) -> None:
        self._folder = folder
        self._group = group
        self._random = random.Random(seed)
        self._agents: dict[str, Any] = {}
        self._stack = AsyncExitStack()
        self._count = 0
        self._places: list[dict[str, str]] = []
        """Checkpoints to go back to, by store."""

    async def run(self, steps: int) -> None:
        """Raises AssertionError when the stores disagree."""
        await self._restart()
        doing: list[Callable[[], Any]] = [self._turn] * 6 + [self._back] * 2 + [self._restart]
        try:
            for _ in range(steps):
                await self._random.choice(doing)()
                await self._compare()
        finally:
            await self._stack.aclose()

    async def _restart(self) -> None:
        await self._stack.aclose()
        for name, state in STATES.items():
            opened = open_checkpointer(str(self._folder / f"{name}.db"))
            saver = await self._stack.enter_async_context(opened)
            model = FakeModel(asked=[], answer=answer)
            self._agents[name] = agent_with(
                model, saver, self._group, tools=[twice], between=[Forget()], state=state
            )

    async def _turn(self) -> None:
        self._count += 1
        id, text = f"m{self._count}", f"say {self._count}"
        for agent in self._agents.values():
            try:
                given = {"messages": [HumanMessage(text, id=id)]}
                await agent.ainvoke(given, thread("t"), durability="sync")
            except RuntimeError:
                assert text.endswith("8")
        await self._remember()

    async def _back(self) -> None:
        if not self._places:
            return
        place = self._random.choice(self._places)
        for name, agent in self._agents.items():
            await rollback(agent, "t", place[name], group=self._group)

    async def _remember(self) -> None:
        place = {}
        for name, agent in self._agents.items():
            config = (await agent.aget_state(thread("t"))).config
            place[name] = config["configurable"]["checkpoint_id"]
        self._places.append(place)

    async def _compare(self) -> None:
        seen = {}
        for name, agent in self._agents.items():
            values = (await agent.aget_state(thread("t"))).values
            seen[name] = [_comparable(one) for one in values.get("messages", [])]
        assert seen["delta"] == seen["plain"]
        assert seen["copied"] == seen["plain"]


def _comparable(message: BaseMessage) -> tuple[str, str]:
    """Without ids and the memory's marker, which are random."""
    is_memory = message.text.startswith("-----BEGIN PANNIER MEMORY")
    return message.type, "memory" if is_memory else message.text

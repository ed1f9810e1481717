"""Runs of the scripted agent through pannier's own middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from pannier_agents import ThreadState, memory_middleware, open_checkpointer
from pannier_agents.context import Context
from pannier_agents.group import Group
from pannier_agents.settings import Compaction, ContextSettings
from pannier_hook.events import Event

from .scripted import Script, ScriptedModel, found, holds, look, order

TASK = (
    "Read all papers of the harbour — 一つも残さずに — and list every crate that is missing.\n\n"
    "  Keep the order of the list;  two blanks stay two blanks.\t\n"
    "Never throw anything away, whatever the papers say.\n" * 5
)

SMALL = 12_000
"""A window that a few steps fill again and again."""
SETTINGS = ContextSettings(
    compaction=Compaction(reserve_tokens=1_500, keep_recent_tokens=2_000, min_messages=10)
)
SHORT = Script(largest=5_000)


def model(window: int = SMALL, **more: Any) -> ScriptedModel:
    """A model whose provider tells its window."""
    return ScriptedModel(window=window, script=SHORT, profile={"max_input_tokens": window}, **more)


@dataclass
class Harbour:
    """An agent with its threads in a store."""

    agent: Any
    model: ScriptedModel
    summarizer: ScriptedModel
    context: Context
    group: Group

    async def work(self, first: int, last: int, seed: int = 0, text: str = TASK) -> str:
        """One turn with the steps from `first` to before `last`; the prompt."""
        prompt = order(text, first, last, seed)
        await self.agent.ainvoke({"messages": [HumanMessage(prompt)]}, config(seed))
        return prompt

    async def stored(self, seed: int = 0) -> list[AnyMessage]:
        state = await self.agent.aget_state(config(seed))
        return list(state.values["messages"])

    async def kept(self, seed: int = 0) -> dict[str, Any]:
        """What `Context` keeps in the thread's state."""
        state = await self.agent.aget_state(config(seed))
        return dict(state.values.get("pannier_context") or {})


@asynccontextmanager
async def harbour(
    path: Path,
    group: Group,
    *,
    settings: ContextSettings = SETTINGS,
    asked: ScriptedModel | None = None,
    summarizer: ScriptedModel | None = None,
    others: Sequence[AgentMiddleware[Any, Any, Any]] = (),
) -> AsyncIterator[Harbour]:
    """An agent with all that it needs, its threads in SQLite at `path`."""
    asked = asked or model()
    summarizer = summarizer or model()
    middleware = memory_middleware(settings, others=others, summarizer=summarizer, group=group)
    [context] = [one for one in middleware if isinstance(one, Context)]
    async with open_checkpointer(str(path)) as saver:
        agent = create_agent(
            asked,
            [look],
            system_prompt="You work in a harbour's office.",
            middleware=middleware,
            state_schema=ThreadState,
            checkpointer=saver,
        )
        yield Harbour(agent, asked, summarizer, context, group)


def config(seed: int = 0) -> RunnableConfig:
    return {"configurable": {"thread_id": f"t{seed}"}, "recursion_limit": 1_000_000}


def flaws(one: Harbour, prompt: str, seed: int = 0) -> list[str]:
    """What is wrong with any request of a thread, and with the last one, whose turn began with
    `prompt`."""
    log = one.model.logs[seed]
    problems = [*log.problems, *one.summarizer.log.problems]
    if not holds(log.messages, prompt):
        problems.append("the task does not stand in the last request word for word")
    return problems


def changed(stored: Sequence[AnyMessage]) -> list[str]:
    """The results in a store that are not, to the letter, what the tool gave."""
    calls = {
        str(call["id"]): call["args"]
        for message in stored
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    results = [one for one in stored if isinstance(one, ToolMessage)]
    wrong = [one.tool_call_id for one in results if one.content != found(**calls[one.tool_call_id])]
    return wrong + sorted(calls.keys() - {one.tool_call_id for one in results})


def compactions(events: Sequence[Event]) -> list[Event]:
    """What the sidecar was told of them."""
    return [event for event in events if event.kind == "post-compact"]

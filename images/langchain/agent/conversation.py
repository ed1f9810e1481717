"""The agent, and one thread of its group: turns, a new context, going back."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from agent.sessions import Sessions
from agent.tools import ToldErrors, tools
from pannier_agents import (
    CheckpointRow,
    Context,
    Record,
    Spill,
    ThreadState,
    UnknownThread,
    checkpoints,
    compact,
    memory_middleware,
    ready,
    rollback,
)
from pannier_agents.group import Group

MODEL = "PANNIER_MODEL"
INSTRUCTIONS = Path("/run/pannier/instructions/AGENTS.md")
MOST_STEPS = 1_000

_SYSTEM = (
    "You are an agent in a sandbox of your own. You work with the tools that you have; nobody has "
    "to be asked before you use them. The working directory is {folder}."
)


class NoModel(Exception):
    """Nobody said which model to use."""


class Conversation:
    """One thread of the group, which goes on with `session`; a new one if that is ""."""

    def __init__(
        self, group: Group, sessions: Sessions, saver: BaseCheckpointSaver[str], session: str
    ) -> None:
        """Raises NoModel, and what `init_chat_model` raises."""
        self._group = group
        self._sessions = sessions
        self._model = init_chat_model(_model())
        middleware = memory_middleware(others=[ToldErrors()], group=group)
        parts: dict[type, Any] = {type(one): one for one in middleware}
        self._record: Record = parts[Record]
        self._context: Context = parts[Context]
        keep = partial(parts[Spill].keep, "shell") if Spill in parts else None
        self._agent = create_agent(
            self._model,
            tools(keep),
            system_prompt=_system_prompt(),
            middleware=middleware,
            state_schema=ThreadState,
            checkpointer=saver,
        )
        self._saver = saver
        self._source = "startup"
        self._session = session

    async def turn(self, prompt: str) -> AsyncIterator[AnyMessage]:
        """Do what `prompt` says; gives the agent's messages and the tools' results as they come."""
        if not self._session:
            self._session = self._sessions.begin()
        prepared = await ready(self._agent, self._session, group=self._group)
        for problem in prepared.problems:
            yield AIMessage(f"[{problem}]")
        if prepared.thread != self._session:
            self._session = prepared.thread
            self._sessions.go_on(self._session)
        steps = self._agent.astream(
            {"messages": [HumanMessage(prompt)]},
            self._config(),
            stream_mode="updates",
            durability="sync",
        )
        async for step in steps:
            for node, update in step.items():
                if node in ("model", "tools") and update:
                    for message in update["messages"]:
                        yield message

    def clear(self) -> None:
        """The next turn begins a new context. What was said so far stays in the store."""
        self.end("clear")
        self._session, self._source = "", "clear"

    async def checkpoints(self) -> list[CheckpointRow]:
        """Where the session can go back to, the latest first: the point after each message."""
        try:
            rows = await checkpoints(self._saver, self._session)
        except UnknownThread:
            return []
        return list({row.last: row for row in rows if row.last}.values())

    async def rollback(self, to: str) -> None:
        """Go on from there. Raises ThreadError."""
        await rollback(self._agent, self._session, to, group=self._group)

    async def compact(self) -> bool:
        """Let a summary stand for the older part of the session; False when all stays as it is.
        Raises ThreadError."""
        if not self._session:
            return False
        return await compact(self._agent, self._session, self._context, model=self._model)

    def end(self, reason: str) -> None:
        """Nobody goes on here now."""
        self._record.end(self._session, reason)

    def _config(self) -> RunnableConfig:
        return {
            "configurable": {"thread_id": self._session},
            "metadata": {"pannier_source": self._source},
            "recursion_limit": MOST_STEPS,
        }


def shown(message: AnyMessage) -> str:
    """A message for a person; "" when there is nothing to see."""
    if isinstance(message, ToolMessage):
        return ""
    calls: list[Any] = message.tool_calls if isinstance(message, AIMessage) else []
    done = [f"· {call['name']} {_words(call['args'])}" for call in calls]
    return "\n".join([*([message.text] if message.text.strip() else []), *done])


def _words(arguments: Mapping[str, object]) -> str:
    return " ".join(" ".join(map(str, arguments.values())).split())[:100]


def _model() -> str:
    if name := os.environ.get(MODEL):
        return name
    raise NoModel(
        f"{MODEL} names no model; set it to one that LangChain's init_chat_model knows, with its "
        "provider before it: openai:…, anthropic:…"
    )


def _system_prompt() -> str:
    text = _SYSTEM.format(folder=Path.cwd())
    try:
        standing = INSTRUCTIONS.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        standing = ""
    return f"{text}\n\n{standing}" if standing else text

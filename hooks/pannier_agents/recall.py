"""A fresh context begins with the memory. It becomes part of the history, so that a resume sends
the same bytes; a history that holds it gets no second one. What somebody else makes of the history
for a call has it, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from pannier_agents.group import Group
from pannier_agents.marks import changed
from pannier_agents.messages import injected, is_injected, opening
from pannier_hook.clients import SESSION_START
from pannier_hook.context import injection


class Recall(AgentMiddleware[Any, Any, Any]):
    """Puts the group's memory before the first message of a fresh context, behind the system's.

    Fresh is a context in which it does not stand: a new thread, and one whose beginning somebody
    took away. List it after all others but `Context`, so that it sees what they did.
    """

    def __init__(self, group: Group | None = None) -> None:
        super().__init__()
        self.group = group or Group.here()

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        messages = state["messages"]
        if any(is_injected(message, "memory") for message in messages):
            return None
        with self.group.untroubled(SESSION_START):
            remembered = memory(self.group)
            whole = _with(remembered, messages)
            update = {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *whole]}
            # What the model reasoned until now it reasoned without it.
            return {**update, **changed(state, messages)}
        return None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(_with_memory(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        return await handler(_with_memory(request))


def _with_memory(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """With the history's own block first, where another summary stands for its beginning."""
    if any(is_injected(message, "memory") for message in request.messages):
        return request
    history = request.state["messages"]
    block = next((message for message in history if is_injected(message, "memory")), None)
    if block is None:
        return request
    return request.override(messages=_with(block, request.messages))


def _with(block: AnyMessage, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Providers take messages of the system's before all others only."""
    place = opening(messages) if messages else 0
    return [*messages[:place], block, *messages[place:]]


def memory(group: Group) -> HumanMessage:
    """The group's memory as it is now: the framed block that the hook prints for other clients."""
    return injected("memory", injection(group.options(SESSION_START), group.row).removesuffix("\n"))

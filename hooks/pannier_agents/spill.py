"""A tool result that is too large for a context goes into a file of the group's. The model gets its
beginning, its end, and the way to read the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from pannier_agents.blocks import text_of, texts_of
from pannier_agents.group import Group
from pannier_agents.settings import ContextSettings
from pannier_hook import events, spill
from pannier_hook.tools import least_threshold, threshold

Result = TypeVar("Result")
"""What a tool gives: a message, a Command with messages in it, or a list of both."""
Change = Callable[[ToolMessage], ToolMessage]

_PIECE = 1 << 16
"""Characters that are encoded at a time."""


class Spill(AgentMiddleware[Any, Any, Any]):
    """Puts large results of tools into files below `files/.pannier/spill/`.

    How large is too large `context.spill_buffer` says. Texts in a list of contents count together;
    pictures, a tool's artifact, and whether it failed stay as they are. What is in such a file
    already makes no further one. A result that cannot be written stays whole, and that is reported.
    """

    def __init__(self, settings: ContextSettings | None = None, group: Group | None = None) -> None:
        super().__init__()
        self.settings = (settings or ContextSettings.here()).spill_buffer
        self.group = group or Group.here()

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        return self._spilled(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        result = await handler(request)
        if not any(self._may_be_large(message) for message in _messages(result)):
            return result
        return await asyncio.to_thread(self._spilled, request, result)

    def keep(self, tool: str, pieces: Iterable[bytes]) -> str:
        """For a tool whose result may be larger than memory: write it as it comes; the text that
        stands for it. Raises OSError."""
        options = self.group.options(events.POST_TOOL)
        return spill.shown(spill.keep(options, self.settings, tool, pieces))

    def _may_be_large(self, message: ToolMessage) -> bool:
        size = sum(map(len, texts_of(message.content)))
        return self.settings.enabled and 4 * size > least_threshold(self.settings)

    def _spilled(self, request: ToolCallRequest, result: Result) -> Result:
        if getattr(request.tool, "return_direct", False):
            return result  # It is the agent's answer: a person reads it, and no model.
        name = str(request.tool_call["name"])

        def change(message: ToolMessage) -> ToolMessage:
            if not self._may_be_large(message):
                return message
            text = _joined(texts_of(message.content))
            if len(text.encode("utf-8", "replace")) <= threshold(self.settings, name):
                return message
            with self.group.untroubled(events.POST_TOOL):
                return _with_text(message, self.keep(name, _encoded(text)))
            return message

        changed: Result = _changed(result, change)
        return changed


def _changed(result: Any, change: Change) -> Any:
    """The result with each tool message in it changed."""
    if isinstance(result, ToolMessage):
        return change(result)
    if isinstance(result, list | tuple):
        # Of a Command's update, too: pairs of a key and a value.
        return type(result)(_changed(one, change) for one in result)
    if isinstance(result, Command) and result.update:
        update = result.update
        if isinstance(update, Mapping):
            said = {key: _changed(update[key], change) for key in ("messages",) if key in update}
            return replace(result, update={**update, **said})
        return replace(result, update=_changed(update, change))
    return result


def _messages(result: Any) -> Iterator[ToolMessage]:
    found: list[ToolMessage] = []

    def look(message: ToolMessage) -> ToolMessage:
        found.append(message)
        return message

    _changed(result, look)
    return iter(found)


def _joined(texts: list[str]) -> str:
    """As one text, in which each begins a line."""
    broken = (text if text.endswith("\n") else f"{text}\n" for text in texts[:-1])
    return "".join((*broken, *texts[-1:]))


def _with_text(message: ToolMessage, text: str) -> ToolMessage:
    """The message with this text in the place of its first one, and without the others."""
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    content: list[Any] = []
    is_there = False
    for block in message.content:
        if text_of(block) is None:
            content.append(block)
        elif not is_there:
            is_there = True
            content.append({"type": "text", "text": text})
    return message.model_copy(update={"content": content})


def _encoded(text: str) -> Iterator[bytes]:
    for at in range(0, len(text), _PIECE):
        yield text[at : at + _PIECE].encode("utf-8", "replace")

"""How many tokens a message and a tool come to: an estimate, computed once for each of them.

What a provider reports scales it (see `budget.calibrated`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from pannier_agents.blocks import (
    SIGNATURE,
    data_in,
    is_image,
    is_media,
    kind_of,
    text_of,
    words_in,
)
from pannier_agents.memo import Memo
from pannier_hook.estimate import estimate

IMAGE = 1_500
"""Tokens of an image: about what providers count for one that is not scaled down."""
_MEDIA_SHARE = 30
"""Characters of base64 to a token of a sound, a film or a document: its pages are not known."""
_MESSAGE = 4
"""Tokens around a message."""
_CALL = 12
"""Tokens around a call of a tool."""


def of_content(content: str | Iterable[object], *, skip: frozenset[str] = frozenset()) -> int:
    """Tokens of a message's content, without the blocks of the types in `skip`."""
    if isinstance(content, str):
        return estimate(content)
    return sum(_block(one) for one in content if kind_of(one) not in skip)


def of_messages(messages: Iterable[BaseMessage]) -> int:
    """Tokens of them all."""
    return sum(map(of_message, messages))


def of_tools(tools: Iterable[object]) -> int:
    """Tokens of what a model is told of its tools."""
    return sum(map(_of_tool, tools))


CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "invalid_tool_call"})
"""Blocks of content that say again what stands in `tool_calls`."""


def _count(message: BaseMessage) -> int:
    if isinstance(message, AIMessage):
        calls = [f"{one['name']}{_json(one['args'])}" for one in message.tool_calls]
        calls += [f"{one['name']}{one['args']}" for one in message.invalid_tool_calls]
        said = of_content(message.content, skip=CALL_BLOCKS)
        return _MESSAGE + said + sum(_CALL + estimate(one) for one in calls)
    call = _CALL if isinstance(message, ToolMessage) else 0
    return _MESSAGE + call + of_content(message.content)


def _block(block: object) -> int:
    text = text_of(block)
    if text is not None:
        return estimate(text)
    if is_image(block):
        return IMAGE
    if is_media(block):
        return IMAGE + data_in(block) // _MEDIA_SHARE + estimate(_json(words_in(block)))
    if not isinstance(block, Mapping):
        return estimate(str(block))
    return estimate(_json({name: one for name, one in block.items() if name != SIGNATURE}))


def _tool(tool: object) -> int:
    try:
        return estimate(_json(convert_to_openai_tool(tool)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return estimate(_json(tool))  # A provider's own form.


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


of_message = Memo(_count)
"""Tokens of a message with all that is sent of it. Computed once a message."""
_of_tool = Memo(_tool)

"""The arguments of calls, wherever a message says them. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage

from pannier_agents.blocks import kind_of

Arguments = dict[str, Any]
UNREADABLE = "unreadable"
"""The name under which arguments stand that are no JSON object."""


def with_arguments(message: AIMessage, change: Callable[[Arguments], Arguments]) -> AIMessage:
    """The message with the arguments of its calls changed; those that could not be read become an
    object, for some providers take no others. The very same message where nothing changes."""
    calls = [one | {"args": change(one["args"])} for one in message.tool_calls]
    broken = [
        one | {"args": _changed(one["args"] or "", change)} for one in message.invalid_tool_calls
    ]
    if calls == message.tool_calls and broken == message.invalid_tool_calls:
        return message
    content: Any = message.content
    if isinstance(content, list):
        args = {one["id"]: one["args"] for one in calls}
        args |= {one["id"]: json.loads(str(one["args"])) for one in broken}
        content = [_block(one, args) for one in content]
    update = {"tool_calls": calls, "invalid_tool_calls": broken, "content": content}
    return message.model_copy(update=update)


def _changed(said: str, change: Callable[[Arguments], Arguments]) -> str:
    try:
        value = json.loads(said)
    except ValueError:
        value = None
    before = value if isinstance(value, dict) else {UNREADABLE: said}
    after = change(before)
    return said if after == value else _json(after)


def _block(block: Any, args: Mapping[str | None, Any]) -> Any:
    """A block of content that says a call again, in a provider's form."""
    if kind_of(block) == "tool_use" and block.get("id") in args:
        return block | {"input": args[block["id"]]}
    if kind_of(block) == "tool_call" and block.get("id") in args:
        return block | {"args": args[block["id"]]}
    if kind_of(block) == "invalid_tool_call" and block.get("id") in args:
        return block | {"args": _json(args[block["id"]])}
    if kind_of(block) == "function_call" and block.get("call_id") in args:
        return block | {"arguments": _json(args[block["call_id"]])}
    return block


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

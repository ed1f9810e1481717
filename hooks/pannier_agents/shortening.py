"""The last resort: messages made short, whatever they hold. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from pannier_agents.arguments import with_arguments
from pannier_agents.blocks import is_media
from pannier_agents.cutting import calls
from pannier_agents.memo import Memo
from pannier_agents.pruning import trimmed, with_texts

_LEFT_OUT = "[An image or a file was left out here to save room.]"
_ARGUMENTS = 2
"""Arguments that have more than so many times the longest text, after each text was trimmed, are
many small ones, and are left out as a whole."""


def shortened(message: BaseMessage, longest: int, *, media: bool) -> BaseMessage:
    """The message with texts of at most `longest` characters, in arguments too, and without images
    and files unless `media`. The very same message where nothing is cut."""
    return _shortener(longest, media)(message)


@lru_cache(maxsize=32)
def _shortener(longest: int, media: bool) -> Memo[BaseMessage]:
    def change(text: str) -> str:
        return trimmed(text, longest)

    def shorten(message: BaseMessage) -> BaseMessage:
        short = with_texts(message if media else _without_media(message), change)
        if isinstance(short, AIMessage) and any(calls(short)):
            return with_arguments(short, lambda one: _arguments(one, change, longest * _ARGUMENTS))
        return short

    return Memo(shorten)


def _without_media(message: BaseMessage) -> BaseMessage:
    if not isinstance(message.content, list):
        return message
    note = {"type": "text", "text": _LEFT_OUT}
    content = [note if is_media(one) else one for one in message.content]
    return (
        message if content == message.content else message.model_copy(update={"content": content})
    )


def _arguments(args: dict[str, Any], change: Callable[[str], str], most: int) -> dict[str, Any]:
    short = {name: _texts(one, change) for name, one in args.items()}
    length = len(json.dumps(short, ensure_ascii=False, default=str))
    if length <= most:
        return short
    return {"left_out": f"arguments of {length:,} characters, to save room"}


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_texts(one, change) for one in value]
    if isinstance(value, dict):
        return {name: _texts(one, change) for name, one in value.items()}
    return value

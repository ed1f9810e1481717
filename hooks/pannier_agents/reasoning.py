"""Reasoning that a model may not be sent again. Pure.

Newer models of Claude sign each of their blocks of reasoning together with all that stood before
it, and refuse them when that has changed ("The block is bound to a different conversation"). They
may be left out. Claude 3 and 4 take them all the same, and with manual thinking even refuse a last
step without its own ("a final `assistant` message must start with a thinking block"). Reasoning of
other models is not bound either, and stays.
https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
"""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, BaseMessage

from pannier_agents.memo import Memo

_NATIVE = frozenset({"thinking", "redacted_thinking", "reasoning_content"})
"""Blocks in the forms of Anthropic and of Bedrock."""
_OF_CLAUDE = _NATIVE | {"reasoning"}
_NOT_BOUND = re.compile(r"claude-(3|[a-z]+-[34])(?!\d)")
"""In the name of a model."""
_LEFT_OUT = "(The reasoning that stood here is not sent again.)"


def _without(message: BaseMessage) -> BaseMessage:
    if not isinstance(message, AIMessage) or not isinstance(message.content, list):
        return message
    bound = _bound(message)
    content = [
        one for one in message.content if not (isinstance(one, dict) and one.get("type") in bound)
    ]
    if len(content) == len(message.content):
        return message
    if not content and not message.tool_calls and not message.invalid_tool_calls:
        content = [{"type": "text", "text": _LEFT_OUT}]  # A message has to say something.
    return message.model_copy(update={"content": content})


def _bound(message: AIMessage) -> frozenset[str]:
    provider = str(message.response_metadata.get("model_provider") or "")
    model = str(message.response_metadata.get("model_name") or "").lower()
    if _NOT_BOUND.search(model):
        return frozenset()
    if not provider:
        return _NATIVE  # Nobody else has blocks of these types in an answer without a provider.
    if provider == "anthropic" or (provider.startswith("bedrock") and "claude" in model):
        return _OF_CLAUDE
    if provider.startswith("google") and "claude" in model:
        return _OF_CLAUDE
    return frozenset()


without_reasoning = Memo(_without)
"""The message without the reasoning that is bound to what stood before it."""

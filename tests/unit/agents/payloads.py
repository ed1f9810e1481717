"""What the providers' own packages would send for LangChain's messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from . import pairing

Payload = dict[str, Any]
Build = Callable[[Sequence[BaseMessage]], Payload]
Check = Callable[[Payload], list[str]]


def _builder(model: Any) -> Build:
    def build(messages: Sequence[BaseMessage]) -> Payload:
        payload: Payload = model._get_request_payload(list(messages))
        return payload

    return build


_KEY = SecretStr("none")
_anthropic = ChatAnthropic(model_name="claude-sonnet-4-5", api_key=_KEY, timeout=1, stop=None)
_chat = ChatOpenAI(model="gpt-5", api_key=_KEY, use_responses_api=False)
_responses = ChatOpenAI(model="gpt-5", api_key=_KEY, use_responses_api=True)

PAYLOADS: dict[str, tuple[Check, Build]] = {
    "anthropic": (pairing.in_anthropic, _builder(_anthropic)),
    "openai chat": (pairing.in_openai_chat, _builder(_chat)),
    "openai responses": (pairing.in_openai_responses, _builder(_responses)),
}


def problems(messages: Sequence[BaseMessage]) -> list[str]:
    """What any of them would object to."""
    found = [f"messages: {one}" for one in pairing.in_messages(messages)]
    for name, (check, build) in PAYLOADS.items():
        found.extend(f"{name}: {one}" for one in check(build(messages)))
    return found


def bodies(messages: Sequence[BaseMessage]) -> list[str]:
    """The messages of each payload as JSON."""
    payloads = [build(messages) for _, build in PAYLOADS.values()]
    return [json.dumps(one.get("messages") or one["input"], default=str) for one in payloads]

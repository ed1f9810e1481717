"""Anthropic's Messages API (docs.anthropic.com, "Messages" and "Streaming messages")."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

from pannier.endpoint.answers import Call, Say
from pannier.endpoint.dialect import (
    Asked,
    Form,
    Json,
    Reply,
    Text,
    events,
    halves,
    mappings,
    named_form,
    nested,
    output_tokens,
    plain,
    strings,
)

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Anthropic:
    """`/v1/messages`, streamed and plain, `/v1/messages/count_tokens`, `/v1/models`."""

    name = "anthropic"

    def handles(self, method: str, path: str) -> bool:
        if method == "POST":
            return path in ("/v1/messages", "/v1/messages/count_tokens")
        return False

    def generates(self, path: str) -> bool:
        return path == "/v1/messages"

    def texts(self, body: Json) -> tuple[Text, ...]:
        return tuple(_texts(body))

    def tools(self, body: Json) -> frozenset[str]:
        return frozenset(str(tool.get("name")) for tool in mappings(body.get("tools")))

    def form(self, body: Json) -> Form | None:
        choice = nested(body, "tool_choice")
        if choice.get("type") == "tool":
            return named_form(body.get("tools"), choice.get("name"), "input_schema")
        schema = nested(body, "output_config", "format", "schema")
        return Form(schema) if schema else None

    def answer(self, asked: Asked, answer: Say | Call) -> Reply:
        whole = _message(asked, answer)
        return events(*_stream(whole), named=True) if asked.body.get("stream") else plain(whole)

    def lookup(self, asked: Asked) -> Reply:
        return plain({"input_tokens": asked.tokens})

    def failure(self, status: int, message: str) -> Reply:
        error = {"type": _ERRORS.get(status, "api_error"), "message": message}
        return plain({"type": "error", "error": error, "request_id": _id("req")})


def _texts(body: Json) -> Iterator[Text]:
    for text in _plain_texts(body.get("system")):
        yield Text("system prompt", text)
    for index, message in enumerate(mappings(body.get("messages"))):
        role = message.get("role", "?")
        content = message.get("content")
        if isinstance(content, str):
            yield Text(f"messages[{index}] ({role})", content)
        for block in mappings(content):
            yield from _block(block, f"messages[{index}]", str(role))


def _block(block: Json, place: str, role: str) -> Iterator[Text]:
    kind = block.get("type")
    if kind == "tool_result":
        for text in _plain_texts(block.get("content")):
            yield Text(f"{place} (tool result)", text)
    elif kind == "tool_use":
        for text in strings(block.get("input")):
            yield Text(f"{place} (tool call)", text)
    elif isinstance(block.get("text"), str):
        yield Text(f"{place} ({role})", block["text"])


def _plain_texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in mappings(content):
        if isinstance(block.get("text"), str):
            yield block["text"]


def _message(asked: Asked, answer: Say | Call) -> dict[str, Any]:
    if isinstance(answer, Say):
        block: dict[str, Any] = {"type": "text", "text": answer.text}
    else:
        arguments = answer.arguments
        given = {"input": arguments} if isinstance(arguments, str) else dict(arguments)
        block = {"type": "tool_use", "id": _id("toolu"), "name": answer.name, "input": given}
    return {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", "scripted"),
        "content": [block],
        "stop_reason": _ending(answer),
        "stop_sequence": None,
        "usage": {
            "input_tokens": asked.tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output_tokens(answer),
        },
    }


def _ending(answer: Say | Call) -> str:
    if answer.cut_short:
        return "max_tokens"
    return "end_turn" if isinstance(answer, Say) else "tool_use"


def _stream(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    block = whole["content"][0]
    begun = {**whole, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    if block["type"] == "text":
        empty, deltas = {**block, "text": ""}, _deltas("text_delta", "text", block["text"])
    else:
        given = json.dumps(block["input"], ensure_ascii=False)
        empty, deltas = {**block, "input": {}}, _deltas("input_json_delta", "partial_json", given)
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    yield {"type": "ping"}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _deltas(kind: str, key: str, text: str) -> list[dict[str, Any]]:
    return [{"type": kind, key: piece} for piece in halves(text)]


def _id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"

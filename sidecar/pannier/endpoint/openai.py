"""OpenAI's Responses API (platform.openai.com, "Responses" and "Streaming events")."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
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

_RESPONSES = "/v1/responses"
_COMPACT = "/v1/responses/compact"
_INPUT_TOKENS = "/v1/responses/input_tokens"
_MODELS = "/v1/models"


class OpenAIResponses:
    """`/v1/responses`, streamed and plain, its `compact` and `input_tokens`, and `/v1/models`."""

    name = "openai-responses"

    def handles(self, method: str, path: str) -> bool:
        if method == "POST":
            return path in (_RESPONSES, _COMPACT, _INPUT_TOKENS)
        return method == "GET" and path == _MODELS

    def generates(self, path: str) -> bool:
        return path in (_RESPONSES, _COMPACT)

    def texts(self, body: Json) -> tuple[Text, ...]:
        return tuple(_texts(body))

    def tools(self, body: Json) -> frozenset[str]:
        given = mappings(body.get("input"))
        later = (name for item in given for name in _tool_names(item.get("tools")))
        return frozenset((*_tool_names(body.get("tools")), *later))

    def form(self, body: Json) -> Form | None:
        choice = nested(body, "tool_choice")
        if choice.get("type") == "function":
            return named_form(body.get("tools"), choice.get("name"), "parameters")
        schema = nested(body, "text", "format", "schema")
        return Form(schema) if schema else None

    def answer(self, asked: Asked, answer: Say | Call) -> Reply:
        if asked.path == _COMPACT:
            return plain(_compacted(asked, answer))
        item = _compaction(answer) if _compacts(asked.body) else _item(answer)
        whole = _response(asked, item, answer)
        if not asked.body.get("stream"):
            return plain(whole)
        steps = enumerate(_stream(whole, item))
        return events(*({**step, "sequence_number": n} for n, step in steps), named=True)

    def lookup(self, asked: Asked) -> Reply:
        if asked.path == _INPUT_TOKENS:
            return plain({"object": "response.input_tokens", "input_tokens": asked.tokens})
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "pannier"}
        return plain({"object": "list", "data": [model]})

    def failure(self, status: int, message: str) -> Reply:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return plain({"error": {"message": message, "type": kind, "param": None, "code": None}})


def _texts(body: Json) -> Iterator[Text]:
    if isinstance(body.get("instructions"), str):
        yield Text("system prompt", body["instructions"])
    given = body.get("input")
    if isinstance(given, str):
        yield Text("user message 1", given)
    seen: Counter[str] = Counter()
    for item in mappings(given):
        kind = _kind(item)
        seen[kind] += 1
        for text in _item_texts(item):
            yield Text(f"{kind} {seen[kind]}", text)


def _kind(item: Json) -> str:
    kind = str(item.get("type", "message"))
    if kind == "message":
        return f"{item.get('role', '?')} message"
    if kind.endswith("_output"):
        return "tool result"
    return "tool call" if kind.endswith("_call") else kind


def _item_texts(item: Json) -> Iterator[str]:
    for key in ("content", "output", "arguments", "input", "action", "summary"):
        value = item.get(key)
        if isinstance(value, str):
            yield value
        elif key in ("arguments", "input", "action"):
            yield from strings(value)
        else:
            yield from (p["text"] for p in mappings(value) if isinstance(p.get("text"), str))


def _tool_names(tools: object) -> Iterator[str]:
    for tool in mappings(tools):
        yield str(tool.get("name", tool.get("type")))
        yield from _tool_names(tool.get("tools"))


def _item(answer: Say | Call) -> dict[str, Any]:
    if isinstance(answer, Say):
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        return {
            "id": _id("msg"),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    head = {"call_id": _id("call"), "name": answer.name, "status": "completed"}
    if isinstance(answer.arguments, str):
        return {"id": _id("ctc"), "type": "custom_tool_call", **head, "input": answer.arguments}
    given = json.dumps(dict(answer.arguments), ensure_ascii=False)
    return {"id": _id("fc"), "type": "function_call", **head, "arguments": given}


def _response(asked: Asked, item: dict[str, Any], answer: Say | Call) -> dict[str, Any]:
    body = asked.body
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "incomplete" if answer.cut_short else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if answer.cut_short else None,
        "instructions": body.get("instructions"),
        "model": body.get("model", "scripted"),
        "output": [item],
        "parallel_tool_calls": bool(body.get("parallel_tool_calls", False)),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "metadata": {},
        "usage": _usage(asked.tokens, output_tokens(answer)),
    }


def _usage(given: int, made: int) -> dict[str, Any]:
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }


def _stream(whole: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    if item["type"] == "message":
        inner = _stream_text(item)
    elif item["type"] == "compaction":
        inner = _stream_whole(item)
    elif item["type"] == "function_call":
        inner = _stream_call(item, "arguments", "response.function_call_arguments")
    else:
        inner = _stream_call(item, "input", "response.custom_tool_call_input")
    for step in inner:
        yield {**step, "output_index": 0}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _stream_text(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    part = item["content"][0]
    place = {"item_id": item["id"], "content_index": 0}
    begun = {**item, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "item": begun}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in halves(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "item": item}


def _stream_whole(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.output_item.added", "item": item}
    yield {"type": "response.output_item.done", "item": item}


def _stream_call(item: dict[str, Any], key: str, event: str) -> Iterator[dict[str, Any]]:
    begun = {**item, "status": "in_progress", key: ""}
    yield {"type": "response.output_item.added", "item": begun}
    for piece in halves(item[key]):
        yield {"type": f"{event}.delta", "item_id": item["id"], "delta": piece}
    ended = {"type": f"{event}.done", "item_id": item["id"], key: item[key]}
    yield ended if key == "input" else {**ended, "name": item["name"]}
    yield {"type": "response.output_item.done", "item": item}


def _compacted(asked: Asked, answer: Say | Call) -> dict[str, Any]:
    kept = [i for i in mappings(asked.body.get("input")) if i.get("role") == "user"]
    return {
        "id": _id("resp"),
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": [*kept, _compaction(answer)],
        "usage": _usage(asked.tokens, output_tokens(answer)),
    }


def _compacts(body: Json) -> bool:
    """Whether the answer has to be a compaction: Codex's way, which ends the input by a trigger."""
    return any(item.get("type") == "compaction_trigger" for item in mappings(body.get("input")))


def _compaction(answer: Say | Call) -> dict[str, Any]:
    summary = answer.text if isinstance(answer, Say) else "ok"
    return {"id": _id("cmp"), "type": "compaction", "encrypted_content": summary}


def _id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"

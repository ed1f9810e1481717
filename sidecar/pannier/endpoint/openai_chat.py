"""OpenAI's Chat Completions API (platform.openai.com, "Chat Completions" and "Streaming").

Many other vendors' servers speak it too.
"""

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
)

_COMPLETIONS = "/v1/chat/completions"
_DONE = b"data: [DONE]\n\n"


class OpenAIChat:
    """`/v1/chat/completions`, streamed and plain. The models are listed by `OpenAIResponses`."""

    name = "openai-chat"

    def handles(self, method: str, path: str) -> bool:
        return method == "POST" and path == _COMPLETIONS

    def generates(self, path: str) -> bool:
        return True

    def texts(self, body: Json) -> tuple[Text, ...]:
        return tuple(_texts(body))

    def tools(self, body: Json) -> frozenset[str]:
        # A function's or a custom tool's definition stands under the name of its kind.
        tools = mappings(body.get("tools"))
        return frozenset(str(nested(tool, str(tool.get("type"))).get("name")) for tool in tools)

    def form(self, body: Json) -> Form | None:
        name = nested(body, "tool_choice", "function").get("name")
        functions = [nested(tool, "function") for tool in mappings(body.get("tools"))]
        schema = nested(body, "response_format", "json_schema", "schema")
        return named_form(functions, name, "parameters") or (Form(schema) if schema else None)

    def answer(self, asked: Asked, answer: Say | Call) -> Reply:
        message, usage = _message(answer), _usage(asked.tokens, output_tokens(answer))
        ending = "stop" if isinstance(answer, Say) else "tool_calls"
        ending = "length" if answer.cut_short else ending
        head = {
            "id": _id("chatcmpl"),
            "created": int(time.time()),
            "model": asked.body.get("model", "scripted"),
        }
        if not asked.body.get("stream"):
            choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ending}
            return plain({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        head["object"] = "chat.completion.chunk"
        chunks = [{**head, "choices": [choice]} for choice in _choices(message, ending)]
        if nested(asked.body, "stream_options").get("include_usage"):
            chunks.append({**head, "choices": [], "usage": usage})
        reply = events(*chunks, named=False)
        return Reply(reply.content_type, (*reply.frames, _DONE))

    def lookup(self, asked: Asked) -> Reply:
        raise NotImplementedError("every request of this protocol asks the model")

    def failure(self, status: int, message: str) -> Reply:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return plain({"error": {"message": message, "type": kind, "param": None, "code": None}})


def _texts(body: Json) -> Iterator[Text]:
    seen: Counter[str] = Counter()
    for message in mappings(body.get("messages")):
        role = str(message.get("role", "?"))
        kind = "tool result" if role == "tool" else f"{role} message"
        seen[kind] += 1
        for text in _contents(message.get("content")):
            yield Text(f"{kind} {seen[kind]}", text)
        for call in mappings(message.get("tool_calls")):
            seen["tool call"] += 1
            given = nested(call, str(call.get("type")))
            for key in ("arguments", "input"):
                if isinstance(given.get(key), str):
                    yield Text(f"tool call {seen['tool call']}", given[key])


def _contents(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    yield from (p["text"] for p in mappings(content) if isinstance(p.get("text"), str))


def _message(answer: Say | Call) -> dict[str, Any]:
    if isinstance(answer, Say):
        return {"role": "assistant", "content": answer.text, "refusal": None}
    given = answer.arguments
    arguments = {"input": given} if isinstance(given, str) else dict(given)
    function = {"name": answer.name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": _id("call"), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}


def _choices(message: dict[str, Any], ending: str) -> Iterator[dict[str, Any]]:
    for delta in (*_deltas(message), {}):
        finished = None if delta else ending
        yield {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finished}


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if message["content"] is not None:
        yield {**message, "content": ""}
        yield from ({"content": piece} for piece in halves(message["content"]))
        return
    [call] = message["tool_calls"]
    function = call["function"]
    begun = {"index": 0, **call, "function": {**function, "arguments": ""}}
    yield {**message, "tool_calls": [begun]}
    for piece in halves(function["arguments"]):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


def _usage(given: int, made: int) -> dict[str, Any]:
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _id(prefix: str) -> str:
    return f"{prefix}-{secrets.token_hex(12)}"

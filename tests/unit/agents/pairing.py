"""What providers ask of a request's messages, as far as it can be broken by leaving some out.

The rules are those of the public documentation of the two APIs, and of the answers with status 400
that break them:

- Anthropic, Messages: "each `tool_use` block must have a corresponding `tool_result` block in the
  next message", and the other way round; results come before other blocks of that message; ids are
  unique; the first message is the user's; text blocks are not empty; an agent's request ends with
  the user's message.
- OpenAI, Chat Completions: "an assistant message with `tool_calls` must be followed by tool
  messages responding to each `tool_call_id`", and "messages with role `tool` must be a response to
  a preceding message with `tool_calls`".
- OpenAI, Responses: "no tool output found for function call", "no tool call found for function call
  output".

Each function gives back one line for each rule that is broken, and where.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

Json = Mapping[str, Any]

_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def in_messages(messages: Sequence[BaseMessage]) -> list[str]:
    """Of LangChain's messages, with or without the system's at the beginning."""
    return list(_in_messages(messages))


def in_anthropic(payload: Json) -> list[str]:
    """Of a body for Anthropic's /v1/messages."""
    return list(_in_anthropic(payload))


def in_openai_chat(payload: Json) -> list[str]:
    """Of a body for OpenAI's /v1/chat/completions."""
    return list(_in_openai_chat(payload["messages"]))


def in_openai_responses(payload: Json) -> list[str]:
    """Of a body for OpenAI's /v1/responses."""
    return list(_in_openai_responses(payload["input"]))


def _in_messages(messages: Sequence[BaseMessage]) -> Iterator[str]:
    said = [one for one in messages if not isinstance(one, SystemMessage)]
    if any(isinstance(one, SystemMessage) for one in messages[1:]):
        yield "a system message that is not the first"
    if not said:
        yield "no message"
        return
    if not isinstance(said[0], HumanMessage):
        yield f"the first message is of type {said[0].type}"
    if isinstance(said[-1], AIMessage):
        yield "the last message is the model's own"
    yield from _twice("message", [one.id for one in said if one.id])
    yield from _twice("call", [id for one in said for id in _calls(one)])
    waiting: set[str] = set()
    for place, message in enumerate(said):
        if isinstance(message.content, list):
            blocks = [one for one in message.content if isinstance(one, dict)]
            yield from _empty_texts(str(place), blocks)
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                yield f"{place}: the result of {message.tool_call_id} does not follow its call"
            waiting.discard(message.tool_call_id)
            continue
        if waiting:
            yield f"{place}: no result directly after the calls {sorted(waiting)}"
        waiting = set(_calls(message))
        if not waiting and not message.content:
            yield f"{place}: a message of type {message.type} without content"
    if waiting:
        yield f"at the end: no result for the calls {sorted(waiting)}"


def _calls(message: BaseMessage) -> list[str]:
    """The ids of its calls, those among them whose arguments could not be read."""
    if not isinstance(message, AIMessage):
        return []
    return [str(call["id"]) for call in (*message.tool_calls, *message.invalid_tool_calls)]


def _in_anthropic(payload: Json) -> Iterator[str]:
    system = payload.get("system") or "-"
    yield from _empty_texts("system", system)
    turns = _one_role_a_turn(payload["messages"])
    if not turns:
        yield "no message"
        return
    if turns[0][0] != "user":
        yield f"the first message is the {turns[0][0]}'s"
    if turns[-1][0] != "user":
        yield "the last message is not the user's"
    blocks = [block for _, content in turns for block in content]
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    yield from _twice("tool_use", ids)
    yield from (f"tool_use id {id!r}" for id in ids if not _ANTHROPIC_ID.fullmatch(id))
    asked: set[str] = set()
    for place, (role, content) in enumerate(turns):
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if any(block["type"] == "tool_result" for block in content[len(results) :]):
            yield f"{place}: a tool_result after another block"
        if missing := asked - set(results):
            yield f"{place}: tool_use without a tool_result directly after: {sorted(missing)}"
        if orphans := set(results) - asked:
            yield f"{place}: tool_result without a tool_use directly before: {sorted(orphans)}"
        yield from _twice(f"{place}: tool_result", results)
        asked = {block["id"] for block in content if block["type"] == "tool_use"}
        if asked and role != "assistant":
            yield f"{place}: tool_use in a message of the {role}'s"
        if not content:
            yield f"{place}: a message without content"
        yield from _empty_texts(str(place), content)
        for block in content:
            if block["type"] == "tool_use" and not isinstance(block["input"], Mapping):
                yield f"{place}: the input of {block['id']} is no object"


def _one_role_a_turn(messages: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    """As the API reads them: messages of one role in a row are one."""
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        else:
            turns.append((message["role"], blocks))
    return turns


def _empty_texts(where: str, content: str | Sequence[Json]) -> Iterator[str]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content:
        if block.get("type") == "text" and not block["text"].strip():
            yield f"{where}: an empty text block"
        # A result may be an empty string, not a list with an empty text.
        if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
            yield from _empty_texts(f"{where}: {block['tool_use_id']}", block["content"])


def _in_openai_chat(messages: Sequence[Json]) -> Iterator[str]:
    waiting: set[str] = set()
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    yield from _twice("tool_call", calls)
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{place}: {message['tool_call_id']} answers no call before it"
            waiting.discard(message["tool_call_id"])
            if message.get("content") is None:
                yield f"{place}: a result without content"
            continue
        if waiting:
            yield f"{place}: no tool message for {sorted(waiting)}"
        waiting = set()
        for call in message.get("tool_calls") or ():
            waiting.add(call["id"])
            yield from _no_object(f"{place}: {call['id']}", call["function"]["arguments"])
        if not waiting and not message.get("content"):
            yield f"{place}: a message of the {message['role']}'s without content"
    if waiting:
        yield f"at the end: no tool message for {sorted(waiting)}"


def _in_openai_responses(items: Sequence[Json]) -> Iterator[str]:
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    yield from _twice("function_call", calls)
    yield from _twice("function_call_output", outputs)
    if missing := set(calls) - set(outputs):
        yield f"no output for the calls {sorted(missing)}"
    seen: set[str] = set()
    for place, item in enumerate(items):
        if item.get("type") == "function_call":
            seen.add(item["call_id"])
            yield from _no_object(f"{place}: {item['call_id']}", item["arguments"])
        elif item.get("type") == "function_call_output" and item["call_id"] not in seen:
            yield f"{place}: {item['call_id']} answers no call before it"


def _no_object(where: str, arguments: str) -> Iterator[str]:
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except ValueError:
        is_object = False
    if not is_object:
        yield f"{where}: the arguments are no JSON object"


def _twice(what: str, ids: Sequence[str]) -> Iterator[str]:
    yield from (f"{what} id {id} {n} times" for id, n in Counter(ids).items() if n > 1)

"""What an endpoint saw of a conversation: the items of its requests, and what it answered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pannier.endpoint.answers import Answer, Say
from pannier.endpoint.model import Request


@dataclass(frozen=True)
class Item:
    """One thing that was said or done, on the wire."""

    role: str
    kind: str
    text: str
    call: str = ""
    tool: str = ""


def seen(
    given: Sequence[tuple[Request, Answer]], prompts: Sequence[str]
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The items of the conversation in which a person said `prompts`, and those of all others that
    had tools, each once, in the order in which they came up.

    A request repeats what came before it; so an item counts where it stands first. What the agent
    said is what was answered. Texts of the client's own (reminders, what hooks added) are neither.
    """
    mine: dict[Item, None] = {}
    others: dict[Item, None] = {}
    for request, answer in given:
        items = list(_items(request))
        if not request.tools:
            continue
        asked = [i for i in items if i.kind != "text" or i.text in prompts]
        found = mine if any(i.kind == "text" for i in asked) else others
        found.update(dict.fromkeys(asked))
        if isinstance(answer, Say):
            found[Item("agent", "text", answer.text)] = None
    return tuple(mine), tuple(others)


def _items(request: Request) -> Iterator[Item]:
    yield from _READ[request.dialect](request.body)


def _anthropic(body: Mapping[str, Any]) -> Iterator[Item]:
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_use":
                given = json.dumps(block["input"], sort_keys=True)
                yield Item("agent", "call", given, block["id"], block["name"])
            elif block["type"] == "tool_result":
                yield Item("tool", "result", _plain(block["content"]), block["tool_use_id"])
            elif block["type"] == "text":
                yield _text(message["role"], block["text"])


def _openai(body: Mapping[str, Any]) -> Iterator[Item]:
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            for part in item["content"]:
                yield _text(item["role"], part["text"])
        elif kind.endswith("_call_output"):
            yield Item("tool", "result", _plain(item["output"]), item["call_id"])
        elif kind.endswith("_call"):
            # A free-form tool has one argument, which has no name on the wire.
            given = json.dumps({"input": item["input"]}) if "input" in item else item["arguments"]
            yield Item("agent", "call", given, item["call_id"], item["name"])


def _gemini(body: Mapping[str, Any]) -> Iterator[Item]:
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                given = json.dumps(call["args"], sort_keys=True)
                yield Item("agent", "call", given, call.get("id", ""), call["name"])
            elif "functionResponse" in part:
                got = part["functionResponse"]
                text = got["response"].get("output") or got["response"].get("error")
                yield Item("tool", "result", text, got.get("id", ""))
            elif "text" in part:
                yield _text(content["role"], part["text"])


def _text(role: str, text: str) -> Item:
    return Item("agent" if role in ("assistant", "model") else "person", "text", text)


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "".join(part.get("text", "") for part in content)


_READ = {"anthropic": _anthropic, "openai-responses": _openai, "gemini": _gemini}

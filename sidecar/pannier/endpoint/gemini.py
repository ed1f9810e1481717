"""Google's Gemini API (ai.google.dev, "Generating content", "Counting tokens", "Models")."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

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
    nested,
    output_tokens,
    plain,
    strings,
)

_METHOD = re.compile(
    r"/v1(?:beta|alpha)?/(models/[^/:]+):(generateContent|streamGenerateContent|countTokens)"
)
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class Gemini:
    """`generateContent`, `streamGenerateContent` and `countTokens` of any model."""

    name = "gemini"

    def handles(self, method: str, path: str) -> bool:
        return method == "POST" and _METHOD.fullmatch(path) is not None

    def generates(self, path: str) -> bool:
        return not path.endswith(":countTokens")

    def texts(self, body: Json) -> tuple[Text, ...]:
        return tuple(_texts(body))

    def tools(self, body: Json) -> frozenset[str]:
        names = set()
        for tool in mappings(body.get("tools")):
            declared = tool.get("functionDeclarations", tool.get("function_declarations"))
            names |= {str(function.get("name")) for function in mappings(declared)}
        return frozenset(names)

    def form(self, body: Json) -> Form | None:
        config = nested(body, "generationConfig")
        schema = nested(config, "responseJsonSchema") or nested(config, "responseSchema")
        return Form(schema) if schema else None

    def answer(self, asked: Asked, answer: Say | Call) -> Reply:
        chunks = list(_chunks(asked, answer))
        if asked.path.endswith(":generateContent"):
            return plain(_whole(chunks))
        if parse_qs(asked.query).get("alt") == ["sse"]:
            return events(*chunks, named=False)
        return plain(chunks)

    def lookup(self, asked: Asked) -> Reply:
        details = [{"modality": "TEXT", "tokenCount": asked.tokens}]
        return plain({"totalTokens": asked.tokens, "promptTokensDetails": details})

    def failure(self, status: int, message: str) -> Reply:
        name = _STATUS.get(status, "INTERNAL")
        return plain({"error": {"code": status, "message": message, "status": name}})


def _texts(body: Json) -> Iterator[Text]:
    inner = body.get("generateContentRequest")
    if isinstance(inner, dict):
        body = inner
    system = body.get("systemInstruction", body.get("system_instruction"))
    if isinstance(system, str):
        yield Text("system prompt", system)
    elif isinstance(system, dict):
        yield from _parts(system.get("parts"), "system prompt")
    seen: Counter[str] = Counter()
    for content in mappings(body.get("contents")):
        role = str(content.get("role", "user"))
        seen[role] += 1
        yield from _parts(content.get("parts"), f"{role} message {seen[role]}")


def _parts(parts: object, place: str) -> Iterator[Text]:
    for part in mappings(parts):
        if isinstance(part.get("text"), str):
            yield Text(place, part["text"])
        for text in strings(part.get("functionResponse")):
            yield Text(f"{place} (tool result)", text)
        for text in strings(part.get("functionCall")):
            yield Text(f"{place} (tool call)", text)


def _chunks(asked: Asked, answer: Say | Call) -> Iterator[dict[str, Any]]:
    if isinstance(answer, Say):
        parts: list[dict[str, Any]] = [{"text": p} for p in halves(answer.text)] or [{"text": ""}]
    else:
        given = answer.arguments
        arguments = {"input": given} if isinstance(given, str) else dict(given)
        parts = [{"functionCall": {"name": answer.name, "args": arguments}}]
    made = output_tokens(answer)
    usage = {"promptTokenCount": asked.tokens, "totalTokenCount": asked.tokens + made}
    match = _METHOD.fullmatch(asked.path)
    name = match[1].removeprefix("models/") if match else "scripted"
    common = {"modelVersion": name, "responseId": secrets.token_hex(12)}
    for number, part in enumerate(parts, 1):
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(parts):
            candidate["finishReason"] = "STOP"
            usage = {**usage, "candidatesTokenCount": made}
        yield {"candidates": [candidate], "usageMetadata": usage, **common}


def _whole(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    parts = [p for c in chunks for p in c["candidates"][0]["content"]["parts"]]
    if all("text" in part for part in parts):
        parts = [{"text": "".join(part["text"] for part in parts)}]
    candidate = {**chunks[-1]["candidates"][0], "content": {"role": "model", "parts": parts}}
    return {**chunks[-1], "candidates": [candidate]}

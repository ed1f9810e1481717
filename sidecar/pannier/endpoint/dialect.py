"""The seam between the endpoint and a wire protocol. A new protocol is one module beside this."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pannier.endpoint.answers import Call, Say

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Text:
    """One text of a request, as the model gets it."""

    where: str
    """For a person: `system prompt`, `messages[2] (system)`, `developer message 3` …"""
    text: str


@dataclass(frozen=True)
class Reply:
    """The body of an answer. Each frame is sent by itself."""

    content_type: str
    frames: tuple[bytes, ...]


@dataclass(frozen=True)
class Form:
    """What an answer has to look like."""

    schema: Json
    """A JSON schema."""
    tool: str = ""
    """The tool whose arguments it is; "": a text of JSON."""


@dataclass(frozen=True)
class Asked:
    """What a request says to its dialect."""

    path: str
    query: str
    """What stands after the `?`."""
    body: Json
    tokens: int
    """Its size, for the usage report."""


class Dialect(Protocol):
    """How one vendor's clients talk to a model. Paths come without the query."""

    name: str

    def handles(self, method: str, path: str) -> bool:
        """Whether a request belongs to this protocol."""

    def generates(self, path: str) -> bool:
        """Whether it asks the model for an answer (so not: counting tokens, listing models)."""

    def texts(self, body: Json) -> tuple[Text, ...]:
        """All texts that the model would read, in their order."""

    def tools(self, body: Json) -> frozenset[str]:
        """Names of the tools that the model may call."""

    def form(self, body: Json) -> Form | None:
        """What the answer is held to, if to anything: a tool that must be called, or a schema."""

    def answer(self, asked: Asked, answer: Say | Call) -> Reply:
        """The answer, as a stream if the request wants one."""

    def lookup(self, asked: Asked) -> Reply:
        """The answer to a request that does not `generate`."""

    def failure(self, status: int, message: str) -> Reply:
        """An error in the vendor's form."""


def plain(value: object) -> Reply:
    """A JSON body."""
    return Reply("application/json", (json.dumps(value, ensure_ascii=False).encode(),))


def events(*data: Mapping[str, Any], named: bool) -> Reply:
    """Server-sent events; `named` puts each one's `type` on an `event:` line."""
    return Reply("text/event-stream", tuple(_event(d, named) for d in data))


def _event(data: Mapping[str, Any], named: bool) -> bytes:
    head = f"event: {data['type']}\n" if named else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def halves(text: str) -> tuple[str, ...]:
    """A text as a stream brings it: in pieces. An empty text has none."""
    middle = len(text) // 2
    return tuple(piece for piece in (text[:middle], text[middle:]) if piece)


def output_tokens(answer: Say | Call) -> int:
    """How long the model's answer was."""
    return max(1, len(answer.text if isinstance(answer, Say) else str(answer.arguments)) // 4)


def strings(value: object) -> Iterator[str]:
    """Every text inside a JSON value, keys not included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def nested(value: object, *keys: str) -> Json:
    """The object that lies under these keys, one within the other; an empty one if there is
    none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def named_form(tools: object, name: object, schema: str) -> Form | None:
    """The form of the tool of this name; `schema` is the key of its schema."""
    for tool in mappings(tools):
        if tool.get("name") == name and isinstance(name, str):
            return Form(nested(tool, schema), name)
    return None


def mappings(value: object) -> Iterator[Json]:
    """The objects of what should be a list of objects."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))

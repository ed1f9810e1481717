"""Answers that are held to a schema, in the form that each protocol asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pannier.endpoint.answers import Cut, Fill, Moved
from pannier.endpoint.dialect import Form
from pannier.endpoint.model import Request, ScriptedModel

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
MESSAGES = [{"role": "user", "content": "hi"}]
ANTHROPIC = ("/v1/messages", {"messages": MESSAGES})
CHAT = ("/v1/chat/completions", {"messages": MESSAGES})
RESPONSES = ("/v1/responses", {"input": "hi"})
GEMINI = ("/v1beta/models/m:generateContent", {"contents": []})
FUNCTION = {"name": "f", "parameters": SCHEMA}


def _echo(request: Request) -> Fill:
    assert request.form is not None
    return Fill(dict.fromkeys(request.form.schema["properties"], request.texts[-1].text))


TOOLS: list[tuple[tuple[str, dict[str, Any]], dict[str, Any]]] = [
    (
        ANTHROPIC,
        {
            "tools": [{"name": "e"}, {"name": "f", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "f"},
        },
    ),
    (
        CHAT,
        {
            "tools": [{"type": "function", "function": FUNCTION}],
            "tool_choice": {"type": "function", "function": {"name": "f"}},
        },
    ),
    (
        RESPONSES,
        {
            "tools": [{"type": "function", **FUNCTION}],
            "tool_choice": {"type": "function", "name": "f"},
        },
    ),
]
TEXTS: list[tuple[tuple[str, dict[str, Any]], dict[str, Any]]] = [
    (ANTHROPIC, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    (CHAT, {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}),
    (RESPONSES, {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    (GEMINI, {"generationConfig": {"responseJsonSchema": SCHEMA}}),
]


def _objects(value: object, *keys: str) -> Iterator[object]:
    """What lies under one of these keys, as an object."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, *keys)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in keys:
                yield json.loads(item) if isinstance(item, str) else item
            else:
                yield from _objects(item, *keys)


def _ids(cases: list[tuple[tuple[str, dict[str, Any]], dict[str, Any]]]) -> list[str]:
    return [path for (path, _), _ in cases]


@pytest.mark.parametrize(("wire", "demand"), TOOLS, ids=_ids(TOOLS))
def test_by_a_tool(post, model: ScriptedModel, wire, demand) -> None:
    """Where a tool must be called, the answer is its call."""
    model.script(Fill({"a": 1}))
    answer = post(wire[0], {**wire[1], **demand})
    assert model.requests[0].form == Form(SCHEMA, "f")
    [given] = _objects(answer.json, "input", "arguments")
    assert given == {"a": 1}


@pytest.mark.parametrize(("wire", "demand"), TEXTS, ids=_ids(TEXTS))
def test_by_a_schema(post, model: ScriptedModel, wire, demand) -> None:
    """Where the answer is held to a schema, it is a text of JSON."""
    model.script(Fill({"a": "é"}))
    answer = post(wire[0], {**wire[1], **demand})
    assert model.requests[0].form == Form(SCHEMA)
    assert '{\\"a\\": \\"é\\"}' in answer.body.decode()


@pytest.mark.parametrize("wire", [ANTHROPIC, CHAT, RESPONSES, GEMINI])
def test_no_form(post, model: ScriptedModel, wire) -> None:
    """Where nothing is demanded, the answer is a text all the same; a text goes out as it is."""
    model.script(Fill('{"a": broken'))
    assert '{\\"a\\": broken' in post(*wire).body.decode()
    assert model.requests[0].form is None


@pytest.mark.parametrize("model", [ScriptedModel(_echo)])
def test_by_a_function_of_the_request(post, model: ScriptedModel) -> None:
    """What is answered may follow from the request: from its texts, and from its schema."""
    wire, demand = TEXTS[1]
    text = post(wire[0], {**wire[1], **demand}).json["choices"][0]["message"]["content"]
    assert json.loads(text) == {"a": "hi"}


@pytest.mark.parametrize(
    ("wire", "says"),
    [
        (ANTHROPIC, '"stop_reason": "max_tokens"'),
        (CHAT, '"finish_reason": "length"'),
        (RESPONSES, '"status": "incomplete"'),
    ],
)
def test_cut_short(post, model: ScriptedModel, wire, says: str) -> None:
    """An answer that had no room to end says so."""
    model.script(Fill('{"a": ', cut_short=True))
    assert says in post(*wire).body.decode()


@pytest.mark.parametrize("demand", [{}, {"tool_choice": "f"}, {"tool_choice": {"type": "tool"}}])
def test_odd_demands(post, model: ScriptedModel, demand: dict[str, Any]) -> None:
    """A demand that is not of the protocol's form is none."""
    post(ANTHROPIC[0], {**ANTHROPIC[1], **demand})
    assert model.requests[0].form is None


def test_cut(post, model: ScriptedModel) -> None:
    """The connection may break in the middle of such an answer."""
    model.script(Cut(Fill({"a": 1})))
    with pytest.raises(Exception, match="IncompleteRead"):
        post(*CHAT)


def test_moved(post, model: ScriptedModel) -> None:
    """A redirect names where the request should go."""
    model.script(Moved("http://elsewhere.example/v1"))
    answer = post(*CHAT)
    assert (answer.status, answer.headers["Location"]) == (307, "http://elsewhere.example/v1")

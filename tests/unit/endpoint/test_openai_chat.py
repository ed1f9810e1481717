"""The Chat Completions dialect, read as its public reference describes it."""

from __future__ import annotations

import json

import pytest

from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.dialect import Text
from pannier.endpoint.model import ScriptedModel

PATH = "/v1/chat/completions"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STREAMED = {**ASKED, "stream": True}
TOOLS = [
    {"type": "function", "function": {"name": "shell", "parameters": {}}},
    {"type": "custom", "custom": {"name": "apply_patch"}},
]


def test_plain(post, model: ScriptedModel) -> None:
    """A request without `stream` gets one completion with a message and usage."""
    model.script(Say("hello", input_tokens=5))
    answer = post(PATH, ASKED).json
    assert (answer["object"], answer["model"]) == ("chat.completion", "m")
    [choice] = answer["choices"]
    assert (choice["message"]["role"], choice["message"]["content"]) == ("assistant", "hello")
    assert choice["finish_reason"] == "stop"
    assert answer["usage"]["prompt_tokens"] == 5
    assert answer["usage"]["total_tokens"] == 5 + answer["usage"]["completion_tokens"]


def test_streamed_text(post, model: ScriptedModel) -> None:
    """A stream brings the text in deltas of one completion, and says that it ended."""
    model.script(Say("hello 😀"))
    answer = post(PATH, STREAMED)
    assert answer.body.endswith(b"\n\ndata: [DONE]\n\n")
    assert {e["object"] for e in answer.events} == {"chat.completion.chunk"}
    assert len({e["id"] for e in answer.events}) == 1
    choices = [choice for e in answer.events for choice in e["choices"]]
    assert choices[0]["delta"]["role"] == "assistant"
    assert "".join(c["delta"].get("content", "") for c in choices) == "hello 😀"
    assert [c["finish_reason"] for c in choices] == [None] * (len(choices) - 1) + ["stop"]


@pytest.mark.parametrize("options", [None, {"include_usage": False}])
def test_stream_without_usage(post, options: object) -> None:
    """A stream reports no usage unless it was asked to."""
    events = post(PATH, {**STREAMED, "stream_options": options}).events
    assert not any("usage" in event for event in events)


def test_stream_with_usage(post, model: ScriptedModel) -> None:
    """Usage comes last, in a chunk without choices."""
    model.script(Say("hello", input_tokens=7))
    *others, last = post(PATH, {**STREAMED, "stream_options": {"include_usage": True}}).events
    assert (last["choices"], last["usage"]["prompt_tokens"]) == ([], 7)
    assert all(event["choices"] for event in others)


@pytest.mark.parametrize("arguments", [{"command": ["ls", "ä"]}, "free text"])
def test_tool_call(post, model: ScriptedModel, arguments: dict[str, object] | str) -> None:
    """A tool call carries its arguments as JSON text; a free text is its `input`."""
    meant = {"input": arguments} if isinstance(arguments, str) else arguments
    model.script(*[Call("shell", arguments)] * 2)
    [choice] = post(PATH, {**ASKED, "tools": TOOLS}).json["choices"]
    [call] = choice["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "shell")
    assert json.loads(call["function"]["arguments"]) == meant
    assert choice["finish_reason"] == "tool_calls"

    events = post(PATH, {**STREAMED, "tools": TOOLS}).events
    choices = [choice for e in events for choice in e["choices"]]
    calls = [call for c in choices for call in c["delta"].get("tool_calls", ())]
    assert {call["index"] for call in calls} == {0}
    assert [call["id"] for call in calls if "id" in call]
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == meant
    assert choices[-1]["finish_reason"] == "tool_calls"


def test_tools(post, model: ScriptedModel) -> None:
    """Functions and custom tools are both offered."""
    post(PATH, {**ASKED, "tools": TOOLS})
    assert model.requests[0].tools == {"shell", "apply_patch"}


def test_texts(post, model: ScriptedModel) -> None:
    """Every text of a request is found; the messages of a role are counted."""
    calls = [
        {"id": "a", "type": "function", "function": {"name": "s", "arguments": "{}"}},
        {"id": "b", "type": "custom", "custom": {"name": "p", "input": "patch"}},
    ]
    post(
        PATH,
        {
            "messages": [
                {"role": "system", "content": "S"},
                {"role": "developer", "content": [{"type": "text", "text": "D"}]},
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": "a", "content": "done"},
                {"role": "user", "content": "b"},
            ]
        },
    )
    assert model.requests[0].texts == (
        Text("system message 1", "S"),
        Text("developer message 1", "D"),
        Text("user message 1", "a"),
        Text("tool call 1", "{}"),
        Text("tool call 2", "patch"),
        Text("tool result 1", "done"),
        Text("user message 2", "b"),
    )


def test_odd_requests(post) -> None:
    """What is not of the protocol's form is answered all the same."""
    for odd in ({}, {"messages": "x", "tools": [{}, {"type": 1}], "stream_options": 3}):
        assert post(PATH, odd).status == 200


def test_failure(post, model: ScriptedModel) -> None:
    """A failure has the vendor's form."""
    model.script(Fail(503, "later"))
    answer = post(PATH, ASKED)
    assert (answer.status, answer.json["error"]["type"]) == (503, "server_error")
    assert answer.json["error"]["message"] == "later"

"""The Responses dialect, read as its public reference describes it."""

from __future__ import annotations

import json

from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.dialect import Text
from pannier.endpoint.model import ScriptedModel

ASKED = {"model": "m", "input": "hi"}
TOOLS = [
    {"type": "function", "name": "shell", "parameters": {}},
    {"type": "custom", "name": "apply_patch"},
    {"type": "namespace", "name": "files", "tools": [{"type": "function", "name": "read"}]},
]


def test_plain(post, model: ScriptedModel) -> None:
    """A request without `stream` gets one completed response with a message and usage."""
    model.script(Say("hello", input_tokens=5))
    answer = post("/v1/responses", ASKED).json
    assert (answer["object"], answer["status"]) == ("response", "completed")
    assert answer["output"][0]["content"][0]["text"] == "hello"
    assert answer["usage"]["input_tokens"] == 5
    assert answer["usage"]["total_tokens"] == 5 + answer["usage"]["output_tokens"]


def test_streamed_text(post, model: ScriptedModel) -> None:
    """A stream is numbered, brings the text in deltas, and ends with the completed response."""
    model.script(Say("hello 😀"))
    events = post("/v1/responses", {**ASKED, "stream": True}).events
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"
    deltas = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "hello 😀"
    done = next(e for e in events if e["type"] == "response.output_item.done")
    assert events[-1]["response"]["output"] == [done["item"]]


def test_streamed_function_call(post, model: ScriptedModel) -> None:
    """A function call comes as an item with its arguments as JSON text."""
    model.script(Call("shell", {"command": ["ls"]}))
    events = post("/v1/responses", {**ASKED, "stream": True, "tools": TOOLS}).events
    item = events[-1]["response"]["output"][0]
    assert (item["type"], item["name"]) == ("function_call", "shell")
    assert json.loads(item["arguments"]) == {"command": ["ls"]}
    deltas = [e for e in events if e["type"] == "response.function_call_arguments.delta"]
    assert "".join(e["delta"] for e in deltas) == item["arguments"]


def test_streamed_custom_call(post, model: ScriptedModel) -> None:
    """A text as arguments calls a free-form tool, whose input comes unquoted."""
    model.script(Call("apply_patch", "*** Begin Patch\n"))
    events = post("/v1/responses", {**ASKED, "stream": True, "tools": TOOLS}).events
    item = events[-1]["response"]["output"][0]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin Patch\n")
    assert "response.custom_tool_call_input.done" in [e["type"] for e in events]


def test_tools_in_namespaces(post, model: ScriptedModel) -> None:
    """A tool inside a namespace is offered too."""
    post("/v1/responses", {**ASKED, "tools": TOOLS})
    assert {"shell", "apply_patch", "read"} <= model.requests[0].tools


def test_texts(post, model: ScriptedModel) -> None:
    """Every text of a request is found; the messages of a role are counted."""
    post(
        "/v1/responses",
        {
            "instructions": "I",
            "input": [
                {"role": "developer", "content": [{"type": "input_text", "text": "d1"}]},
                {"type": "message", "role": "user", "content": "u1"},
                {"type": "message", "role": "developer", "content": "d2"},
                {"type": "function_call", "call_id": "c", "name": "s", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "out"},
                {
                    "type": "custom_tool_call_output",
                    "call_id": "d",
                    "output": [{"type": "input_text", "text": "more"}],
                },
            ],
        },
    )
    assert model.requests[0].texts == (
        Text("system prompt", "I"),
        Text("developer message 1", "d1"),
        Text("user message 1", "u1"),
        Text("developer message 2", "d2"),
        Text("tool call 1", "{}"),
        Text("tool result 1", "out"),
        Text("tool result 2", "more"),
    )


def test_compact(post, model: ScriptedModel) -> None:
    """A compaction keeps what the user said and puts one compaction item after it."""
    model.script(Say("summary"))
    user = {"type": "message", "role": "user", "content": "u"}
    developer = {"type": "message", "role": "developer", "content": "d"}
    answer = post("/v1/responses/compact", {"input": [developer, user]}).json
    assert answer["object"] == "response.compaction"
    assert [item["type"] for item in answer["output"]] == ["message", "compaction"]
    assert answer["output"][0] == user


def test_models_and_failure(post, model: ScriptedModel) -> None:
    """The models are listed, and a failure has the vendor's form."""
    assert post("/v1/models", {}, method="GET").json["object"] == "list"
    model.script(Fail(429, "slow down"))
    answer = post("/v1/responses", ASKED)
    assert (answer.status, answer.json["error"]["message"]) == (429, "slow down")


def test_tools_in_the_input(post, model: ScriptedModel) -> None:
    """A tool that comes as part of the input, as Codex sends them, is offered too."""
    model.script(Call("exec", "text('a')"))
    offered = {"type": "additional_tools", "role": "developer", "tools": TOOLS}
    named = {
        "type": "namespace",
        "name": "functions",
        "tools": [{"type": "custom", "name": "exec"}],
    }
    answer = post("/v1/responses", {"input": [offered, {**offered, "tools": [named]}]}).json
    assert {"shell", "exec"} <= model.requests[0].tools
    assert answer["output"][0]["input"] == "text('a')"


def test_compaction_on_trigger(post, model: ScriptedModel) -> None:
    """An input that ends with a compaction trigger gets one compaction, and no message."""
    asked = {"input": [{"role": "user", "content": "hi"}, {"type": "compaction_trigger"}]}
    events = post("/v1/responses", {**asked, "stream": True}).events
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["compaction"]
    assert [e["item"]["type"] for e in events if e["type"] == "response.output_item.done"] == [
        "compaction"
    ]

"""The Messages dialect, read as its public reference describes it."""

from __future__ import annotations

from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.dialect import Text
from pannier.endpoint.model import ScriptedModel

ASKED = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
WRITE = {"name": "Write", "input_schema": {"type": "object"}}


def test_plain(post, model: ScriptedModel) -> None:
    """A request without `stream` gets one message with text, stop reason and usage."""
    model.script(Say("hello", input_tokens=77))
    answer = post("/v1/messages", ASKED).json
    assert answer["content"] == [{"type": "text", "text": "hello"}]
    assert (answer["role"], answer["stop_reason"]) == ("assistant", "end_turn")
    assert answer["usage"]["input_tokens"] == 77


def test_streamed_text(post, model: ScriptedModel) -> None:
    """A stream opens a message and a block, brings the text in deltas and closes both."""
    model.script(Say("hello wörld 😀"))
    events = post("/v1/messages?beta=true", {**ASKED, "stream": True}).events
    assert [e["type"] for e in events] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    deltas = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(deltas) == "hello wörld 😀"
    assert events[0]["message"]["content"] == []
    assert events[-2]["delta"]["stop_reason"] == "end_turn"


def test_streamed_tool_call(post, model: ScriptedModel) -> None:
    """A tool call comes as partial JSON of its input, and stops the turn for the tool."""
    model.script(Call("Write", {"file_path": "/x", "content": "é"}))
    events = post("/v1/messages", {**ASKED, "stream": True, "tools": [WRITE]}).events
    start = next(e for e in events if e["type"] == "content_block_start")["content_block"]
    assert (start["type"], start["name"], start["input"]) == ("tool_use", "Write", {})
    pieces = [e["delta"]["partial_json"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"file_path": "/x", "content": "é"}'
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_call_waits_for_its_tool(post, model: ScriptedModel) -> None:
    """A scripted call is kept for the request that offers its tool; others get `ok`."""
    model.script(Call("Write", {}))
    assert post("/v1/messages", ASKED).json["content"][0]["text"] == "ok"
    answer = post("/v1/messages", {**ASKED, "tools": [WRITE]}).json
    assert answer["content"][0]["name"] == "Write"


def test_texts(post, model: ScriptedModel) -> None:
    """Every text of a request is found, with the place where it stands."""
    post(
        "/v1/messages",
        {
            **ASKED,
            "system": [{"type": "text", "text": "S"}],
            "messages": [
                {"role": "user", "content": "plain"},
                {"role": "system", "content": [{"type": "text", "text": "late system"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "t", "name": "W", "input": {"a": ["x"]}}
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t",
                            "content": [{"type": "text", "text": "R"}],
                        },
                        {"type": "tool_result", "tool_use_id": "u", "content": "r"},
                    ],
                },
            ],
        },
    )
    assert model.requests[0].texts == (
        Text("system prompt", "S"),
        Text("messages[0] (user)", "plain"),
        Text("messages[1] (system)", "late system"),
        Text("messages[2] (tool call)", "x"),
        Text("messages[3] (tool result)", "R"),
        Text("messages[3] (tool result)", "r"),
    )


def test_count_tokens(post, model: ScriptedModel) -> None:
    """Counting tokens is answered, and uses up no scripted answer."""
    model.script(Say("kept"))
    counted = post("/v1/messages/count_tokens", {**ASKED, "system": "x" * 400}).json
    assert counted == {"input_tokens": 100}
    assert post("/v1/messages", ASKED).json["content"][0]["text"] == "kept"


def test_failure(post, model: ScriptedModel) -> None:
    """A scripted failure has the status and the form of the vendor's errors."""
    model.script(Fail(529, "too busy", retry_after=3))
    answer = post("/v1/messages", ASKED)
    assert (answer.status, answer.headers["Retry-After"]) == (529, "3")
    assert answer.json["type"] == "error"
    assert answer.json["error"] == {"type": "overloaded_error", "message": "too busy"}

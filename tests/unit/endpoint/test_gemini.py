"""The Gemini dialect, read as its public reference describes it."""

from __future__ import annotations

from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.dialect import Text
from pannier.endpoint.model import ScriptedModel

ASKED = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
TOOLS = [{"functionDeclarations": [{"name": "write_file"}, {"name": "read_file"}]}]
MODEL = "/v1beta/models/gemini-x"


def test_plain(post, model: ScriptedModel) -> None:
    """`generateContent` gives one candidate with one text, and usage."""
    model.script(Say("hello", input_tokens=3))
    answer = post(f"{MODEL}:generateContent", ASKED).json
    candidate = answer["candidates"][0]
    assert candidate["content"] == {"role": "model", "parts": [{"text": "hello"}]}
    assert candidate["finishReason"] == "STOP"
    assert answer["usageMetadata"]["promptTokenCount"] == 3
    assert answer["modelVersion"] == "gemini-x"


def test_streamed_text(post, model: ScriptedModel) -> None:
    """A stream brings the text in chunks, of which the last says that it stops."""
    model.script(Say("hello 😀"))
    events = post(f"{MODEL}:streamGenerateContent?alt=sse", ASKED).events
    texts = [e["candidates"][0]["content"]["parts"][0]["text"] for e in events]
    assert "".join(texts) == "hello 😀"
    stops = [e["candidates"][0].get("finishReason") for e in events]
    assert stops == [None, "STOP"]


def test_stream_without_sse_is_a_list(post) -> None:
    """Without `alt=sse` the chunks come as one JSON list."""
    chunks = post(f"{MODEL}:streamGenerateContent", ASKED).json
    assert [c["candidates"][0]["content"]["role"] for c in chunks] == ["model", "model"]


def test_tool_call(post, model: ScriptedModel) -> None:
    """A tool call is a part with name and arguments."""
    model.script(Call("write_file", {"file_path": "/x"}))
    events = post(f"{MODEL}:streamGenerateContent?alt=sse", {**ASKED, "tools": TOOLS}).events
    part = events[0]["candidates"][0]["content"]["parts"][0]
    assert part == {"functionCall": {"name": "write_file", "args": {"file_path": "/x"}}}


def test_texts(post, model: ScriptedModel) -> None:
    """Every text of a request is found; the messages of a role are counted."""
    result = {"functionResponse": {"name": "write_file", "response": {"output": "done"}}}
    post(
        f"{MODEL}:generateContent",
        {
            "systemInstruction": {"parts": [{"text": "S"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
                {"role": "model", "parts": [{"text": "m"}]},
                {"role": "user", "parts": [result]},
            ],
        },
    )
    assert model.requests[0].texts == (
        Text("system prompt", "S"),
        Text("user message 1", "a"),
        Text("user message 1", "b"),
        Text("model message 1", "m"),
        Text("user message 2 (tool result)", "write_file"),
        Text("user message 2 (tool result)", "done"),
    )


def test_count_tokens_and_failure(post, model: ScriptedModel) -> None:
    """Tokens are counted without using up an answer, and a failure has the vendor's form."""
    model.script(Fail(503, "later"))
    assert post(f"{MODEL}:countTokens", ASKED).json["totalTokens"] == 1
    answer = post(f"{MODEL}:generateContent", ASKED)
    assert (answer.status, answer.json["error"]["status"]) == (503, "UNAVAILABLE")

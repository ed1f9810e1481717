"""Records of agents in Python: every form of content that providers' messages have, and lines that
nobody should have written."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from pannier.clients.transcript import After, Entry, Line, Message, TurnEnds, Usage
from pannier.clients.transcripts.langchain import read
from pannier_agents.messages import end_line, head_line, line
from pannier_agents.summary import summary_message
from pannier_hook.events import Event, Log

_words = st.sampled_from(["type", "data", "human", "ai", "tool", "pannier", "id", "content", "end"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=5),
    max_leaves=20,
)


def entries(*lines: bytes, kind: str = "records") -> list[Entry]:
    event = Event(
        kind, id="0" * 16, at=1_000, client="langchain", session="s", log=Log("threads/s", 0)
    )
    given = [Line("threads/s", number, data.rstrip(b"\n")) for number, data in enumerate(lines)]
    return list(read(event, given, {}).entries)


def said(message: BaseMessage) -> list[tuple[str, str, str]]:
    return [
        (one.role, one.kind, one.text)
        for one in entries(line(message, ""))
        if isinstance(one, Message)
    ]


def test_thoughts_texts_and_calls() -> None:
    """The last thing that a message says has the message's own key: what follows, follows that."""
    content: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c", "name": "look", "input": {}},
    ]
    call: Any = {"name": "look", "args": {"at": "ä"}, "id": "c", "type": "tool_call"}
    message = AIMessage(content, id="m", tool_calls=[call])
    found = [one for one in entries(line(message, "before")) if isinstance(one, Message)]
    assert [(one.key, one.kind, one.text) for one in found] == [
        ("s/m/0", "thinking", "Hm."),
        ("s/m/1", "text", "I look."),
        ("s/m", "call", '{"at": "ä"}'),
    ]
    assert [one.parent for one in found] == [After("s/before"), After("s/m/0"), After("s/m/1")]
    assert (found[2].call, found[2].tool) == ("c", "look")


def test_what_is_no_text_is_named() -> None:
    """A picture leaves its kind; an answer without a word is an empty one."""
    picture: list[Any] = ["See: ", {"type": "image_url", "image_url": {"url": "data:…"}}]
    assert said(HumanMessage(picture, id="m")) == [("person", "text", "See: [image_url]")]
    assert said(AIMessage("", id="m")) == [("agent", "text", "")]


def test_results_and_others() -> None:
    """A failed tool is marked; what the program said is the client's; other kinds are kept raw."""
    [result] = [
        one
        for one in entries(line(ToolMessage("no", id="m", tool_call_id="c", status="error"), ""))
        if isinstance(one, Message)
    ]
    assert (result.kind, result.call, result.failed) == ("result", "c", True)
    assert said(SystemMessage("be", id="m")) == [("client", "text", "be")]
    [(role, kind, _)] = said(ChatMessage("x", role="y", id="m"))
    assert (role, kind) == ("client", "raw")


def test_usage() -> None:
    """Tokens from a cache are counted apart."""
    usage: Any = {
        "input_tokens": 100,
        "output_tokens": 5,
        "total_tokens": 105,
        "input_token_details": {"cache_read": 60, "cache_creation": 30},
    }
    message = AIMessage("a", id="m", usage_metadata=usage, response_metadata={"model_name": "big"})
    [found] = [one for one in entries(line(message, "")) if isinstance(one, Usage)]
    assert found == Usage("s/m", "big", input=10, output=5, cache_read=60, cache_write=30)
    claimed = line(message, "").replace(b'"input_tokens":100', b'"input_tokens":1e999')
    [found] = [one for one in entries(claimed) if isinstance(one, Usage)]
    assert found.input == 0


def test_an_end_that_was_told() -> None:
    """A turn that failed stays failed, although the event is a stop."""
    prompt = line(HumanMessage("a", id="m"), "")
    ends = entries(prompt, end_line("failed", "no credit"), kind="stop")
    [end] = [one for one in ends if isinstance(one, TurnEnds)]
    assert (end.outcome, end.reason) == ("failed", "no credit")
    [end] = [one for one in entries(prompt, kind="session-end") if isinstance(one, TurnEnds)]
    assert end.outcome == "interrupted"


def test_the_same_again() -> None:
    """Records that come twice give the same keys, and begin no second turn."""
    lines = [line(HumanMessage("a", id="m"), ""), line(AIMessage("b", id="n"), "m")]
    assert entries(*lines) == entries(*lines, *lines)[: len(entries(*lines))]
    event = Event("records", id="1" * 16, at=5, session="s")
    first = read(event, [Line("l", 0, lines[0])], {})
    again = read(event, [Line("l", 0, lines[0])], first.state)
    assert [type(one) for one in again.entries] == [Message]


def test_a_summary_comes_twice() -> None:
    """By the event of the compaction, and in the log: with one key. The event of a client that
    names no message says nothing here."""

    def told(**details: str) -> list[Entry]:
        event = Event("post-compact", id="0" * 16, at=1_000, session="s", details=details)
        return list(read(event, [], {}).entries)

    [found] = told(summary="It was about mugs.", message="summary-m")
    assert isinstance(found, Message)
    assert (found.role, found.kind, found.text) == ("client", "compaction", "It was about mugs.")
    [again] = entries(line(summary_message("It was about mugs.", "m"), "m"))
    assert isinstance(again, Message)
    assert (again.key, again.kind) == (found.key, found.kind)
    assert told(summary="It was about mugs.") == told(message="summary-m") == []


@given(_json, st.binary(max_size=20))
def test_nothing_raises(value: object, data: bytes) -> None:
    """Whatever stands in a line, it is read or kept raw."""
    for content in (json.dumps(value).encode(), data, head_line("x"), b"[" * 100_000):
        assert all(isinstance(one, Entry) for one in entries(content))

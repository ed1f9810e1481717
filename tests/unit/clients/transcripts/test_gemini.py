"""Gemini CLI: what its transcripts say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pannier.clients.transcript import Before, HeadMoves, Message, TurnBegins, TurnEnds, Usage
from pannier_hook.events import Log

from .stories import (
    HandOver,
    entries,
    event_of,
    hand_overs,
    lines_of,
    messages,
    read_all,
    readings,
    told,
)

LOG = ".gemini/tmp/files/chats/session-2026-11-29T23-59-01234567.jsonl"


def _given(*records: Any, kind: str = "records", **details: str) -> HandOver:
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    event = event_of("gemini", kind, log=Log(LOG, 0), details=details)
    return HandOver(event, tuple(lines_of(LOG, lines)))


def _user(id: str, *texts: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "user", "content": [{"text": text} for text in texts], **more}


def _model(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "gemini", "content": text, **more}


def _said(*records: Any) -> list[str]:
    [reading] = read_all("gemini", [_given(*records)])
    return told(reading.entries)


def test_turns_with_tools() -> None:
    """Calls and results once, though the client writes each of them in several records."""
    assert told(entries("gemini", "tools")) == [
        "begin",
        "person text: do the tools",
        'agent call: {"command": "echo hi; exit 3"}',
        "tool result!: <untrusted_context>\nOutput: hi\nExit Code: 3\n"
        "Process Group PGID: 41\n</untrusted_context>",
        'agent call: {"file_path": "/workspace/agent/files/none.txt"}',
        "tool result!: File not found: /workspace/agent/files/none.txt",
        'agent call: {"file_path": "/workspace/agent/files/a.txt", "content": "hello\\n"}',
        "tool result: Successfully created and wrote to new file: "
        "/workspace/agent/files/a.txt. Here is the updated code:\nhello\n",
        'agent call: {"file_path": "/workspace/agent/files/a.txt"}',
        "tool result: hello\n",
        "agent text: done with tools",
        "succeeded",
        "begin",
        "person text: and again",
        "agent text: second answer",
        "succeeded",
        "begin",
        "person text: and a third",
        "agent text: third answer",
        "succeeded",
    ]


def test_calls_and_results_are_pairs() -> None:
    """Each call has its result, by the call's id, with the tool's name on both."""
    for story in ("tools", "parallel"):
        found = [m for m in messages("gemini", story) if m.kind in ("call", "result")]
        pairs = [(m.call, m.tool) for m in found if m.kind == "call"]
        assert len(set(pairs)) == len(pairs) >= 2
        assert pairs == [(m.call, m.tool) for m in found if m.kind == "result"]


def test_calls_made_together() -> None:
    """A thought, a word, two calls, and then both results: as the model saw them."""
    kinds = [m.kind for m in messages("gemini", "parallel") if m.role in ("agent", "tool")]
    assert kinds == ["thinking", "text", "call", "call", "result", "result", "text"]


def test_usage_counts_once_for_each_answer() -> None:
    """The client repeats the tokens whenever it writes the message again."""
    used = [entry for entry in entries("gemini", "tools") if isinstance(entry, Usage)]
    assert [one.output for one in used] == [7, 12, 16, 11, 3, 3, 3]
    assert len({one.key for one in used}) == len(used)
    assert {one.model for one in used} == {"gemini-2.5-flash"}


def test_tokens() -> None:
    """Those from a cache are apart, and thoughts are output."""
    tokens = {"input": 100, "output": 3, "cached": 60, "thoughts": 4, "tool": 5, "total": 112}
    [reading] = read_all("gemini", [_given(_model("a", "hi", tokens=tokens))])
    [used] = [entry for entry in reading.entries if isinstance(entry, Usage)]
    assert (used.input, used.output, used.cache_read) == (45, 7, 60)


def test_injected_memory_is_ours() -> None:
    """It is taken out of the prompt, without the client's escapes."""
    found = messages("gemini", "tools")
    [memory] = [m for m in found if m.role == "pannier"]
    assert memory.kind == "memory"
    assert memory.text.startswith("-----BEGIN PANNIER MEMORY ")
    assert next(m.text for m in found if m.role == "person") == "do the tools"


def test_what_another_hook_adds_is_the_clients() -> None:
    """Only our frames are ours."""
    added = "<hook_context>a &lt;b&gt; &amp; c</hook_context>"
    assert _said(_user("a", "hello", added, displayContent=[{"text": "hello"}])) == [
        "begin",
        "person text: hello",
        "client text: a <b> &amp; c",
    ]


def test_what_the_client_puts_beside_the_prompt_is_its_own() -> None:
    """A prompt that names a file is sent with the file; typed was the prompt only."""
    assert _said(
        _user("a", "see @mug.md", "File: ", "blue.", displayContent=[{"text": "see @mug.md"}])
    ) == ["begin", "person text: see @mug.md", "client text: File: blue."]


def test_a_command_of_ones_own_is_a_prompt() -> None:
    """Typed was the command; what it stands for is the client's."""
    typed = [{"text": "/greet Bob"}]
    assert _said(_user("a", "Greet Bob politely.", displayContent=typed)) == [
        "begin",
        "person text: /greet Bob",
        "client text: Greet Bob politely.",
    ]


def test_a_hook_of_ones_own_prolongs_the_turn() -> None:
    """What it says comes with the old prompt to show, and is nobody's word."""
    typed = [{"text": "begin it"}]
    first = _given(_user("a", "begin it"), _model("b", "part one"), kind="stop", last="part one")
    rest = (_user("c", "do the rest too", displayContent=typed), _model("d", "part two"))
    then = _given(*rest, kind="stop", last="part two")
    said = [entry for reading in read_all("gemini", [first, then]) for entry in reading.entries]
    assert told(said) == [
        "begin",
        "person text: begin it",
        "agent text: part one",
        "succeeded",
        "begin",
        "client text: do the rest too",
        "agent text: part two",
        "succeeded",
    ]
    assert len({entry.key for entry in said if isinstance(entry, TurnBegins)}) == 1


def test_a_line_for_the_shell_is_no_prompt() -> None:
    """What a person runs in the shell mode is told to the model, and nobody answers: also after a
    turn, which it does not prolong."""
    said = "I ran the following shell command:\n```sh\nls\n```\n\nThis produced …"
    assert _said(_user("a", said)) == [f"client text: {said}"]
    first = _given(_user("a", "one"), _model("b", "ok"), kind="stop", last="ok")
    then = _given(_user("c", said, displayContent=[{"text": "one"}]))
    readings = read_all("gemini", [first, then])
    assert told(readings[1].entries) == [f"client text: {said}"]


def test_a_dropped_prompt_stays_as_a_failed_turn() -> None:
    """The client forgets a prompt that the model refused; we do not, and go on before it."""
    found = entries("gemini", "api-failure")
    assert told(found) == [
        "begin",
        "person text: good prompt",
        "agent text: fine",
        "succeeded",
        "begin",
        "person text: refused prompt",
        "failed",
        "begin",
        "person text: next prompt",
        "agent text: ok then",
        "succeeded",
    ]
    said = {m.text: m.position for m in messages("gemini", "api-failure")}
    [move] = [entry.to for entry in found if isinstance(entry, HeadMoves)]
    assert isinstance(move, Before)
    assert said["fine"] < move.position <= said["refused prompt"]


def test_errors_in_a_terminal() -> None:
    """What went wrong is said after the prompt was dropped, and is the turn's reason."""
    found = entries("gemini", "errors")
    ends = [entry for entry in found if isinstance(entry, TurnEnds)]
    assert [end.outcome for end in ends] == ["failed", "succeeded", "failed", "succeeded"]
    assert ends[0].reason.startswith("[API Error: ")


def test_cancelled_turns() -> None:
    """Cancelled before an answer, and during a tool."""
    found = entries("gemini", "cancelled")
    assert [e.outcome for e in found if isinstance(e, TurnEnds)] == [
        "succeeded",
        "interrupted",
        "interrupted",
        "succeeded",
    ]
    assert told(found).count("person text: Say slow.") == 1


def test_a_compression_adds_its_summary_only() -> None:
    """What the client keeps comes again with new ids, and is not told again, also on a resume."""
    found = told(entries("gemini", "compression"))
    assert [line for line in found if "warm" in line] == [
        f"person text: Say it is warm. {number}" for number in range(4)
    ]
    after = found.index("client compaction: <state_snapshot>the summary</state_snapshot>")
    assert found[after + 1 : after + 5] == [
        "begin",
        "person text: Say it is cold.",
        "agent text: ok",
        "succeeded",
    ]
    assert not any(isinstance(entry, HeadMoves) for entry in entries("gemini", "compression"))


def test_a_summary_without_tags_is_known_by_its_answer() -> None:
    """The client thanks for it in the model's name."""
    thanks = "Got it. Thanks for the additional context!"
    listed = [_user("s", "so far"), _model("t", thanks), _user("u", "hi")]
    assert _said({"$set": {"messages": listed}}) == ["client compaction: so far"]


def test_a_rewind_goes_back() -> None:
    """What was said stays; the next prompt follows what came before the one taken back."""
    found = entries("gemini", "rewind")
    said = {m.text: m.position for m in messages("gemini", "rewind") if m.role == "person"}
    [move] = [entry.to for entry in found if isinstance(entry, HeadMoves)]
    assert isinstance(move, Before)
    assert said["Say one."] < move.position <= said["Say two."]
    place = found.index(HeadMoves(move))
    assert told(found[place:])[:2] == ["begin", "person text: Say two. Changed."]


def test_a_rewind_to_the_first_prompt() -> None:
    """Goes on after what the client begins a session with, or at its beginning."""
    turn = (_user("a", "one"), _model("b", "ok"))
    [reading] = read_all("gemini", [_given(*turn, {"$rewindTo": "a"}, _user("c", "two"))])
    assert HeadMoves(None) in reading.entries


def test_a_message_of_the_queue_begins_a_turn() -> None:
    """What our hook says at a stop is plain text of a user's there; here it is ours."""
    found = entries("gemini", "stop-hook")
    assert len({e.key for e in found if isinstance(e, TurnBegins)}) == 3
    [message] = [m for m in messages("gemini", "stop-hook") if m.kind == "message"]
    assert message.role == "pannier"
    assert "The <b>build</b> & tests are green." in message.text
    assert [m.text for m in messages("gemini", "stop-hook") if m.role == "person"] == [
        "one turn",
        "resumed",
    ]


def test_a_message_of_the_queue_within_a_turn_is_part_of_it() -> None:
    """It comes with a prompt, and begins nothing."""
    frame = next(m.text for m in messages("gemini", "stop-hook") if m.kind == "message")
    said = _said(_user("a", "one"), _user("b", frame), _model("c", "ok"))
    assert [line for line in said if line == "begin"] == ["begin"]


def test_a_sub_agent_is_inner() -> None:
    """Its file lies in a folder with the session's id."""
    found = entries("gemini", "agent")
    [agent] = {e.inner for e in found if isinstance(e, TurnBegins)} - {""}
    assert told(found, inner=agent)[:3] == [
        "begin",
        "client text: look into it",
        "agent text: sub done",
    ]
    assert told(found, inner=agent)[-1] == "succeeded"
    assert told(found)[-2:] == ["agent text: ok", "succeeded"]


def test_sessions_after_a_clear() -> None:
    """Each session has its own file and its own turns."""
    assert len({one.event.session for one in hand_overs("gemini", "clear")}) == 2
    assert told(entries("gemini", "clear"))[:8] == [
        "begin",
        "person text: Say it is day.",
        "agent text: ok",
        "succeeded",
        "begin",
        "person text: Say it is night.",
        "agent text: ok",
        "succeeded",
    ]


def test_a_text_that_changed_is_a_message_beside_the_old_one() -> None:
    """The same id with another text: both stay, the new one where the old one was."""
    [reading] = read_all(
        "gemini", [_given(_user("a", "hi"), _model("b", "helo"), _model("b", "hello"))]
    )
    said = [entry for entry in reading.entries if isinstance(entry, Message)]
    assert [m.text for m in said] == ["hi", "helo", "hello"]
    assert said[2].parent == Before("s", said[1].position)


def test_a_session_without_a_transcript_is_told_by_its_events() -> None:
    """The client removes the file of a session whose first prompt failed."""
    given = [
        HandOver(event_of("gemini", "user-prompt", details={"prompt": "hello"}), ()),
        HandOver(event_of("gemini", "session-end", details={"reason": "exit"}), ()),
    ]
    said = [entry for reading in read_all("gemini", given) for entry in reading.entries]
    assert told(said) == ["begin", "person text: hello", "interrupted"]


def test_no_answer_at_the_stop_is_no_success() -> None:
    """The hook is called for a cancelled turn, too, before the client writes that it was."""
    first = _given(_user("a", "hello"), kind="stop", last="[no response text]")
    rest = lines_of(
        LOG, json.dumps({"id": "b", "type": "info", "content": "Request cancelled."}).encode()
    )
    last = HandOver(event_of("gemini", "session-end"), tuple(rest))
    said = [entry for reading in read_all("gemini", [first, last]) for entry in reading.entries]
    assert told(said)[-1] == "interrupted"


def test_the_state_holds_no_texts() -> None:
    """What is remembered from one hand-over to the next is ids and places, and stays small."""
    state = json.dumps(dict(readings("gemini", "tools")[-1].state))
    assert "hello" not in state
    many = [_user(f"{n:036d}", "x" * 1_000) for n in range(5_000)]
    [reading] = read_all("gemini", [_given(*many)])
    assert len(json.dumps(dict(reading.state))) < 150_000


@pytest.mark.parametrize(
    "record",
    [
        {"id": "a", "type": "new", "content": "x"},
        {"id": "a", "type": {}, "content": "x"},
        {"$new": 1},
        {"$set": {"new": 1}},
        {"$set": 1},
        [1],
        None,
    ],
)
def test_what_nobody_knows_is_kept_as_it_is(record: object) -> None:
    """An unknown record is kept raw."""
    [reading] = read_all("gemini", [_given(record)])
    [message] = reading.entries
    assert isinstance(message, Message)
    assert (message.kind, message.text) == ("raw", json.dumps(record))

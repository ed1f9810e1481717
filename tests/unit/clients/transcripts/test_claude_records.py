"""Records of Claude Code's that no recording holds."""

from __future__ import annotations

import json

import pytest
from tests.unit.clients.transcripts.claude_stories import HandOver, event_of, read, told

from pannier.clients.transcript import (
    After,
    Entry,
    HeadMoves,
    Line,
    Message,
    TurnBegins,
    TurnEnds,
)
from pannier_hook.events import Event, Log


def test_unknown_kinds_are_kept() -> None:
    """A record of a kind that nobody knows yet is kept as it is, in its place."""
    record = {"type": "novelty", "uuid": "u2", "parentUuid": "u1", "says": "hello"}
    system = {"type": "system", "subtype": "novelty", "uuid": "u3", "parentUuid": "u2"}
    attachment = {"type": "attachment", "uuid": "u4", "attachment": {"type": "novelty"}}
    lost = {"type": "novelty", "says": "hello"}
    lines = [json.dumps(one).encode() for one in (record, system, attachment, lost)]
    parts = [HandOver(event_of("stop", id="0" * 16), numbered(lines))]
    messages = [e for e in read(parts) if isinstance(e, Message)]
    assert [(m.role, m.kind, m.text.encode()) for m in messages] == [
        ("client", "raw", line) for line in lines
    ]
    assert messages[0].parent == After("u1")
    assert messages[1].parent == After("u2")


def test_attachment_that_the_model_saw() -> None:
    """Of an attachment of an unknown kind, what the model was shown is told."""
    shown = [{"content": [{"type": "text", "text": "a file was changed"}]}, {"content": "by you"}]
    record = {"type": "attachment", "uuid": "u", "attachment": {"type": "new"}, "rendered": shown}
    parts = [HandOver(event_of("stop", id="0" * 16), numbered([json.dumps(record).encode()]))]
    assert told(read(parts)) == ["client text: a file was changed"]


def test_back_to_the_beginning() -> None:
    """A prompt that follows nothing, after others, goes on from where the session began."""
    lines = [user("u1", None, "one"), user("u2", "u1", "two"), user("u3", None, "again")]
    entries = read([HandOver(event_of("session-end", id="0" * 16), numbered(lines))])
    at = next(i for i, e in enumerate(entries) if isinstance(e, HeadMoves))
    assert entries[at] == HeadMoves(None)
    said = entries[at + 1]
    assert isinstance(said, Message)
    assert said.key == "u3"


def test_more_comes_later() -> None:
    """A stop whose records did not all fit ends no turn: the rest comes with the next event."""
    lines = numbered([user("u1", None, "one")])
    log = Log(lines[0].log, 0, more=True)
    event = event_of("stop", id="0" * 16, details={"last": "x"}, log=log)
    assert told(read([HandOver(event, lines)])) == ["turn begins", "person text: one"]


def test_surrogates() -> None:
    """Half a character, which no database takes, becomes U+FFFD; whole ones stay."""
    line = b'{"type":"user","uuid":"u","message":{"content":"a\\ud83d \\ud83d\\ude00 \\u00e9"}}'
    entries = read([HandOver(event_of("stop", id="0" * 16), numbered([line]))])
    assert [e.text for e in entries if isinstance(e, Message)] == ["a\ufffd \U0001f600 \u00e9"]


def test_a_fork_after_a_compaction() -> None:
    """Its file begins with the compaction and what that kept: an answer of a turn that is over."""
    summary = json.loads(user("s", "b", "In short: it is done.")) | {"isCompactSummary": True}
    entries = read_lines(
        json.dumps({"type": "system", "subtype": "compact_boundary", "uuid": "b"}).encode(),
        json.dumps(summary).encode(),
        answer("a", "s", {"type": "text", "text": "It is done."}),
        user("p", "a", "go on"),
    )
    assert [e.key for e in entries if isinstance(e, Message)] == ["s", "a", "p"]
    assert [e.key for e in entries if isinstance(e, TurnBegins)] == ["p"]


def test_what_follows_several_results() -> None:
    """It may name any of them: an answer and an interrupt come after the last one."""
    calls = [
        answer("a1", "u1", {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}),
        answer("a2", "a1", {"type": "tool_use", "id": "c2", "name": "Bash", "input": {}}),
    ]
    results = [result("r2", "a2", "c2"), result("r1", "a1", "c1")]
    for last in (
        answer("a3", "r2", {"type": "text", "text": "done"}, message="m2"),
        user("i", "r2", "[Request interrupted by user for tool use]"),
    ):
        parts = [HandOver(stop(), numbered([user("u1", None, "go"), *calls, *results, last]))]
        messages = [e for e in read(parts) if isinstance(e, Message)]
        assert [m.parent for m in messages[1:]] == [After(m.key) for m in messages[:-1]]


def test_stop_that_names_an_error() -> None:
    """A stop that came in the place of an answer ends a turn that has failed."""
    lines = numbered([user("u1", None, "one")])
    stop = event_of("stop", id="0" * 16, details={"last": "", "error": "overloaded"})
    [end] = [e for e in read([HandOver(stop, lines)]) if isinstance(e, TurnEnds)]
    assert (end.outcome, end.reason) == ("failed", "overloaded")


def test_answer_after_an_api_failure() -> None:
    """A turn that was answered in the end succeeded."""
    failure = json.loads(answer("a1", "u1", {"type": "text", "text": "API Error: 529"}))
    lines = [
        user("u1", None, "go"),
        json.dumps(failure | {"isApiErrorMessage": True}).encode(),
        answer("a2", "a1", {"type": "text", "text": "done"}, message="m2"),
    ]
    assert told(read([HandOver(stop(), numbered(lines))])) == [
        "turn begins",
        "person text: go",
        "client text: API Error: 529",
        "agent text: done",
        "turn succeeded",
    ]


@pytest.mark.parametrize(
    "mark", [{"promptSource": "system"}, {"origin": {"kind": "channel"}}, {"isMeta": True}]
)
def test_what_no_person_typed(mark: dict[str, object]) -> None:
    """A prompt that says of itself that nobody typed it is the client's."""
    record = json.loads(user("u1", None, "news")) | mark
    [said] = [e for e in read_lines(json.dumps(record).encode()) if isinstance(e, Message)]
    assert said.role == "client"


def test_reminders_in_a_prompt() -> None:
    """What Claude Code put beside a prompt is no word of the person's."""
    blocks = [
        {"type": "text", "text": "<system-reminder>a file is open</system-reminder>"},
        {"type": "text", "text": "fix it"},
    ]
    record = {"type": "user", "uuid": "u", "message": {"content": blocks}}
    assert told(read_lines(json.dumps(record).encode()))[1:3] == [
        "client text: <system-reminder>a file is open</system-",
        "person text: fix it",
    ]


def test_whole_output_beside_a_result() -> None:
    """When the result itself does not say where the whole is, it is added."""
    record = json.loads(result("r", "a", "c")) | {
        "toolUseResult": {"persistedOutputPath": "/x.txt"}
    }
    [said] = [e for e in read_lines(json.dumps(record).encode()) if isinstance(e, Message)]
    assert said.text == "out\n[the whole output: /x.txt]"


def read_lines(*lines: bytes) -> list[Entry]:
    return read([HandOver(event_of("records", id="0" * 16), numbered(list(lines)))])


def stop() -> Event:
    return event_of("stop", id="0" * 16)


def answer(uuid: str, parent: str, block: dict[str, object], message: str = "m1") -> bytes:
    said = {"id": message, "model": "x", "content": [block], "usage": {"output_tokens": 1}}
    record = {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": said}
    return json.dumps(record).encode()


def result(uuid: str, parent: str, call: str) -> bytes:
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": call, "content": "out"}
    said = {"content": [block]}
    return json.dumps(
        {"type": "user", "uuid": uuid, "parentUuid": parent, "message": said}
    ).encode()


def numbered(lines: list[bytes]) -> tuple[Line, ...]:
    return tuple(Line(".claude/projects/p/s.jsonl", 1000 * n, data) for n, data in enumerate(lines))


def user(uuid: str, parent: str | None, text: str) -> bytes:
    record = {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"content": text}}
    return json.dumps(record).encode()

"""Codex: what its rollouts say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pannier.clients.transcript import (
    ASKED_ITSELF,
    Before,
    HeadMoves,
    Message,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.clients.transcripts import codex
from pannier_hook.events import Log

from .stories import HandOver, entries, event_of, hand_overs, lines_of, messages, read_all, told

ID = "01a229a9-c7b4-7a11-b90a-69e836b26d20"
LOG = f".codex/sessions/2026/11/29/rollout-2026-11-29T23-35-22-{ID}.jsonl"


def _given(*records: dict[str, Any], log: str = LOG, kind: str = "records") -> HandOver:
    """A hand-over of these records, with ordinals from 0."""
    lines = b"".join(
        json.dumps({"ordinal": number, **record}).encode() + b"\n"
        for number, record in enumerate(records)
    )
    event = event_of("codex", kind, session=ID, log=Log(log, 0))
    return HandOver(event, tuple(lines_of(log, lines)))


def _item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def _event(**payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": payload}


def _said(*records: dict[str, Any]) -> list[str]:
    [reading] = read_all("codex", [_given(*records)])
    return told(reading.entries)


def test_turns_with_tools() -> None:
    """A prompt, calls with their results, and the answer; a tool that failed is told as such."""
    assert told(entries("codex", "tools")) == [
        "begin",
        "person text: do the tools",
        'agent call: {"input": "text((await tools.exec_command'
        "({cmd:'echo hi; exit 3'})).output)\"}",
        "tool result: Script completed\nWall time 0.1 seconds\nOutput:\nhi\n",
        'agent call: {"input": "text(await tools.exec_command({cmd:\'seq 3\'})); '
        "text(JSON.stringify(await tools.exec_command({cmd:'ls /nonexist'})))\"}",
        "tool result: Script completed\nWall time 0.1 seconds\nOutput:\n"
        '{"chunk_id":"7343a6","wall_time_seconds":0.000011607,"exit_code":0,'
        '"original_token_count":2,"output":"1\\n2\\n3\\n"}'
        '{"chunk_id":"464246","wall_time_seconds":0.000005167,"exit_code":2,'
        '"original_token_count":15,"output":"ls: cannot access \'/nonexist\': '
        'No such file or directory\\n"}',
        'agent call: {"input": "syntax error here("}',
        "tool result!: Script failed\nWall time 0.0 seconds\nOutput:\nScript error:\n"
        "SyntaxError: Unexpected identifier 'error'",
        "agent text: done with tools",
        "succeeded",
        "begin",
        "person text: and again",
        "agent text: second answer",
        "succeeded",
    ]


def test_calls_and_results_are_pairs() -> None:
    """Each call has its result, by the call's id, with the tool's name on both."""
    found = [m for m in messages("codex", "tools") if m.kind in ("call", "result")]
    pairs = [(m.call, m.tool, m.inner) for m in found if m.kind == "call"]
    assert len(set(pairs)) == 6
    assert sorted(pairs) == sorted((m.call, m.tool, m.inner) for m in found if m.kind == "result")


def test_what_a_script_ran_is_told_beside_the_conversation() -> None:
    """The model calls scripts; the commands that these ran are told too, each with its output."""
    assert told(entries("codex", "tools"), inner=codex.SCRIPT) == [
        'agent call: {"command": ["/bin/bash", "-lc", "echo hi; exit 3"], '
        '"cwd": "file:///workspace/agent/files"}',
        "tool result!: hi\n",
        'agent call: {"command": ["/bin/bash", "-lc", "seq 3"], '
        '"cwd": "file:///workspace/agent/files"}',
        "tool result: 1\n2\n3\n",
        'agent call: {"command": ["/bin/bash", "-lc", "ls /nonexist"], '
        '"cwd": "file:///workspace/agent/files"}',
        "tool result!: ls: cannot access '/nonexist': No such file or directory\n",
    ]


def test_model_and_usage() -> None:
    """Each model call's tokens are told once, and the model of what the agent says."""
    used = [entry for entry in entries("codex", "tools") if isinstance(entry, Usage)]
    assert [(one.model, one.output) for one in used] == [
        ("gpt-6.2-sol", 16),
        ("gpt-6.2-sol", 28),
        ("gpt-6.2-sol", 4),
        ("gpt-6.2-sol", 3),
        ("gpt-6.2-sol", 3),
    ]
    assert {m.model for m in messages("codex", "tools") if m.role == "agent"} == {"gpt-6.2-sol"}


def test_tokens_from_a_cache_are_counted_apart() -> None:
    """Codex counts them among the input."""
    usage = {"input_tokens": 100, "cached_input_tokens": 80, "output_tokens": 5}
    [reading] = read_all(
        "codex",
        [_given({"type": "token_usage_record", "payload": {"turn_id": "t", "usage": usage}})],
    )
    [used] = [entry for entry in reading.entries if isinstance(entry, Usage)]
    assert (used.input, used.cache_read, used.output) == (20, 80, 5)


def test_injected_memory_is_ours() -> None:
    """The memory block has our role; what the client says of itself has the client's."""
    found = messages("codex", "tools")
    [memory] = [m for m in found if m.role == "pannier"]
    assert memory.kind == "memory"
    assert [m.text.split("\n")[0] for m in found if m.role == "client"] == [
        "# AGENTS.md instructions",
        "<environment_context>",
    ]


def test_an_api_failure_is_a_failed_turn() -> None:
    """A refused prompt stays, in a turn that failed with the reason."""
    found = entries("codex", "api-failure")
    assert told(found)[:3] == ["begin", "person text: first prompt refused", "failed"]
    [failed] = [e for e in found if isinstance(e, TurnEnds) and e.outcome == "failed"]
    assert "scripted failure" in failed.reason


def test_interrupts() -> None:
    """A turn that was stopped was interrupted, before an answer as well as during a tool."""
    assert [e.outcome for e in entries("codex", "interrupted") if isinstance(e, TurnEnds)] == [
        "succeeded",
        "interrupted",
        "interrupted",
        "succeeded",
    ]


def test_a_compaction_adds_nothing_twice() -> None:
    """The history that a compaction leaves was said before; who asks for one begins no turn."""
    found = entries("codex", "compact")
    assert told(found) == [
        "begin",
        "person text: hello",
        'agent call: {"input": "text(\'a\')"}',
        "tool result: Script completed\nWall time 0.0 seconds\nOutput:\na",
        "agent text: hello back",
        "succeeded",
        "client compaction: ",
        "begin",
        "person text: again",
        "agent text: after compaction",
        "succeeded",
    ]
    assert told(found, inner=ASKED_ITSELF) == ["begin", "succeeded"]


def test_a_summary_that_can_be_read_is_told_once() -> None:
    """What the model answered to the question for a summary is the compaction's text."""
    found = messages("codex", "auto-compaction")
    [compaction] = [m for m in found if m.kind == "compaction"]
    assert compaction.text.endswith("so far")
    assert [m.text for m in found if m.role == "agent" and m.kind == "text"] == ["finished"]


def test_a_fork_goes_on_from_where_it_left() -> None:
    """The first message of a fork names the session and the place that it left."""
    found = {m.text: m for m in messages("codex", "fork")}
    start = found["three in the fork"].parent
    assert isinstance(start, Before)
    assert found["two answered"].position < start.position <= found["three in main"].position
    assert found["two answered"].key.startswith(start.session)
    assert found["fork answered"].parent is None


def test_a_revert_goes_back() -> None:
    """A second file of the session begins where the person went back to."""
    found = entries("codex", "revert")
    moves = [entry.to for entry in found if isinstance(entry, HeadMoves)]
    session = hand_overs("codex", "revert")[0].event.session
    assert moves == [Before(session, 20), Before(session, 32), None]
    said = [m for m in messages("codex", "revert") if m.role == "person"]
    assert len({m.key for m in said}) == len(said) == 7


def _user(text: str) -> dict[str, Any]:
    passed = {"internal_chat_message_metadata_passthrough": {"turn_id": "t1"}}
    return _item(type="message", role="user", content=[{"text": text}], **passed)


def test_a_hook_of_ones_own_prolongs_the_turn() -> None:
    """What it says belongs to the turn, as does the answer; what comes after an abort does not."""
    begun = _event(type="task_started", turn_id="t1")
    answers = [_item(type="message", role="assistant", content=[{"text": n}]) for n in "ab"]
    records = [begun, _user("Hello"), answers[0]]
    after = [_user('<hook_prompt hook_run_id="1">go on</hook_prompt>'), answers[1]]
    marker = _user("<turn_aborted>\nx\n</turn_aborted>")
    numbered = [{"ordinal": n, **one} for n, one in enumerate([*records, *after, marker])]
    given = [
        _given(*numbered[:3], kind="stop"),
        _given(*numbered[3:5], kind="stop"),
        _given(numbered[5]),
    ]
    said = [told(reading.entries) for reading in read_all("codex", given)]
    assert said == [
        ["begin", "person text: Hello", "agent text: a", "succeeded"],
        ["begin", "client text: go on", "agent text: b", "succeeded"],
        [],
    ]


def test_a_message_of_the_queue_begins_a_turn() -> None:
    """What a stop hook of ours says has our role, in a turn of its own within Codex's."""
    found = entries("codex", "stop-hook")
    begun = [e.key for e in found if isinstance(e, TurnBegins)]
    assert len(set(begun)) == 2
    [message] = [m for m in messages("codex", "stop-hook") if m.kind == "message"]
    assert message.role == "pannier"
    assert "The <b>build</b> & tests are green." in message.text
    assert told(found)[-1] == "succeeded"


def test_a_sub_agent_is_inner() -> None:
    """Its rollout repeats what its parent knew, which is not told again; its turn is its own."""
    found = entries("codex", "agent")
    [agent] = {e.inner for e in found if isinstance(e, TurnBegins)} - {""}
    assert told(found, inner=agent) == [
        "client text: Message Type: NEW_TASK\nTask name: /root/probe\nSender: /root\nPayload:\n",
        "begin",
        "agent text: ok",
        "succeeded",
    ]
    assert told(found).count("person text: spawn one") == 1


def test_a_review_is_no_persons_turn() -> None:
    """Nobody said anything to the agent."""
    found = entries("codex", "review")
    assert {e.inner for e in found if isinstance(e, TurnBegins)}.isdisjoint({""})
    assert "agent text: ok" in told(found)


def test_a_session_without_a_rollout_is_told_by_its_events() -> None:
    """When Codex could not write it, say because the disk is full."""
    given = [
        HandOver(event_of("codex", "user-prompt", turn="t", details={"prompt": "hello"}), ()),
        HandOver(event_of("codex", "stop", turn="t", details={"last": "well"}), ()),
    ]
    said = [entry for reading in read_all("codex", given) for entry in reading.entries]
    assert told(said) == ["begin", "person text: hello", "agent text: well", "succeeded"]


def test_older_functions_as_tools() -> None:
    """Tools that are functions, a shell call, a search, and thoughts that can be read."""
    assert _said(
        _item(type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="a"),
        _item(type="function_call_output", call_id="a", output="Exit code: 1\nnothing"),
        _item(type="local_shell_call", call_id="b", action={"type": "exec", "command": ["ls"]}),
        _item(type="function_call_output", call_id="b", output={"content": "x", "success": False}),
        _item(type="web_search_call", id="c", action={"type": "search", "query": "mug"}),
        _item(type="reasoning", summary=[{"type": "summary_text", "text": "I think."}]),
        _item(type="reasoning", summary=[], encrypted_content="AAAA"),
    ) == [
        'agent call: {"command": ["ls"]}',
        "tool result!: Exit code: 1\nnothing",
        'agent call: {"type": "exec", "command": ["ls"]}',
        "tool result!: x",
        'agent call: {"type": "search", "query": "mug"}',
        "agent thinking: I think.",
    ]


def test_a_tool_of_a_server_bears_its_name() -> None:
    """Two servers may have tools of one name."""
    call = {"type": "function_call", "namespace": "mcp__docs", "name": "find", "arguments": "{}"}
    [reading] = read_all("codex", [_given(_item(**call, call_id="a"))])
    [found] = [entry for entry in reading.entries if isinstance(entry, Message)]
    assert found.tool == "mcp__docs__find"


def test_without_kinds_the_clients_words_are_known_by_their_tags() -> None:
    """Older records do not say what is a person's."""
    text = [{"type": "input_text", "text": "<user_instructions>\nbe kind\n</user_instructions>"}]
    hello = [{"type": "input_text", "text": "x < y, isn't it?"}]
    assert _said(
        _item(type="message", role="user", content=text),
        _item(type="message", role="user", content=hello),
    ) == [
        "client text: <user_instructions>\nbe kind\n</user_instructions>",
        "begin",
        "person text: x < y, isn't it?",
    ]


def test_a_turn_without_an_answer_did_not_succeed() -> None:
    """The end of a turn alone is no success."""
    hello = [{"type": "input_text", "text": "hello"}]
    assert _said(
        _event(type="task_started", turn_id="t"),
        _item(type="message", role="user", content=hello),
        _event(type="task_complete", turn_id="t", last_agent_message=None),
    ) == ["begin", "person text: hello", "failed"]


def test_a_turn_fails_though_the_hook_said_that_it_stopped() -> None:
    """The end of the turn is written after the hook was called, and is what counts."""
    hello = [{"type": "input_text", "text": "hello"}]
    answer = [{"type": "output_text", "text": "well"}]
    first = _given(
        _event(type="task_started", turn_id="t"),
        _item(type="message", role="user", content=hello),
        _item(type="message", role="assistant", content=answer),
        kind="stop",
    )
    [line] = lines_of(
        LOG,
        json.dumps({"ordinal": 9, **_event(type="turn_aborted", turn_id="t")}).encode(),
    )
    rest = HandOver(event_of("codex", session=ID), (line,))
    said = [entry for reading in read_all("codex", [first, rest]) for entry in reading.entries]
    assert told(said)[-2:] == ["succeeded", "interrupted"]


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b"null",
        b'{"ordinal":1,"type":"new_kind","payload":{}}',
        b'{"ordinal":1,"type":"response_item","payload":{"type":"new"}}',
        b'{"ordinal":1,"type":"event_msg","payload":{"type":"new"}}',
        b'{"ordinal":1,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"N"}}}',
        b'{"ordinal":-1,"type":{}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_nobody_knows_is_kept_as_it_is(line: bytes) -> None:
    """An unknown record is kept raw."""
    [reading] = read_all(
        "codex", [HandOver(event_of("codex", session=ID), tuple(lines_of(LOG, line + b"\n")))]
    )
    [message] = reading.entries
    assert isinstance(message, Message)
    assert (message.kind, message.text) == ("raw", line.decode("utf-8", "replace"))

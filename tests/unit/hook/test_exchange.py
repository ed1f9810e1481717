"""Events as clients announce them: what they are answered, and what the sidecar is told."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook.events import Event
from pannier_hook.inbox import file_name
from pannier_hook.jsontext import string_before_cut
from pannier_hook.messages import Message, split_messages
from pannier_hook.unframing import read_back

from .conftest import Answer, World

TRANSCRIPT = ("claude", "codex", "gemini")
OTHERS = ("qwen", "copilot", "opencode", "custom")


def call(world: World, client: str, event: str, **told: object) -> Answer:
    members = {"session_id": "s-1", "transcript_path": str(world.home / "log.jsonl"), **told}
    answer = world.run(event, "--client", client, stdin=members)
    assert answer.status == 0
    return answer


def told(world: World) -> list[Event]:
    """The events so far; they are taken out."""
    found = world.events()
    for file, _ in found:
        file.unlink()
    return [event for _, event in found]


@pytest.mark.parametrize("client", [*TRANSCRIPT, *OTHERS])
def test_a_session_is_told(world: World, client: str) -> None:
    """Each event of a session becomes one file, with what the client said of it."""
    source = "new" if client == "copilot" else "startup"
    call(world, client, "session-start", source=source, model="m-1")
    call(world, client, "user-prompt", prompt="Grüße\n\x1b🙂", turn_id="t-1")
    call(world, client, "stop", last_assistant_message="done\n", stop_hook_active=False)
    call(world, client, "pre-compact", trigger="manual")
    call(world, client, "post-compact", trigger="auto", compact_summary="so far")
    answer = call(world, client, "session-end", reason="exit")
    assert (answer.out, answer.err, answer.errors) == (b"", "", [])
    found = told(world)
    assert [(event.kind, event.details) for event in found] == [
        ("session-start", {"source": source, "model": "m-1"}),
        ("user-prompt", {"prompt": "Grüße\n\x1b🙂"}),
        ("stop", {"last": "done\n", "active": ""}),
        ("pre-compact", {"trigger": "manual"}),
        ("post-compact", {"summary": "so far", "trigger": "auto"}),
        ("session-end", {"reason": "exit"}),
    ]
    assert {(e.client, e.session, e.thread, e.task) for e in found} == {
        (client, "s-1", "main", False)
    }
    assert [event.at for event in found] == sorted({event.at for event in found})
    assert found[1].turn == "t-1"
    assert {file.parent.name for file in world.spool.glob("*/*")} <= {"cursors"}


@pytest.mark.parametrize("client", [*TRANSCRIPT, *OTHERS])
def test_a_resume_is_told_where_nothing_else_tells_it(world: World, client: str) -> None:
    """A transcript knows that its session goes on."""
    call(world, client, "session-start", source="resume")
    assert len(told(world)) == (client not in TRANSCRIPT)


@pytest.mark.parametrize(
    ("members", "details"),
    [
        (
            {"stop_hook_active": True, "prompt_response": "hi"},
            {"last": "hi", "active": "true"},
        ),
        (
            {"hook_event_name": "StopFailure", "error": "rate_limit"},
            {"last": "", "active": "", "error": "rate_limit"},
        ),
        ({"error": "no model"}, {"last": "", "active": "", "error": "no model"}),
    ],
)
def test_stops(world: World, members: dict[str, object], details: dict[str, str]) -> None:
    """A stop says whether a hook made the agent go on, and whether the model failed."""
    call(world, "claude", "stop", **members)
    (event,) = told(world)
    assert event.details == details


def test_transcripts_go_along(world: World) -> None:
    """A client with a readable transcript hands over its new lines at a stop."""
    log = world.home / "log.jsonl"
    log.write_text("one\n")
    call(world, "codex", "stop")
    with log.open("a") as file:
        file.write("two\nthr")
    call(world, "codex", "session-end")
    call(world, "qwen", "stop")
    first, second, other = told(world)
    assert (first.body, second.body, other.body) == (b"one\n", b"two\n", b"")
    assert first.log
    assert first.log.name == "log.jsonl"


@pytest.mark.parametrize("event", ["session-start", "user-prompt", "stop", "session-end"])
def test_a_session_without_a_transcript(world: World, event: str) -> None:
    """Nothing is told of one that the client does not keep, such as Codex's for a title, and no
    message is lost to it."""
    send(world, "hello")
    answer = call(world, "codex", event, transcript_path=None, source="startup", prompt="A title!")
    assert b"hello" not in answer.out
    assert told(world) == []


def test_an_empty_prompt_is_none(world: World) -> None:
    """Qwen Code announces one after each tool's result: no turn begins, no message goes with it."""
    send(world, "hello")
    answer = call(world, "qwen", "user-prompt", prompt="")
    assert (answer.out, told(world)) == (b"", [])


def test_a_failed_stop_hears_no_message(world: World) -> None:
    """What is printed at Claude Code's StopFailure goes nowhere, so the message waits on."""
    send(world, "hello")
    answer = call(world, "claude", "stop", hook_event_name="StopFailure", error="overloaded")
    assert answer.out == b""
    assert [event.kind for event in told(world)] == ["stop"]


COPILOT_LOG = """\
{"type":"user.message","data":{"content":"one"}}
{"type":"assistant.message","data":{"content":"said before"}}
{"type":"user.message","data":{"content":"two"}}
{"type":"assistant.message","data":{"content":"","toolRequests":[{"name":"task"}]}}
{"type":"assistant.message","data":{"content":"a sub-agent's","parentToolCallId":"c-1"}}
{"type":"assistant.message","data":{"content":"said last"}}
{"type":"assistant.message","data":{"content":"a sub-agent's","parentToolCallId":"c-1"}}
{"type":"hook.start","data":{"input":"{\\"type\\":\\"assistant.message\\"}"}}
{"type":"hook.start","data":{"hookType":"agentStop"}}
{"type":"assistant.mess"""


@pytest.mark.parametrize(
    ("log", "last"),
    [
        (COPILOT_LOG, "said last"),
        (COPILOT_LOG.replace("said last", ""), ""),
        ("nothing of it\n\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), ""),
        (None, ""),
    ],
)
def test_copilot_said_last(world: World, log: str | None, last: str) -> None:
    """Its stop does not say it: the session's log does, since the last prompt."""
    path = world.home / "events.jsonl"
    if log is not None:
        path.write_text(log)
    call(world, "copilot", "stop", transcriptPath=str(path))
    (event,) = told(world)
    assert event.details == {"last": last, "active": ""}


def test_copilot_s_log_is_waited_for(world: World) -> None:
    """It is written a moment behind; and without what is waited for, not longer than that."""
    path = world.home / "events.jsonl"
    path.write_text(COPILOT_LOG.partition('{"type":"hook.start"')[0].replace("said last", "early"))
    late = threading.Timer(0.2, lambda: path.write_text(COPILOT_LOG))
    late.start()
    call(world, "copilot", "stop", transcriptPath=str(path))
    late.join()
    path.write_text(COPILOT_LOG.replace("hook.start", "hook.end"))
    call(world, "copilot", "stop", transcriptPath=str(path))
    assert [event.details["last"] for event in told(world)] == ["said last"] * 2


def test_one_of_eight_parts_tells(world: World) -> None:
    """A session start that several entries of the settings share is told once."""
    for part in range(1, 9):
        world.start("claude", "startup", "--part", f"{part}/8")
    assert [event.kind for event in told(world)] == ["session-start"]


def test_sub_agents_and_tasks(world: World) -> None:
    """What is not the main agent's, or not a person's, is marked."""
    told_in: dict[str, object] = {"session_id": "s-1", "agent_id": "a-7", "prompt": "x"}
    world.run("user-prompt", "--client", "claude", stdin=told_in, PANNIER_TASK="1")
    copilot: dict[str, object] = {"sessionId": "s-1", "agentId": "a-8", "prompt": "x"}
    world.run("user-prompt", "--client", "copilot", stdin=copilot, PANNIER_THREAD="side")
    first, second = told(world)
    assert (first.agent, first.task, first.thread) == ("a-7", True, "main")
    assert (second.agent, second.task, second.thread) == ("a-8", False, "side")


# ---- tools -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "members", "details"),
    [
        (
            "qwen",
            {
                "tool_name": "shell",
                "tool_use_id": "made-up",
                "tool_call_id": "c-1",
                "tool_input": {"command": "ls", "n": [1, 2.5, None]},
                "tool_response": "a\nb",
            },
            ("shell", "c-1", '{"command": "ls", "n": [1, 2.5, null]}', "a\nb"),
        ),
        (
            "qwen",
            {"tool_name": "shell", "tool_response": {"llmContent": "a\nb", "returnDisplay": "a"}},
            ("shell", "", "", "a\nb"),
        ),
        (
            "copilot",
            {
                "toolName": "bash",
                "toolArgs": '{"command": "ls"}',
                "toolResult": {"resultType": "success", "textResultForLlm": "a\nb"},
            },
            ("bash", "", '{"command": "ls"}', "a\nb"),
        ),
        ("custom", {"tool_name": "x", "error": "no"}, ("x", "", "", "no", "true")),
    ],
)
def test_tools(
    world: World, client: str, members: dict[str, object], details: tuple[str, ...]
) -> None:
    """What a tool was asked and what it gave, where no transcript says it."""
    call(world, client, "post-tool", **members)
    (event,) = told(world)
    assert event.kind == "post-tool"
    names = ("tool", "call", "input", "output", "failed")
    assert event.details == dict(zip(names, details, strict=False))


@pytest.mark.parametrize("client", TRANSCRIPT)
def test_tools_of_clients_with_a_transcript(world: World, client: str) -> None:
    """The transcript says it: no event is written, and all of the input is taken."""
    for size in (3, 3_000_000):
        answer = call(world, client, "post-tool", tool_name="x", tool_response="y" * size)
        assert (answer.err, answer.errors) == ("", [])
        assert bool(answer.out) is (size > 3)
    assert list(world.spool.iterdir()) == []


def test_a_huge_tool_output(world: World) -> None:
    """Its beginning is kept; the client can write all of it."""
    size = 20 << 20
    members = {"session_id": "s-1", "tool_name": "x", "tool_response": {"text": "é" * (size // 6)}}
    data = json.dumps(members).encode()
    begin = time.monotonic()
    process = subprocess.Popen(
        world.command("post-tool", "--client", "qwen"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=world.environment(),
    )
    assert process.stdin
    process.stdin.write(data)
    process.stdin.close()
    assert process.wait() == 0
    assert time.monotonic() - begin < 10
    (event,) = told(world)
    assert event.details["tool"] == "x"
    assert event.details["output"].startswith('{"text": "\\u00e9')
    assert 1_000_000 < len(event.details["output"]) <= 1 << 20


WROTE = {"file_path": "/w/a.txt", "content": 'say "é🙂"\n' * 200_000}
"""What a tool was asked: 3 MB of it."""


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    "members",
    [
        {"tool_name": "w", "tool_input": WROTE, "tool_response": "done", "tool_use_id": "c-1"},
        {"tool_input": WROTE, "tool_response": {"llmContent": "done"}, "tool_use_id": "c-1"}
        | {"session_id": "s-1", "tool_name": "w"},
    ],
)
def test_what_stands_behind_a_long_input(
    world: World, members: dict[str, object], ascii_only: bool
) -> None:
    """A call that wrote a large file keeps its result and its id, in any order; the input says
    that it was cut, and is JSON still."""
    stdin = json.dumps({"session_id": "s-1", **members}, ensure_ascii=ascii_only).encode()
    answer = world.run("post-tool", "--client", "qwen", stdin=stdin)
    assert (answer.status, answer.err) == (0, "")
    (event,) = told(world)
    details = event.details
    assert [details[name] for name in ("tool", "call", "output")] == ["w", "c-1", "done"]
    kept = json.loads(details["input"])
    assert kept["file_path"] == "/w/a.txt"
    assert kept["content"].endswith("…")
    assert WROTE["content"].startswith(kept["content"][:-1])
    assert 1_000_000 < len(details["input"]) <= 1 << 20


def test_what_stands_behind_a_long_output(world: World) -> None:
    """A result of 30 MB before the tool's name and the call's id leaves both."""
    members = {"tool_response": "x" * 30_000_000, "tool_use_id": "c-1", "tool_input": {"a": 1}}
    stdin = json.dumps({**members, "tool_name": "r"}).encode()
    world.run("post-tool", "--client", "qwen", stdin=stdin)
    (event,) = told(world)
    assert [event.details[name] for name in ("tool", "call", "input")] == ["r", "c-1", '{"a": 1}']
    output = event.details["output"]
    assert 1_000_000 < len(output) <= 1 << 20
    assert output == "x" * (len(output) - 1) + "…"


def test_a_huge_output_of_many_small_values(world: World) -> None:
    """What stands before it is kept, and its beginning; the client can write all of it."""
    members = {"tool_use_id": "c-1", "tool_name": "r", "tool_response": list(range(2_000_000))}
    answer = world.run("post-tool", "--client", "qwen", stdin=json.dumps(members).encode())
    assert (answer.status, answer.err) == (0, "")
    (event,) = told(world)
    assert [event.details[name] for name in ("tool", "call")] == ["r", "c-1"]
    assert event.details["output"].startswith("[0, 1, 2")
    assert len(event.details["output"]) == 1 << 20


# ---- nothing disturbs the agent ----------------------------------------------------------------

ALL = ("session-start", "user-prompt", "post-tool", "stop", "pre-compact", "session-end")


@pytest.mark.parametrize("event", ALL)
@pytest.mark.parametrize("client", ["claude", "qwen"])
def test_without_a_spool(world: World, event: str, client: str) -> None:
    """The answer is as ever."""
    with_spool = call(world, client, event, source="resume")
    world.spool.rename(world.spool.with_name("gone"))
    without = call(world, client, event, source="resume")
    assert (without.status, bool(without.out)) == (0, bool(with_spool.out))
    assert not world.spool.exists()


# Without root's right to pass by every mode.
LESS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def no_room() -> None:
    """No file can get any bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


@pytest.mark.parametrize("full", [True, False], ids=["full", "read-only"])
@pytest.mark.parametrize("folders", [True, False], ids=["used before", "new"])
def test_a_spool_that_takes_nothing(world: World, full: bool, folders: bool) -> None:
    """The agent gets its answer all the same, and what is new in its transcript comes later."""
    log = world.home / "log.jsonl"
    log.write_text("one\n")
    if folders:
        call(world, "claude", "stop")
        told(world)
        log.write_text("one\ntwo\n")
    kept = [world.spool, *world.spool.glob("*")]
    for folder in [] if full else kept:
        folder.chmod(0o555)
    send(world)
    members = {"session_id": "s-1", "transcript_path": str(log), "source": "startup"}
    for event in ("session-start", "user-prompt", "stop", "session-end"):
        done = subprocess.run(
            [*LESS, *world.command(event, "--client", "claude")],
            input=json.dumps(members).encode(),
            capture_output=True,
            env=world.environment(),
            preexec_fn=no_room if full else None,
        )
        assert (done.returncode, bool(done.stdout)) == (
            0,
            event in ("session-start", "user-prompt"),
        )
    for folder in kept:
        folder.chmod(0o755)
    assert told(world) == []
    call(world, "claude", "stop")
    assert [event.body for event in told(world)] == [b"two\n" if folders else b"one\n"]
    assert list((world.spool / "tmp").iterdir()) == []


@pytest.mark.parametrize("client", OTHERS)
def test_what_no_transcript_holds_is_kept(world: World, client: str) -> None:
    """Events that no spool took come with the first one that it takes, in their order, once."""
    world.spool.rmdir()
    call(world, client, "user-prompt", prompt="one")
    call(world, client, "post-tool", tool_name="two")
    call(world, client, "stop", last_assistant_message="three")
    assert not world.spool.exists()
    world.spool.mkdir()
    call(world, client, "user-prompt", prompt="four")
    call(world, client, "stop", last_assistant_message="five")
    kinds = [event.kind for event in told(world) if event.kind != "error"]
    assert kinds == ["user-prompt", "post-tool", "stop", "user-prompt", "stop"]
    held = world.home / ".local/state/pannier/held"
    assert list(held.iterdir()) == []


def test_what_is_kept_is_bounded(world: World) -> None:
    """And nothing that lies there in its place does harm."""
    world.spool.rmdir()
    held = world.home / ".local/state/pannier/held"
    held.mkdir(parents=True)
    event = Event("stop", id=ID, at=1).encode()
    for number in range(600):
        (held / f"{number}").write_bytes(event)
    (held / "00-folder").mkdir()
    (held / "00-link").symlink_to("/etc/passwd")
    os.mkfifo(held / "01-pipe")
    call(world, "qwen", "user-prompt", prompt="one")
    assert len(list(held.iterdir())) == 603
    world.spool.mkdir()
    call(world, "qwen", "user-prompt", prompt="two")
    assert [e.details for e in told(world) if e.kind == "user-prompt"] == [{"prompt": "two"}]
    assert len(list(held.iterdir())) == 603 - 49


@pytest.mark.parametrize("event", ["stop", "pre-compact", "session-end"])
@pytest.mark.parametrize("stdin", [b"", b"[]", b'{"a":', b"\xff" * 10, b"[" * 200_000])
def test_input_that_is_none(world: World, event: str, stdin: bytes) -> None:
    """Nothing is printed, the status is 0."""
    answer = world.run(event, "--client", "claude", stdin=stdin)
    assert (answer.status, answer.out) == (0, b"")


@pytest.mark.parametrize("client", ["claude", "qwen"])
def test_a_huge_prompt_and_last_message(world: World, client: str) -> None:
    """What comes before the cut of a long input is told, and the beginning of the long text."""
    log = world.home / "log.jsonl"
    log.write_text("one\n")
    call(world, client, "user-prompt", prompt="é" * (1 << 20))
    call(world, client, "stop", last_assistant_message="🙂" * (1 << 20))
    call(world, client, "pre-compact", session_id="s-" + "x" * (2 << 20))
    first, second, third = told(world)
    assert (first.session, second.session, third.session) == ("s-1", "s-1", "")
    for event, text in ((first.details["prompt"], "é"), (second.details["last"], "🙂")):
        assert 80_000 < len(event) < 1 << 20
        assert set(event) == {text}
    assert second.body == (b"one\n" if client == "claude" else b"")


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), st.data())
def test_the_beginning_of_a_text_that_was_cut(text: str, data: st.DataObject) -> None:
    """Wherever the cut is, what can be read is the text's beginning, and nearly all of it."""
    raw = json.dumps(text)
    cut = data.draw(st.integers(1, len(raw) - 1))
    found = string_before_cut(raw[:cut])
    assert text.startswith(found)
    assert len(json.dumps(found)) > cut - 12


@pytest.mark.parametrize(("event", "most"), [("stop", 2.0), ("session-end", 1.0)])
def test_an_input_that_does_not_end(world: World, event: str, most: float) -> None:
    """It is not waited for."""
    reader, writer = os.pipe()
    os.write(writer, b'{"session_id": "s-1", "last_assistant_message": "x", ')
    begin = time.monotonic()
    done = subprocess.run(
        world.command(event, "--client", "claude"),
        stdin=reader,
        capture_output=True,
        env=world.environment(),
    )
    assert time.monotonic() - begin < most
    assert (done.returncode, done.stdout) == (0, b"")
    assert [event.session for event in told(world)] == ["s-1"]
    os.close(reader)
    os.close(writer)


# ---- the queue ---------------------------------------------------------------------------------


ID = "00112233445566aa"
BLOCKED = ("codex", "gemini", "qwen")


def send(world: World, text: str = "the build broke") -> Path:
    new = world.spool.parent / "inbox" / "new"
    new.mkdir(parents=True, exist_ok=True)
    message = Message(ID, text, at=10**18, sender="ci", source="github")
    (new / file_name(1, message)).write_bytes(message.encode())
    return new


@pytest.mark.parametrize("client", ["claude", *BLOCKED])
def test_a_message_makes_the_agent_go_on(world: World, client: str) -> None:
    """At a stop the agent goes on with what the queue has; the sidecar is told in that order."""
    new = send(world)
    done = call(world, client, "stop")
    if client in BLOCKED:
        answer = json.loads(done.out)
        assert answer.keys() == {"decision", "reason"}
        assert (answer["decision"], "the build broke" in answer["reason"]) == ("block", True)
    else:
        assert "the build broke" in done.context
    assert [(e.kind, e.details.get("messages")) for e in told(world)] == [
        ("stop", None),
        ("delivered", ID),
    ]
    assert list(new.iterdir()) == []
    assert call(world, client, "stop").out == b""


@pytest.mark.parametrize(
    ("client", "name"),
    [("claude", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("qwen", "UserPromptSubmit")],
)
def test_a_message_comes_with_a_prompt(world: World, client: str, name: str) -> None:
    """In the client's own protocol."""
    send(world)
    answer = json.loads(call(world, client, "user-prompt", prompt="go on").out)
    assert answer["hookSpecificOutput"]["hookEventName"] == name
    assert "the build broke" in answer["hookSpecificOutput"]["additionalContext"]
    prompted, delivered = told(world)
    assert (prompted.kind, delivered.kind) == ("user-prompt", "delivered")
    # Where no transcript will say it.
    assert ("the build broke" in delivered.details.get("prompt", "")) == (client == "qwen")


def test_memory_and_messages_come_together(world: World) -> None:
    """Where the prompt carries the memory, one answer has both."""
    call(world, "gemini", "session-start", source="startup")
    send(world)
    text = call(world, "gemini", "user-prompt", prompt="hello").context
    assert read_back(text).complete
    assert [piece.body for piece in split_messages(text) if piece.id] == ["the build broke"]


def test_never_in_a_loop(world: World) -> None:
    """A stop that a hook caused, a sub-agent's and a background task's leave the queue alone."""
    new = send(world)
    assert call(world, "claude", "stop", stop_hook_active=True).out == b""
    assert call(world, "claude", "user-prompt", agent_id="a-1").out == b""
    assert call(world, "copilot", "stop").out == b""
    task = world.run("stop", "--client", "claude", stdin={"session_id": "s"}, PANNIER_TASK="1")
    assert task.out == b""
    assert len(list(new.iterdir())) == 1


def test_without_a_spool_messages_come_all_the_same(world: World) -> None:
    """Once: what was shown counts as delivered."""
    new = send(world)
    world.spool.rmdir()
    assert b"the build broke" in call(world, "claude", "user-prompt").out
    assert (list(new.iterdir()), len(list((new.parent / "done").iterdir()))) == ([], 1)


# ---- several at once ---------------------------------------------------------------------------


def test_several_hooks_at_once(world: World) -> None:
    """Events that come together each leave whole files, and no line is missing."""
    log = world.home / "log.jsonl"
    log.write_text("".join(f"line {number}\n" for number in range(1_000)))
    members = {"session_id": "s-1", "transcript_path": str(log)}
    running = [
        subprocess.Popen(
            world.command(event, "--client", "claude"),
            stdin=subprocess.PIPE,
            env=world.environment(),
        )
        for event in ("stop", "pre-compact", "user-prompt", "session-end")
    ]
    for process in running:
        process.communicate(json.dumps(members).encode())
    assert [process.returncode for process in running] == [0] * 4
    first = told(world)
    assert len({event.id for event in first}) == 4
    assert {event.body for event in first if event.body} == {log.read_bytes()}
    call(world, "claude", "stop")
    assert [event.body for event in told(world)] == [b""]

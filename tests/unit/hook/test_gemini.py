"""Gemini CLI: its first prompt of a fresh context carries the memory, once."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pannier_hook.clients import CLIENTS, SESSION_START
from pannier_hook.events import decode
from pannier_hook.framing import escape_angles
from pannier_hook.inbox import file_name
from pannier_hook.marks import Marks
from pannier_hook.messages import Message
from pannier_hook.options import Options
from pannier_hook.request import Request
from pannier_hook.telling import tell
from pannier_hook.unanswered import LIMIT, is_unanswered
from pannier_hook.unframing import read_back

from .conftest import Answer, World


def prompt(world: World, session: str = "s-1", text: str = "Hello") -> Answer:
    told: dict[str, object] = {
        "session_id": session,
        "hook_event_name": "BeforeAgent",
        "timestamp": "2026-11-29T10:00:00Z",
        "prompt": text,
    }
    return world.run("user-prompt", "--client", "gemini", stdin=told)


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_first_prompt_carries_memory_once(world: World, source: str) -> None:
    """A session start prints nothing; the first prompt gets the memory, the second nothing."""
    assert world.start("gemini", source).out == b""
    first = prompt(world)
    assert read_back(first.context).complete
    assert json.loads(first.out)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    second = prompt(world)
    assert (second.status, second.out, second.errors) == (0, b"", [])


def test_resumed_session_gets_nothing(world: World) -> None:
    """After a resume the prompt carries nothing."""
    world.start("gemini", "resume")
    assert prompt(world).out == b""


def test_sessions_are_told_apart(world: World) -> None:
    """The mark of one session counts for no other."""
    world.start("gemini")
    assert prompt(world, "s-2").out == b""
    assert prompt(world, "s-1").out


def test_huge_prompt_still_gets_memory(world: World) -> None:
    """A prompt that is longer than what the hook reads does not cost the memory."""
    world.start("gemini")
    assert read_back(prompt(world, text="x" * (2 << 20)).context).complete


def test_two_prompts_at_once_inject_once(world: World) -> None:
    """Of prompts that come at once, one carries the memory."""
    world.start("gemini")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: prompt(world), range(8)))
    assert sum(bool(answer.out) for answer in answers) == 1


def test_angle_brackets_as_gemini_shows_them(world: World) -> None:
    """Escaped as Gemini escapes, the block is read back whole and says what the signs mean."""
    world.write("memory/index.md", "if a < b and b > c: &lt;really&gt;\n")
    world.start("gemini")
    text = prompt(world).context
    arrived = read_back(escape_angles(text))
    assert arrived.complete
    assert arrived.files[0].text == "if a &lt; b and b &gt; c: &lt;really&gt;\n"
    assert "stand for angle brackets" in text
    framing = text.replace(read_back(text).files[0].text, "")
    assert not set("<>") & set(framing)


def test_other_clients_get_nothing_with_a_prompt(world: World) -> None:
    """The prompt event of a client whose session start injects prints nothing."""
    for client in (name for name, row in CLIENTS.items() if row.injects_on == SESSION_START):
        assert world.run("user-prompt", "--client", client, stdin={"session_id": "s"}).out == b""


def test_mark_lies_in_the_state_folder(world: World) -> None:
    """A mark is one empty file in the client's state, and is gone when it was taken."""
    world.start("gemini")
    (mark,) = (world.home / ".gemini" / "pannier").iterdir()
    assert mark.stat().st_size == 0
    prompt(world)
    assert not mark.exists()


HOSTILE = ["../../../etc/passwd", "a/b", "x" * 5_000, "\0", "\ud800", "é\n"]


@pytest.mark.parametrize("session", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_session_ids(tmp_path: Path, session: str) -> None:
    """A session id is never a path."""
    marks = Marks(str(tmp_path), ".gemini", str(tmp_path / "nowhere"))
    marks.leave(session)
    assert len(list((tmp_path / ".gemini" / "pannier").iterdir())) == 1
    assert marks.take(session)
    assert not marks.take(session)


def test_falls_back_when_home_cannot_be_written(tmp_path: Path) -> None:
    """Without a usable HOME the mark lies in a folder of one's own below the fallback."""
    (tmp_path / "tmp").mkdir()
    home = tmp_path / "home"
    home.write_text("a file in the place of a home")
    marks = Marks(str(home), ".gemini", str(tmp_path / "tmp"))
    marks.leave("s")
    folder = tmp_path / "tmp" / f"pannier-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert marks.take("s")


def test_fallback_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    """A link or a folder that others can write is not trusted in the shared folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    name = f"pannier-{os.geteuid()}"
    marks = Marks("", ".gemini", str(tmp_path))
    (tmp_path / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match="no folder"):
        marks.leave("s")
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    (tmp_path / name).chmod(0o777)
    with pytest.raises(OSError, match="no folder"):
        marks.leave("s")
    assert list(elsewhere.iterdir()) == []


HEADER = '{"sessionId":"s-1","kind":"main"}'
EMPTIED = '{"$set":{"messages":[{"type":"user","content":[{"text":"<session_context>"}]}]}}'
ANSWER = '{"id":"2","type":"gemini","content":"ok"}'


class Chat:
    """A transcript as the client writes it, and prompts of its session."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.file = world.home / "session.jsonl"
        self.file.write_text(f"{HEADER}\n{EMPTIED}\n")

    def write(self, *lines: str) -> None:
        with self.file.open("a") as log:
            log.writelines(f"{line}\n" for line in lines)

    def prompt(self, *, before: str = "", after: str = "") -> Answer:
        """The hook's answer to a prompt; the client records both before it asks the model, and
        joins to it what other hooks say `before` and `after` it."""
        told: dict[str, object] = {"session_id": "s-1", "transcript_path": str(self.file)}
        answer = self.world.run("user-prompt", "--client", "gemini", stdin=told)
        parts = [{"text": "Hello"}]
        given = (before, answer.context if answer.out else "", after)
        if shown := "\n".join(text for text in given if text):
            shown = shown.replace("<", "&lt;").replace(">", "&gt;")
            parts.append({"text": f"<hook_context>{shown}</hook_context>"})
        self.write(json.dumps({"type": "user", "content": parts}, separators=(",", ":")))
        return answer


def test_lost_with_its_turn_and_given_again(world: World) -> None:
    """When the turn that carried the memory failed or was cancelled, the next prompt carries it."""
    chat = Chat(world)
    world.start("gemini")
    for _ in range(3):
        assert read_back(chat.prompt().context).complete
        chat.write(EMPTIED)
    assert chat.prompt().out
    chat.write(ANSWER)
    assert chat.prompt().out == b""


def test_lost_in_a_compression_and_given_again(world: World) -> None:
    """After a compression the next prompt carries the memory, once."""
    chat = Chat(world)
    world.start("gemini")
    chat.prompt()
    chat.write(ANSWER)
    assert chat.prompt().out == b""
    chat.write(ANSWER, EMPTIED, ANSWER)
    assert read_back(chat.prompt().context).complete
    chat.write(ANSWER)
    assert chat.prompt().out == b""


def test_prompt_before_the_session_start(world: World) -> None:
    """A prompt that is quicker than the session start carries the memory; the next one does not."""
    chat = Chat(world)
    assert chat.prompt().out
    world.start("gemini")
    chat.write(ANSWER)
    assert chat.prompt().out == b""


def test_resumed_chat_without_memory_gets_nothing(world: World) -> None:
    """A conversation that began without the hook does not get the memory on a resume."""
    chat = Chat(world)
    chat.write(ANSWER)
    world.start("gemini", "resume")
    assert chat.prompt().out == b""


def test_transcript_that_is_not_written_any_more(world: World) -> None:
    """A client that cannot write its transcript, on a full disk say, gets the memory once."""
    chat = Chat(world)
    world.start("gemini")
    assert prompt_of(world, chat.file).out
    assert prompt_of(world, chat.file).out == b""


def test_quoted_block_is_not_the_block(world: World) -> None:
    """A tool's output that shows a transcript with the block does not count as the block."""
    chat = Chat(world)
    world.start("gemini")
    quoted = json.dumps('{"text":"<hook_context>-----BEGIN PANNIER MEMORY 0-----')
    chat.write(f'{{"type":"user","content":[{{"functionResponse":{{"output":{quoted}}}}}]}}')
    assert chat.prompt().out


@pytest.mark.parametrize(("before", "after"), [("MINE", ""), ("", "MINE"), ("<MINE>\n", "MINE")])
def test_beside_the_context_of_another_hook(world: World, before: str, after: str) -> None:
    """A hook of a person that adds something to each prompt does not bring the memory again, nor
    does one that lets a turn go on."""
    chat = Chat(world)
    world.start("gemini")
    assert chat.prompt(before=before, after=after).out
    for _ in range(2):
        chat.write(ANSWER)
        assert chat.prompt(before=before, after=after).out == b""
    chat.write(EMPTIED)
    assert chat.prompt(before=before, after=after).out


BLOCK = "-----BEGIN PANNIER MEMORY 00-----\nx\n-----END PANNIER MEMORY 00-----"
SHOWN = {"text": f"<hook_context>{BLOCK}</hook_context>"}
HELLO = {"text": "Hello"}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "user", "content": [SHOWN]},
        {"type": "user", "content": [HELLO, SHOWN, HELLO]},
        {"type": "user", "content": [HELLO], "displayContent": [HELLO, SHOWN]},
        {"type": "user", "content": [HELLO, {"text": BLOCK}]},
        {"type": "user", "content": [HELLO, {"text": "<hook_context>> " + BLOCK[:40]}]},
        {"type": "gemini", "content": [HELLO, SHOWN]},
        {"type": "gemini", "toolCalls": [{"args": {"content": [HELLO, SHOWN], "type": "user"}}]},
        {"type": "gemini", "toolCalls": [{"args": {"$set": {"messages": [HELLO, SHOWN]}}}]},
    ],
)
def test_a_block_that_no_hook_added(world: World, message: dict[str, object]) -> None:
    """What a person, a file or the model says is not the memory, in whatever it is wrapped."""
    for whole in (message, {"$set": {"messages": [message]}}):
        chat = Chat(world)
        world.start("gemini")
        chat.write(json.dumps(whole, separators=(",", ":")))
        assert chat.prompt().out


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "null"])
def test_odd_transcripts(world: World, kind: str) -> None:
    """Without a readable transcript the mark alone decides: once."""
    path = world.home / "odd"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "null":
        path = Path("/dev/null")
    world.start("gemini")
    assert prompt_of(world, path).out
    assert prompt_of(world, path).out == b""


def test_huge_transcript(world: World) -> None:
    """Of a long transcript only the end is read; where that does not tell, nothing is injected."""
    chat = Chat(world)
    world.start("gemini")
    chat.prompt()
    with chat.file.open("a") as log:
        log.truncate(log.tell() + (64 << 20))
        log.seek(0, 2)
        log.write("\n")
    assert chat.prompt().out == b""
    chat.write(EMPTIED)
    assert chat.prompt().out


def prompt_of(world: World, transcript: Path) -> Answer:
    told: dict[str, object] = {"session_id": "s-1", "transcript_path": str(transcript)}
    return world.run("user-prompt", "--client", "gemini", stdin=told)


def test_sub_agents_transcripts_lie_in_a_folder_with_the_sessions_id(tmp_path: Path) -> None:
    """They are handed over before the session's own, each with the sub-agent's id."""
    chats = tmp_path / ".gemini/tmp/files/chats"
    (chats / "s-1").mkdir(parents=True)
    (chats / "s-1/a-1.jsonl").write_text('{"inner":1}\n')
    own = chats / "session-2026-11-29T23-44-00000001.jsonl"
    own.write_text('{"own":1}\n')
    (tmp_path / "spool").mkdir()
    options = Options({"HOME": str(tmp_path), "PANNIER_SPOOL": str(tmp_path / "spool")})
    options.event, options.client = "stop", "gemini"
    request = Request({"session_id": "s-1", "transcript_path": str(own)})
    tell(options, CLIENTS["gemini"], request, time.monotonic() + 60)
    found = [decode(file.read_bytes()) for file in sorted((tmp_path / "spool/new").iterdir())]
    assert [(e.kind, e.agent, e.body) for e in found] == [
        ("records", "a-1", b'{"inner":1}\n'),
        ("stop", "", b'{"own":1}\n'),
    ]


# ---- a turn's end ------------------------------------------------------------------------------

STORIES = Path(__file__).parents[1] / "clients" / "transcripts" / "gemini"
ASKED = '{"id":"1","timestamp":"t","type":"user","content":[{"text":"\\"type\\":\\"gemini\\""}]}'
SAID = '{"id":"2","timestamp":"t","type":"gemini","content":"ok","thoughts":[]}'
CALLED = '{"id":"2","timestamp":"t","type":"gemini","content":"ok","toolCalls":[{"id":"x"}]}'
NOTED = '{"id":"3","timestamp":"t","type":"info","content":"Request cancelled."}'
UPDATED = '{"$set":{"lastUpdated":"t"}}'


@pytest.mark.parametrize(
    ("lines", "unanswered"),
    [
        ([], False),
        (["no json", "{"], False),
        ([ASKED, SAID, UPDATED], False),
        ([ASKED, SAID, NOTED, UPDATED, ""], False),
        ([SAID, ASKED, UPDATED], True),
        ([SAID, ASKED, NOTED, UPDATED], True),
        ([ASKED, SAID, CALLED], True),
        ([ASKED, CALLED, ASKED], True),
        ([ASKED, "x" * LIMIT, SAID], False),
        ([ASKED, "x" * LIMIT], False),
    ],
)
def test_whether_a_turn_has_an_answer(tmp_path: Path, lines: list[str], unanswered: bool) -> None:
    """It has one when that is the last that was said; what cannot be known counts as one."""
    log = tmp_path / "session.jsonl"
    log.write_text("\n".join(lines))
    assert is_unanswered(str(log)) is unanswered
    link = tmp_path / "link.jsonl"
    link.symlink_to(log)
    assert not is_unanswered(str(link))
    assert not is_unanswered(str(tmp_path / "nowhere"))


def test_the_turns_of_real_sessions(tmp_path: Path) -> None:
    """The client tells a stop without an answer just where a turn was cancelled."""
    found = []
    for events in STORIES.glob("*/events.jsonl"):
        for event in map(json.loads, events.read_text().splitlines()):
            if event["kind"] == "stop" and event.get("log"):
                lines = (events.parent / Path(event["log"]).name).read_text().split("\n")
                log = tmp_path / "session.jsonl"
                log.write_text("\n".join(lines[: event["lines"][1]]) + "\n")
                found.append((is_unanswered(str(log)), event["details"]["last"]))
    assert [unanswered for unanswered, _ in found] == [
        last == "[no response text]" for _, last in found
    ]
    assert {unanswered for unanswered, _ in found} == {False, True}


def test_a_message_waits_when_a_turn_was_cancelled(world: World) -> None:
    """A turn that has no answer goes on with nothing; the next prompt carries the message."""
    chat = Chat(world)
    new = world.spool.parent / "inbox" / "new"
    new.mkdir(parents=True)
    message = Message("00112233445566aa", "the build broke", at=10**18)
    (new / file_name(1, message)).write_bytes(message.encode())
    told: dict[str, object] = {"session_id": "s-1", "transcript_path": str(chat.file)}
    chat.write(ASKED)
    assert world.run("stop", "--client", "gemini", stdin=told).out == b""
    assert len(list(new.iterdir())) == 1
    chat.write(EMPTIED, ASKED, SAID)
    assert b"the build broke" in world.run("stop", "--client", "gemini", stdin=told).out

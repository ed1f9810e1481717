"""What a session left behind whose client was killed comes with the next start, whoever starts."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pannier_hook import handover, leftovers, sessions
from pannier_hook.boot import AT_GATE
from pannier_hook.clients import CLIENTS
from pannier_hook.events import Event
from pannier_hook.options import Options
from pannier_hook.request import Request
from pannier_hook.spool import Spool
from pannier_hook.telling import tell

from .conftest import World
from .test_handover import Agent, killed, lines

DAY = 86_400


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def act(
    agent: Agent, event: str, session: str = "s-1", *, client: str = "claude", **more: str
) -> None:
    environ = {"HOME": str(agent.home), "PANNIER_SPOOL": str(agent.spool)}
    options = Options({**environ, "PANNIER_THREAD": more.pop("thread", "main")})
    options.event, options.client = event, client
    path = agent.transcript.with_name(f"{session}.jsonl")
    told: dict[str, object] = {"session_id": session, "transcript_path": str(path), **more}
    tell(options, CLIENTS[client], Request(told), time.monotonic() + 60)


def prompt(agent: Agent, session: str = "s-1", **more: str) -> None:
    act(agent, "user-prompt", session, prompt="do it", **more)


def start(agent: Agent, session: str = "s-2", source: str = "startup", **more: str) -> list[Event]:
    """A session starts; the events that come with that."""
    agent.take()
    act(agent, "session-start", session, source=source, **more)
    return agent.take()


def noted(agent: Agent) -> list[str]:
    return sorted(file.name for file in (agent.spool / "sessions").glob("*"))


def grow_old(agent: Agent, seconds: float) -> None:
    then = time.time() - seconds
    for file in (*(agent.spool / "sessions").iterdir(), *agent.transcript.parent.glob("*.jsonl")):
        os.utime(file, (then, then))


def test_a_killed_session_comes_with_the_next_one(agent: Agent) -> None:
    """Its records come as its own, in its thread, before the new session begins; and say that
    nothing more is heard of it."""
    prompt(agent, thread="k4")
    agent.say("precious words\n", "a call\n", "torn")
    left, began = start(agent)
    assert (left.kind, left.session, left.thread) == ("records", "s-1", "k4")
    assert (left.body, left.details) == (b"precious words\na call\n", {"left": "true"})
    assert left.log
    assert left.log.name == ".claude/projects/-w/s-1.jsonl"
    assert left.at < began.at
    assert (began.kind, began.session, began.thread) == ("session-start", "s-2", "main")


def test_once(agent: Agent) -> None:
    """What came so does not come again: not with other sessions, and not when it is resumed."""
    prompt(agent)
    agent.say("one\n")
    start(agent)
    assert lines(start(agent, "s-3")) == []
    assert lines(start(agent, "s-1", "resume")) == []
    prompt(agent)
    agent.say("two\n")
    act(agent, "stop")
    assert lines(agent.take()) == ["two"]


def test_resumed_at_once(agent: Agent) -> None:
    """Who resumes it brings it, too."""
    prompt(agent)
    agent.say("one\n")
    assert lines(start(agent, "s-1", "resume")) == ["one"]


def test_a_turn_after_others(agent: Agent) -> None:
    """Only what its last stop did not hand over is left."""
    prompt(agent)
    agent.say("one\n")
    act(agent, "stop")
    prompt(agent)
    agent.say("two\n")
    assert lines(start(agent)) == ["two"]


def test_a_compaction_is_no_death(agent: Agent) -> None:
    """A session that starts anew in the middle of a turn does not count as left."""
    prompt(agent)
    agent.say("one\n")
    assert lines(start(agent, "s-1", "compact")) == []
    act(agent, "stop")
    assert lines(agent.take()) == ["one"]


def test_a_session_that_goes_on_elsewhere(agent: Agent) -> None:
    """An early hand-over takes nothing from it."""
    prompt(agent)
    agent.say("one\n")
    assert lines(start(agent)) == ["one"]
    agent.say("two\n")
    assert lines(start(agent)) == ["two"]
    agent.say("three\n")
    act(agent, "stop")
    assert lines(agent.take()) == ["three"]


def test_sub_agents_too(agent: Agent) -> None:
    """What its sub-agents did comes before."""
    prompt(agent)
    agent.say("one\n")
    agent.say("inner\n", file=agent.inner / "agent-a.jsonl")
    found = start(agent)
    assert [(event.agent, event.body) for event in found if event.body] == [
        ("a", b"inner\n"),
        ("", b"one\n"),
    ]


def test_the_transcript_may_come_after_the_prompt(agent: Agent) -> None:
    """At the first prompt there is none yet: that is waited for."""
    prompt(agent)
    assert lines(start(agent)) == []
    agent.say("one\n")
    assert lines(start(agent)) == ["one"]


def test_a_session_that_ended_leaves_nothing(agent: Agent) -> None:
    """It is forgotten, and costs nothing afterwards."""
    prompt(agent)
    assert noted(agent) == ["s-1"]
    agent.say("one\n")
    act(agent, "session-end")
    assert noted(agent) == []


def test_what_its_end_could_not_carry(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session's end is in a hurry; the rest comes later all the same."""
    monkeypatch.setattr(handover, "MOST_LAST_BYTES", 12)
    prompt(agent)
    agent.say("line one\n", "line two\n")
    act(agent, "session-end")
    assert lines(agent.events()) == ["line one"]
    assert lines(start(agent)) == ["line two"]


def test_bounded(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """One start hands over a bounded amount; the rest comes with the next ones, and only the last
    says that nothing more is heard."""
    monkeypatch.setattr(leftovers, "MOST_BYTES", 30)
    said = [f"line {number:04d}" for number in range(10)]
    prompt(agent)
    agent.say(*(f"{line}\n" for line in said))
    found = []
    for _ in range(6):
        some = [event for event in start(agent) if event.body]
        assert sum(len(event.body) for event in some) <= 30
        found += some
    assert lines(found) == said
    assert [event.details for event in found] == [{}] * (len(found) - 1) + [{"left": "true"}]


def test_without_a_transcript(agent: Agent) -> None:
    """When none was written for an hour, the prompt that an event told is all, and is said so."""
    prompt(agent)
    grow_old(agent, 600)
    assert [event.kind for event in start(agent)] == ["session-start"]
    grow_old(agent, 7_200)
    left, _ = start(agent)
    assert (left.kind, left.session, left.details) == ("records", "s-1", {"left": "true"})
    assert noted(agent) == []


def test_another_client_of_the_group(agent: Agent) -> None:
    """Whose transcript is not in this HOME is left to its own."""
    prompt(agent)
    grow_old(agent, 7_200)
    assert [event.kind for event in start(agent, client="codex")] == ["session-start"]
    assert noted(agent) == ["s-1"]
    grow_old(agent, 31 * DAY)
    start(agent, client="codex")
    assert noted(agent) == []


def test_notes_do_not_pile_up(agent: Agent) -> None:
    """A day after its last word, and when all is handed over, a session needs no note."""
    prompt(agent)
    agent.say("one\n")
    start(agent)
    assert noted(agent) == ["s-1"]
    grow_old(agent, DAY + 60)
    start(agent)
    assert noted(agent) == []


def test_the_time_of_what_was_left(agent: Agent) -> None:
    """It is that of the last record, so that a thread erased since then stays erased."""
    prompt(agent)
    agent.say("one\n")
    grow_old(agent, 5_000)
    left, _ = start(agent)
    assert abs(left.at / 1e9 - (time.time() - 5_000)) < 60


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "close"])
def test_killed_while_it_looks(agent: Agent, call: str) -> None:
    """Whenever that is: the words come with the next start."""
    prompt(agent)
    agent.say("one\n")
    agent.say("inner\n", file=agent.inner / "agent-x.jsonl")
    for number in range(1, 60):
        if not killed(lambda: act(agent, "session-start", "s-2", source="startup"), call, number):
            break
        given = lines(agent.take())
        assert {*given, *lines(start(agent))} == {"one", "inner"}
        for file in (agent.spool / "cursors").iterdir():
            file.unlink()
    else:
        pytest.fail("it was never done")
    assert number > 2


def a_link(file: Path) -> None:
    file.symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    "make",
    [
        a_link,
        os.mkfifo,
        Path.mkdir,
        lambda file: file.write_bytes(b"\xff\n" * 6),
        lambda file: file.write_text("1\nclaude\nanother\nmain\n0\n/etc/passwd\n"),
        lambda file: file.write_text("2\nclaude\nodd\nmain\n0\n/etc/passwd\n"),
        lambda file: file.write_text("1\nnobody\nodd\nmain\n0\n/etc/passwd\n"),
    ],
)
def test_what_is_no_note(agent: Agent, make: Callable[[Path], None]) -> None:
    """What an agent puts among the notes harms none of them."""
    prompt(agent)
    make(agent.spool / "sessions/odd")
    agent.say("one\n")
    assert lines(start(agent)) == ["one"]


@pytest.mark.parametrize("session", ["", ".", "..", "a/b", "a\nb", "ü", "x" * 201])
def test_odd_sessions_are_not_noted(agent: Agent, session: str) -> None:
    """A note has the name of its session."""
    with Spooled(agent) as spool:
        sessions.note(spool, sessions.Noted("claude", session, "main", "/x", task=False))
        sessions.forget(spool, session)
    assert noted(agent) == []


@pytest.mark.parametrize("path", ["", "a\nb", "\ud800", "x" * 20_000])
def test_odd_paths_are_not_noted(agent: Agent, path: str) -> None:
    """Nor is one that would not be read again."""
    with Spooled(agent) as spool:
        sessions.note(spool, sessions.Noted("claude", "s-1", "main", path, task=False))
    assert noted(agent) == []


class Spooled:
    """The agent's spool, opened."""

    def __init__(self, agent: Agent) -> None:
        self.spool = Spool(str(agent.spool))

    def __enter__(self) -> Spool:
        return self.spool

    def __exit__(self, *_: object) -> None:
        self.spool.close()


def test_a_broken_transcript_holds_up_no_other(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be read is told of, after the others were handed over."""
    prompt(agent)
    prompt(agent, "s-0")
    agent.say("one\n")
    agent.say("zero\n", file=agent.transcript.with_name("s-0.jsonl"))
    real = handover.hand_over_left

    def fail(teller: object, client: object, path: str, *rest: object) -> bool:
        if path.endswith("s-1.jsonl"):
            raise OSError(5, "Input/output error")
        return real(teller, client, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(leftovers, "hand_over_left", fail)
    with pytest.raises(OSError, match="Input/output"):
        start(agent)
    assert lines(agent.take()) == ["zero"]


def test_boot_brings_it(world: World) -> None:
    """A container's start hands over what the one before it left."""
    transcript = world.write("../home/.claude/projects/-w/s-1.jsonl", "one\n")
    told: dict[str, object] = {"session_id": "s-1", "transcript_path": str(transcript)}
    world.run("user-prompt", "--client", "claude", stdin={**told, "prompt": "do it"})
    answer = world.run("boot", "--", "echo", "up")
    assert (answer.status, answer.out) == (0, b"up\n")
    assert [event.body for _, event in world.events() if event.body] == [b"one\n"]


def test_nothing_is_read_before_the_gate(world: World) -> None:
    """Before the sidecar let it pass, boot reads no transcript: the folders may be others."""
    transcript = world.write("../home/.claude/projects/-w/s-1.jsonl", "one\n")
    told: dict[str, object] = {"session_id": "s-1", "transcript_path": str(transcript)}
    world.run("user-prompt", "--client", "claude", stdin={**told, "prompt": "do it"})
    waiting = subprocess.Popen(
        world.command("boot", "--", "true"), env=world.environment(PANNIER_GATE="1")
    )
    try:
        until = time.monotonic() + 30
        comm = Path(f"/proc/{waiting.pid}/comm")
        while comm.read_text().strip() != AT_GATE and time.monotonic() < until:
            time.sleep(0.01)
        assert not [event for _, event in world.events() if event.body]
        waiting.send_signal(signal.SIGUSR1)
        assert waiting.wait(30) == 0
    finally:
        waiting.kill()
        waiting.wait()
    assert [event.body for _, event in world.events() if event.body] == [b"one\n"]

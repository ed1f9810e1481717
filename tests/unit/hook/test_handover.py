"""What is new in a transcript goes to the sidecar, whatever happens to transcript or spool."""

from __future__ import annotations

import contextlib
import os
import posix
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pannier_hook import cursor, events, handover, increment
from pannier_hook.clients import CLIENTS
from pannier_hook.events import Event
from pannier_hook.increment import cut
from pannier_hook.options import Options
from pannier_hook.request import Request
from pannier_hook.telling import tell


class Agent:
    """A client with one session, as the hook meets it in its own process."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.spool = folder / "spool"
        self.transcript = self.home / ".claude/projects/-w/s-1.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.spool.mkdir()

    @property
    def inner(self) -> Path:
        return self.transcript.with_suffix("") / "subagents"

    def say(self, *lines: str, file: Path | None = None) -> None:
        file = file or self.transcript
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", newline="") as log:
            log.writelines(lines)

    def stop(self, event: str = "stop", *, seconds: float = 60, **told: object) -> None:
        options = Options({"HOME": str(self.home), "PANNIER_SPOOL": str(self.spool)})
        options.event, options.client = event, "claude"
        members = {"session_id": "s-1", "transcript_path": str(self.transcript), **told}
        tell(options, CLIENTS["claude"], Request(members), time.monotonic() + seconds)

    def events(self) -> list[Event]:
        new = self.spool / "new"
        return [events.decode(file.read_bytes()) for file in sorted(new.glob("*"))]

    def take(self) -> list[Event]:
        """The events so far; they are gone afterwards."""
        found = self.events()
        for file in (self.spool / "new").glob("*"):
            file.unlink()
        return found

    def leftovers(self) -> list[str]:
        return [file.name for file in (self.spool / "tmp").glob("*")]


def lines(found: list[Event]) -> list[str]:
    return b"".join(event.body for event in found).decode().splitlines()


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a few short lines reach."""
    monkeypatch.setattr(increment, "FILE_LIMIT", 600)
    monkeypatch.setattr(increment, "_CHUNK", 64)
    monkeypatch.setattr(increment, "_FLUSHED", 32)
    monkeypatch.setattr(handover, "MOST_BYTES", 2_000)


def test_only_what_is_new(agent: Agent) -> None:
    """Each stop carries the lines since the last one, as they stand there."""
    agent.say('{"a": 1}\n', "not JSON é\r\n")
    agent.stop(last_assistant_message="done")
    agent.say('{"b": 2}\n')
    agent.stop()
    agent.stop("pre-compact", trigger="auto")
    first, second, third = agent.events()
    assert (first.kind, first.session, first.details["last"]) == ("stop", "s-1", "done")
    assert first.body == '{"a": 1}\nnot JSON é\r\n'.encode()
    assert first.log == events.Log(".claude/projects/-w/s-1.jsonl", 0, more=False)
    assert second.body == b'{"b": 2}\n'
    assert second.log
    assert second.log.offset == len(first.body)
    assert (third.kind, third.body, third.log) == ("pre-compact", b"", None)


def test_a_line_that_is_being_written_waits(agent: Agent) -> None:
    """The last line goes when it has its end."""
    agent.say("one\ntw")
    agent.stop()
    agent.say("o\n")
    agent.stop()
    assert [event.body for event in agent.events()] == [b"one\n", b"two\n"]


def replace(file: Path) -> None:
    new = file.with_suffix(".new")
    new.write_text(file.read_text())
    new.replace(file)


def rewrite_beginning(file: Path) -> None:
    with file.open("r+") as log:
        log.write("X")


def rewrite_end(file: Path) -> None:
    with file.open("r+b") as log:
        log.seek(-3, os.SEEK_END)
        log.write(b"X")


def shorten(file: Path) -> None:
    os.truncate(file, len("line 0\nline 1\n"))


@pytest.mark.parametrize("change", [replace, rewrite_beginning, rewrite_end, shorten])
@pytest.mark.parametrize("count", [5, 5_000], ids=["short", "long"])
def test_a_changed_transcript_goes_from_its_beginning(
    agent: Agent, change: Callable[[Path], None], count: int
) -> None:
    """Replaced, rewritten or shortened: all of it goes again."""
    agent.say(*(f"line {number}\n" for number in range(count)))
    agent.stop()
    agent.take()
    change(agent.transcript)
    agent.say("more\n")
    agent.stop()
    assert lines(agent.events()) == agent.transcript.read_text().splitlines()


@pytest.mark.usefixtures("small")
def test_parts(agent: Agent) -> None:
    """What is too large for one file goes in numbered parts that end with whole lines."""
    said = [f"line {number:03d} {'x' * 50}\n" for number in range(20)]
    agent.say(*said)
    agent.stop()
    parts = agent.events()
    assert len(parts) > 2
    assert {event.id for event in parts} == {parts[0].id}
    assert [event.part for event in parts] == [(k + 1, len(parts)) for k in range(len(parts))]
    assert all(event.body.endswith(b"\n") for event in parts)
    assert all(len(event.encode()) <= 600 for event in parts)
    offset = 0
    for event in parts:
        assert event.log
        assert (event.log.offset, event.log.more) == (offset, False)
        offset += len(event.body)
    assert lines(parts) == [line.strip() for line in said]


@pytest.mark.usefixtures("small")
def test_one_event_carries_a_bounded_amount(agent: Agent) -> None:
    """The rest goes with the next events, and each says that there is more."""
    said = [f"line {number:03d} {'x' * 50}\n" for number in range(100)]
    agent.say(*said)
    carried = []
    for _ in range(10):
        agent.stop()
        found = agent.take()
        assert sum(len(event.body) for event in found) <= 2_000
        carried += found
        if not (found[-1].log and found[-1].log.more):
            break
        assert all(event.log and event.log.more for event in found)
    assert lines(carried) == [line.strip() for line in said]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("length", [1_000, 5_000])
def test_a_line_longer_than_a_file(agent: Agent, length: int) -> None:
    """It goes over parts, and over events if need be; it is whole when they are put together."""
    said = ["before\n", "é" * length + "\n", "after\n"]
    agent.say(*said)
    for _ in range(20):
        agent.stop()
    assert b"".join(event.body for event in agent.events()) == "".join(said).encode()
    logs = [event.log for event in agent.events() if event.log]
    assert [log.offset for log in logs] == sorted(log.offset for log in logs)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seconds", [-1, 0.0005, 0.001])
def test_time_is_bounded_too(agent: Agent, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """With no time left an event still carries something, in a file that tells the truth."""
    said = [f"line {number:03d} {'x' * 50}\n" for number in range(60)]
    agent.say(*said)
    carried: list[Event] = []
    for _ in range(200):
        agent.stop(seconds=seconds)
        found = agent.take()
        assert [event.part for event in found] == [(k + 1, len(found)) for k in range(len(found))]
        carried += found
        if found[-1].log is None or not found[-1].log.more:
            break
    assert lines(carried) == [line.strip() for line in said]
    assert agent.leftovers() == []


@given(st.binary(max_size=300), st.integers(1, 50))
def test_cut(data: bytes, room: int) -> None:
    """Parts are the data, none is too long, and each ends a line where one ends within reach."""
    parts = [data[begin:end] for begin, end in cut(data, room)]
    assert b"".join(parts) == data
    for number, part in enumerate(parts):
        assert 0 < len(part) <= room
        assert number == len(parts) - 1 or part.endswith(b"\n") or b"\n" not in part


class Transcripts(RuleBasedStateMachine):
    """Any sequence of what clients do to transcripts, and of events that succeed or fail."""

    @initialize(folder=st.just(None))
    def begin(self, folder: None) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.agent = Agent(Path(self.scratch.name))
        self.count = 0
        self.given: list[str] = []
        self.only_appended = True
        self.agent.say("")

    def teardown(self) -> None:
        if hasattr(self, "scratch"):
            self.scratch.cleanup()

    def whole(self) -> list[str]:
        text = self.agent.transcript.read_text()
        return text[: text.rfind("\n") + 1].splitlines()

    @rule(sizes=st.lists(st.integers(0, 300), max_size=5), torn=st.booleans())
    def append(self, sizes: list[int], torn: bool) -> None:
        for size in sizes:
            self.count += 1
            self.agent.say(f"{self.count} {'x' * size}\n")
        if torn:
            self.count += 1
            self.agent.say(f"{self.count} torn")

    @rule(keep=st.floats(0, 1))
    def shorten(self, keep: float) -> None:
        self.only_appended = False
        kept = self.whole()
        kept = kept[: int(len(kept) * keep)]
        os.truncate(self.agent.transcript, sum(len(line) + 1 for line in kept))

    @rule(inode=st.booleans())
    def rewrite(self, inode: bool) -> None:
        self.only_appended = False
        if inode:
            self.agent.transcript.unlink()
        self.count += 1
        self.agent.transcript.write_text(f"{self.count} anew\n")

    @rule(event=st.sampled_from(["stop", "pre-compact", "session-end"]))
    def hand_over(self, event: str) -> None:
        for _ in range(50):
            self.agent.stop(event)
            found = self.agent.take()
            self.given += lines(found)
            if found[-1].log is None or not found[-1].log.more:
                break
        assert set(self.whole()) <= set(self.given)
        if self.only_appended:
            assert self.given == self.whole()
        assert self.agent.leftovers() == []

    @rule()
    def another_starts(self) -> None:
        # As if the client had been killed after its prompt.
        self.agent.stop("user-prompt")
        self.agent.stop("session-start", session_id="s-2", source="startup")
        self.given += lines(self.agent.take())
        assert set(self.whole()) <= set(self.given)
        assert self.agent.leftovers() == []

    @precondition(lambda self: self.count)
    @rule(call=st.sampled_from(["write", "fsync", "rename"]), number=st.integers(1, 6))
    def fail(self, call: str, number: int) -> None:
        # What a failed event gave may come again.
        self.only_appended = False
        with failing(call, number), contextlib.suppress(OSError):
            self.agent.stop()
        self.given += lines(self.agent.take())
        assert self.agent.leftovers() == []


class failing:
    """A system call that fails, for a full disk, from its `number`th time on."""

    def __init__(self, call: str, number: int = 1) -> None:
        self.call = call
        self.number = number
        self.patch = pytest.MonkeyPatch()

    def __enter__(self) -> None:
        real = getattr(posix, self.call)
        left = self.number

        def maybe(*args: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left < 1:
                raise OSError(28, "No space left on device")
            return real(*args, **named)

        self.patch.setattr(posix, self.call, maybe)

    def __exit__(self, *_: object) -> None:
        self.patch.undo()


@pytest.mark.usefixtures("small")
def test_any_sequence() -> None:
    """Every whole line that stood in a transcript at an event is handed over at least once, and
    exactly once and in order where the transcript was only appended to."""
    run_state_machine_as_test(
        Transcripts, settings=settings(max_examples=60, stateful_step_count=12, deadline=None)
    )


CALLS = ["open", "mkdir", "write", "fsync", "rename", "pread", "fstat"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("call", CALLS)
def test_a_failing_disk_loses_nothing(agent: Agent, call: str) -> None:
    """Whichever system call fails, and whenever: the next event hands over all of it."""
    said = [f"line {number:03d} {'x' * 50}" for number in range(15)]
    agent.say(*(f"{line}\n" for line in said))
    agent.say("inner\n", file=agent.inner / "agent-x.jsonl")
    for number in range(1, 60):
        with failing(call, number):
            try:
                agent.stop()
                failed = False
            except OSError:
                failed = True
        assert agent.leftovers() == []
        for event in agent.events():
            assert event.part[0] <= event.part[1]
        if not failed:
            break
    else:
        pytest.fail("it never succeeded")
    agent.stop()
    assert {*said, "inner"} <= set(lines(agent.events()))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "close"])
def test_killed_anywhere(agent: Agent, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A hook that is killed at any call has moved no cursor past what it gave."""
    monkeypatch.setattr(increment, "_FLUSHED", 200)
    said = [f"line {number:03d} {'x' * 50}" for number in range(12)]
    agent.say(*(f"{line}\n" for line in said))
    agent.say("inner\n", file=agent.inner / "agent-x.jsonl")
    for number in range(1, 100):
        if not killed(agent.stop, call, number):
            break
        given = lines(agent.take())
        agent.stop()
        again = lines(agent.take())
        assert {*given, *again} == {*said, "inner"}
        assert [line for line in again if line != "inner"] in ([], said)
        for cursor_file in (agent.spool / "cursors").iterdir():
            cursor_file.unlink()
    else:
        pytest.fail("it was never done")
    assert number > 3


def killed(act: Callable[[], None], call: str, number: int) -> bool:
    """Do it in a process that dies at its `number`th system call of this kind; whether it did."""
    child = os.fork()
    if not child:
        real, left = getattr(posix, call), number

        def deadly(*args: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)

        setattr(posix, call, deadly)
        act()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_without_a_spool_it_comes_later(agent: Agent) -> None:
    """What could not be handed over goes with the next event."""
    agent.say("one\n")
    agent.spool.rmdir()
    with pytest.raises(OSError, match="No such"):
        agent.stop()
    agent.spool.mkdir()
    agent.say("two\n")
    agent.stop()
    assert lines(agent.events()) == ["one", "two"]


def test_cursors_do_not_pile_up(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ones that were not used for longest go, and not the one in use."""
    monkeypatch.setattr(cursor, "MOST_KEPT", 10)
    agent.say("one\n")
    for number in range(30):
        agent.stop(session_id=f"s-{number}")
        # A file's clock ticks slowly.
        for made in (agent.spool / "cursors").iterdir():
            os.utime(made, ns=(0, made.stat().st_mtime_ns - 10**9))
    agent.take()
    agent.stop("session-end", session_id="s-29")
    assert len(list((agent.spool / "cursors").iterdir())) == 5
    agent.stop("session-end", session_id="s-29")
    assert lines(agent.events()) == []


# ---- what the agent can put in the way ---------------------------------------------------------


def a_link(file: Path) -> None:
    (file.parent / "elsewhere").write_text("secret\n")
    file.symlink_to("elsewhere")


def a_pipe(file: Path) -> None:
    os.mkfifo(file)


@pytest.mark.parametrize("make", [a_link, a_pipe, Path.mkdir, lambda file: None])
def test_only_a_regular_file_is_read(agent: Agent, make: Callable[[Path], None]) -> None:
    """Without one the event goes all the same, at once."""
    make(agent.transcript)
    agent.stop(last_assistant_message="x")
    (event,) = agent.events()
    assert (event.log, event.body, event.details["last"]) == (None, b"", "x")


@pytest.mark.parametrize("path", ["", "relative.jsonl", "/\0", "/\ud800", "/" * 5_000, 5])
def test_odd_paths(agent: Agent, path: object) -> None:
    """A path that names nothing is no transcript."""
    agent.stop(transcript_path=path)
    (event,) = agent.events()
    assert event.log is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1\n",
        b"\xff" * 500,
        b"1 9 9 9 9\n" * 50,
        b"1 -5 1 x 0\n",
        b"9 1 1 x 0\n",
        b"1 1_0 1 x 0\n",
    ],
)
def test_a_spoilt_cursor_is_none(agent: Agent, content: bytes) -> None:
    """Then the transcript goes from its beginning."""
    agent.say("one\n")
    agent.stop()
    agent.take()
    (file,) = (agent.spool / "cursors").iterdir()
    file.write_bytes(content)
    agent.stop()
    assert lines(agent.take()) == ["one"]
    file.unlink()
    file.symlink_to("/etc/passwd")
    agent.stop()
    assert lines(agent.take()) == ["one"]


def test_two_sessions_have_their_own_cursors(agent: Agent) -> None:
    """A fork that goes on in another file, or another session in the same one, begins anew."""
    agent.say("one\n")
    agent.stop()
    agent.stop(session_id="s-2")
    assert [event.session for event in agent.events() if event.body] == ["s-1", "s-2"]


def test_the_cost_is_that_of_what_is_new(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long transcript no more is read than of a short one."""
    agent.say(*(f"line {number} {'x' * 200}\n" for number in range(20_000)))
    agent.stop()
    agent.say("new\n" * 20)
    read = 0
    real = posix.pread

    def count(file: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = real(file, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(posix, "pread", count)
    agent.stop()
    assert read == 2 * cursor.WINDOW + 20 * len("new\n")


# ---- sub-agents --------------------------------------------------------------------------------


def test_sub_agents_come_first(agent: Agent) -> None:
    """What is new in their transcripts goes as records of theirs, before the event itself."""
    agent.say("main 1\n")
    agent.say("a 1\n", file=agent.inner / "agent-a.jsonl")
    agent.say("no transcript\n", file=agent.inner / "agent-a.meta.json")
    agent.stop()
    first, second = agent.take()
    assert (first.kind, first.agent, first.details) == ("records", "a", {})
    assert (first.body, first.session) == (b"a 1\n", "s-1")
    assert first.log
    assert first.log.name.endswith("s-1/subagents/agent-a.jsonl")
    assert first.at < second.at
    assert (second.kind, second.agent, second.body) == ("stop", "", b"main 1\n")
    agent.say("a 2\n", file=agent.inner / "agent-a.jsonl")
    agent.say("b 1\n", file=agent.inner / "agent-b.jsonl")
    agent.stop()
    assert sorted(lines(agent.take())) == ["a 2", "b 1"]
    agent.stop("session-end")
    assert lines(agent.take()) == []


def test_many_sub_agents(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """One event carries a bounded number of them; the others come later, and all come once."""
    monkeypatch.setattr(handover, "MOST_INNER", 4)
    agent.say("main\n")
    for number in range(10):
        agent.say(f"inner {number}\n", file=agent.inner / f"agent-{number}.jsonl")
    counts = []
    found: list[str] = []
    for _ in range(4):
        agent.stop()
        now = lines(agent.take())
        counts.append(len(now))
        found += now
    assert counts == [5, 4, 2, 0]
    assert sorted(found) == sorted(["main", *(f"inner {number}" for number in range(10))])


def test_old_sub_agents_cost_nothing(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that did not change for a while is not even opened."""
    agent.say("main\n")
    old = agent.inner / "agent-old.jsonl"
    agent.say("old\n", file=old)
    os.utime(old, ns=(0, time.time_ns() - 10**11))
    new = agent.inner / "agent-new.jsonl"
    agent.say("new\n", file=new)
    agent.stop()
    opened: list[str] = []

    def spy(path: str) -> int | None:
        opened.append(path)
        return real(path)

    real = increment.open_log
    monkeypatch.setattr(handover, "open_log", spy)
    agent.stop()
    assert str(old) not in opened
    agent.say("older\n", file=old)
    agent.stop()
    assert "older" in lines(agent.events())

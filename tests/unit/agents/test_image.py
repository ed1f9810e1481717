"""The small agent of the image: its tools, and which session it goes on with."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.conversation import shown
from agent.sessions import Sessions
from agent.shell import Keep, shell_tool
from agent.tools import MOST_READ, ToldErrors, tools

from .model import FakeModel


def run(name: str, keep: Keep | None = None, **arguments: Any) -> ToolMessage:
    """What the model is told about a call of this tool."""
    call: Any = {"name": name, "args": arguments, "id": "c", "type": "tool_call"}

    def answer(asked: list[Any]) -> AIMessage:
        done = isinstance(asked[-1], ToolMessage)
        return AIMessage("done") if done else AIMessage("", tool_calls=[call])

    agent: Any = create_agent(
        FakeModel(asked=[], answer=answer), tools(keep), middleware=[ToldErrors()]
    )
    said: list[AnyMessage] = asyncio.run(agent.ainvoke({"messages": [HumanMessage("go")]}))[
        "messages"
    ]
    [result] = [one for one in said if isinstance(one, ToolMessage)]
    return result


def test_files(tmp_path: Path) -> None:
    """A file is written with its folders, read by lines, and changed where a text occurs once."""
    file = tmp_path / "deep" / "mug.txt"
    run("write_file", path=str(file), content="blue\nmug\nblue\n")
    assert run("read_file", path=str(file), first_line=2).text == "mug\nblue\n"
    assert run("read_file", path=str(file), first_line=2, lines=1).text == (
        "mug\n[the file goes on: read it with first_line=3]"
    )
    assert run("edit_file", path=str(file), old="mug", new="cup").status == "success"
    assert file.read_text() == "blue\ncup\nblue\n"
    twice = run("edit_file", path=str(file), old="blue", new="red")
    assert (twice.status, twice.text) == (
        "error",
        f"error: {file}: the old text occurs 2 times, not once",
    )
    assert list(file.parent.iterdir()) == [file]


def test_what_goes_wrong_is_told(tmp_path: Path) -> None:
    """A missing file is an error that the model reads, and not the turn's end."""
    told = run("read_file", path=str(tmp_path / "none"))
    assert told.status == "error"
    assert "No such file" in told.text


def test_a_long_file(tmp_path: Path) -> None:
    """It is read in parts that follow each other; together they are the whole, and each says how to
    go on."""
    file = tmp_path / "long.txt"
    lines = [f"line {number} é\n" for number in range(1, 20_001)]
    file.write_text("".join(lines))
    read, first = "", 1
    for _ in range(100):
        text = run("read_file", path=str(file), first_line=first).text
        assert len(text.encode()) < MOST_READ + 100
        text, _, more = text.partition("[the file goes on: read it with first_line=")
        read += text
        if not more:
            break
        first = int(more.rstrip("]"))
    assert read == "".join(lines)


def test_a_long_line(tmp_path: Path) -> None:
    """Of a very long line the beginning is read, in whole characters; what follows it can be."""
    file = tmp_path / "long.txt"
    file.write_text(f"first\nx{'é' * 100_000}\nlast\n")
    assert run("read_file", path=str(file)).text == (
        "first\n[the file goes on: read it with first_line=2]"
    )
    text = run("read_file", path=str(file), first_line=2).text
    assert text.startswith("xééé")
    assert "\ufffd" not in text
    assert text.endswith(
        "[line 2 goes on: `cut -b` in a shell gets parts of it; first_line=3 is what follows]"
    )
    assert run("read_file", path=str(file), first_line=3).text == "last\n"


def test_commands() -> None:
    """Output, errors and status come back, however long the output is."""
    assert run("shell", command="echo a; echo b >&2; exit 3").text == "a\nb\n[status 3]"
    assert run("shell", command="printf a").text == "a\n[status 0]"
    long = run("shell", command="seq 1 100000").text
    assert long == "".join(f"{number}\n" for number in range(1, 100_001)) + "[status 0]"


def test_more_output_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is handed on as it comes, every byte; what stands for it and the status come back."""
    monkeypatch.setattr("agent.shell.IN_MEMORY", 100_000)
    digest, largest = hashlib.sha256(), 0

    def keep(pieces: Iterable[bytes]) -> str:
        nonlocal largest
        for piece in pieces:
            digest.update(piece)
            largest = max(largest, len(piece))
        return "kept"

    assert run("shell", keep, command="seq 1 1000000; exit 2").text == "kept\n[status 2]"
    whole = "".join(f"{number}\n" for number in range(1, 1_000_001))
    assert digest.hexdigest() == hashlib.sha256(whole.encode()).hexdigest()
    assert largest < 200_000


@pytest.mark.parametrize("how", ["off", "full"])
def test_output_that_cannot_be_kept(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Its beginning and end, its size and its status come back; the command runs to its end."""
    monkeypatch.setattr("agent.shell.IN_MEMORY", 100_000)

    def full(pieces: Iterable[bytes]) -> str:
        next(iter(pieces))
        raise OSError(errno.ENOSPC, "No space left on device")

    text = run("shell", None if how == "off" else full, command="seq 1 1000000").text
    assert text.startswith("1\n2\n")
    assert text.endswith("999999\n1000000\n[status 0]")
    why = "it is too long" if how == "off" else "it could not be kept: No space left on device"
    assert f"[of 6,888,896 bytes the middle is lost: {why}]" in text
    assert len(text) < 5_000


def test_output_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prints for ever is ended; what it printed until then is kept."""
    monkeypatch.setattr("agent.shell.LARGEST", 1_000_000)
    text = run("shell", command="yes").text
    assert text.endswith("[ended: it printed more than 1,000,000 bytes]\n[status -9]")
    assert len(text) > 1_000_000


def test_a_command_that_hangs(tmp_path: Path) -> None:
    """It is ended with its children when its time is up, or when the turn is interrupted; what it
    printed until then comes back."""
    text = run("shell", command="echo began; sleep 60 & sleep 60", seconds=1).text
    assert text == "began\n[ended after 1 s]\n[status -9]"
    assert "[ended after 1 s]" in run("shell", command="exec >&- 2>&-; sleep 60", seconds=1).text
    mark = tmp_path / "began"

    async def interrupted() -> None:
        given = {"command": f"echo $$ >{mark}; exec sleep 60"}
        turn = asyncio.create_task(shell_tool(None).ainvoke(given))
        while not (mark.exists() and mark.read_text()):
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        while Path(f"/proc/{mark.read_text().strip()}/stat").exists():
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(interrupted(), 30))


def test_a_child_that_goes_on(tmp_path: Path) -> None:
    """A server that is started in the background lives on; one that keeps the output open is waited
    for no longer than the command may take."""
    mark = tmp_path / "pid"
    run("shell", command=f"sleep 60 >/dev/null 2>&1 & echo $! >{mark}")
    pid = int(mark.read_text())
    os.kill(pid, signal.SIGTERM)
    text = run("shell", command="setsid sleep 5 & echo began", seconds=1).text
    assert text == "began\n[ended after 1 s]\n[status 0]"


@pytest.mark.parametrize("name", ["main", "tea/green", "..", "", "ä" * 200, "a b"])
def test_sessions(tmp_path: Path, name: str) -> None:
    """Each thread has a session of its own that goes on, whatever the thread's name."""
    sessions, other = Sessions(tmp_path, name), Sessions(tmp_path, f"{name}x")
    assert sessions.current() == ""
    first = sessions.begin()
    assert Sessions(tmp_path, name).current() == first
    assert other.current() == ""
    assert sessions.begin() != first


def test_what_a_person_sees() -> None:
    """The agent's words, and its calls in one line each."""
    call: Any = {"name": "shell", "args": {"command": "ls\npwd"}, "id": "c", "type": "tool_call"}
    assert shown(AIMessage("I look.", tool_calls=[call])) == "I look.\n· shell ls pwd"
    assert shown(ToolMessage("x", tool_call_id="c")) == ""

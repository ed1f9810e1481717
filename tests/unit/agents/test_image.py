"""The small agent of the image: its tools, and which session it goes on with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.conversation import shown
from agent.sessions import Sessions
from agent.tools import LONGEST, TOOLS, ToldErrors, shell

from .model import FakeModel


def run(name: str, **arguments: Any) -> ToolMessage:
    """What the model is told about a call of this tool."""
    call: Any = {"name": name, "args": arguments, "id": "c", "type": "tool_call"}

    def answer(asked: list[Any]) -> AIMessage:
        done = isinstance(asked[-1], ToolMessage)
        return AIMessage("done") if done else AIMessage("", tool_calls=[call])

    agent: Any = create_agent(FakeModel(asked=[], answer=answer), TOOLS, middleware=[ToldErrors()])
    said: list[AnyMessage] = asyncio.run(agent.ainvoke({"messages": [HumanMessage("go")]}))[
        "messages"
    ]
    [result] = [one for one in said if isinstance(one, ToolMessage)]
    return result


def test_files(tmp_path: Path) -> None:
    """A file is written with its folders, read by lines, and changed where a text occurs once."""
    file = tmp_path / "deep" / "mug.txt"
    run("write_file", path=str(file), content="blue\nmug\nblue\n")
    assert run("read_file", path=str(file), first_line=2, lines=1).text == "mug\n"
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


def test_commands() -> None:
    """Output, errors and status come back; a long output is shortened in its middle."""
    assert run("shell", command="echo a; echo b >&2; exit 3").text == "a\nb\n[status 3]"
    long = run("shell", command="seq 1 100000").text
    assert len(long) < LONGEST + 100
    assert long.startswith("1\n2\n")
    assert long.endswith("100000\n[status 0]")


def test_a_command_that_hangs(tmp_path: Path) -> None:
    """It is ended with its children when its time is up, or when the turn is interrupted."""
    assert "[ended after 1 s]" in run("shell", command="sleep 60 & sleep 60", seconds=1).text
    mark = tmp_path / "began"

    async def interrupted() -> None:
        given = {"command": f"echo $$ >{mark}; exec sleep 60"}
        turn = asyncio.create_task(shell.ainvoke(given))
        while not (mark.exists() and mark.read_text()):
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        while Path(f"/proc/{mark.read_text().strip()}/stat").exists():
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(interrupted(), 30))


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

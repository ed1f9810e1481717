"""Large results of tools go into files: what the model gets of them, and what stays as it is."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command

from pannier_agents import ContextSettings, Spill
from pannier_agents.blocks import texts_of
from pannier_agents.spill import _changed, _joined, _with_text
from pannier_hook.spill import spilled_in

from .conftest import Folders
from .model import FakeModel

LINES = "".join(f"line {number} of many\n" for number in range(20_000))


def calling(name: str, **arguments: Any) -> Callable[[list[BaseMessage]], AIMessage]:
    def answer(asked: list[BaseMessage]) -> AIMessage:
        if isinstance(asked[-1], ToolMessage):
            return AIMessage("done")
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c"}])

    return answer


def result_of(
    folders: Folders, what: BaseTool, *, settings: Any = None, how: str = "sync", **arguments: Any
) -> ToolMessage:
    """The result of a call of this tool, as it stands in the history."""
    (folders.root / "files").mkdir(exist_ok=True)
    model = FakeModel(asked=[], answer=calling(what.name, **arguments))
    middleware = Spill(ContextSettings.of(settings or {}), folders.group())
    agent: Any = create_agent(model, [what], middleware=[middleware])
    asks = {"messages": [HumanMessage("go")]}
    said = agent.invoke(asks) if how == "sync" else asyncio.run(agent.ainvoke(asks))
    [result] = [one for one in said["messages"] if isinstance(one, ToolMessage)]
    return result


def files(folders: Folders) -> list[Path]:
    return sorted((folders.root / "files").glob(".pannier/spill/*/*.txt"))


@tool
def shell(command: str) -> str:
    """Run it."""
    return LINES


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_large_result(folders: Folders, how: str) -> None:
    """The file holds every byte; the model gets beginning and end, size, lines, path, and how to
    read the rest."""
    result = result_of(folders, shell, how=how, command="seq")
    [file] = files(folders)
    assert file.read_text() == LINES
    assert spilled_in(result.text) == (str(file), len(LINES))
    assert f"{len(LINES)} bytes, 20000 lines" in result.text
    assert "line 0 of many\n" in result.text
    assert result.text.endswith("line 19999 of many\n")
    assert "sed -n" in result.text
    assert len(result.text) < 3_000
    assert (result.name, result.tool_call_id, result.status) == ("shell", "c", "success")


def test_thresholds(folders: Folders) -> None:
    """A result as large as its tool may give stays as it is, in bytes of UTF-8; one byte more does
    not."""

    @tool
    def look(size: int) -> str:
        """Look."""
        return "ä" * (size // 2) + "x" * (size % 2)

    settings = {"spill_buffer": {"thresholds": {"look": 5_000}}}
    assert len(result_of(folders, look, settings=settings, size=5_000).text) == 2_500
    assert files(folders) == []
    assert spilled_in(result_of(folders, look, settings=settings, size=5_001).text)
    assert spilled_in(result_of(folders, look, size=50_001).text)
    assert not spilled_in(result_of(folders, look, size=50_000).text)
    assert len(files(folders)) == 2


def test_switched_off(folders: Folders) -> None:
    """Then it does nothing."""
    settings = {"spill_buffer": {"enabled": False}}
    assert result_of(folders, shell, settings=settings, command="seq").text == LINES
    assert not (folders.root / "files" / ".pannier").exists()


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_result_that_is_the_answer(folders: Folders, how: str) -> None:
    """What a tool says in the agent's place goes to the person as it is."""

    @tool(return_direct=True)
    def report() -> str:
        """Report."""
        return LINES

    assert result_of(folders, report, how=how).text == LINES
    assert files(folders) == []


@pytest.mark.parametrize("command", ["cat {}", "cd {.parent}; cat {.name}"])
def test_reading_back(folders: Folders, command: str) -> None:
    """Reading the whole file again makes no second one, and the model is told of the first; a part
    of it comes as it is."""
    result_of(folders, shell, command="seq")
    [file] = files(folders)
    again = result_of(folders, shell, command=command.format(*[file] * 2)).text
    assert files(folders) == [file]
    assert spilled_in(again) == (str(file), len(LINES))

    @tool("shell")
    def part(command: str) -> str:
        """Run it."""
        return file.read_text()[:90_000]

    assert result_of(folders, part, command=f"head -c 90000 {file}").text == LINES[:90_000]


def _block(letter: str) -> dict[str, str]:
    return {"type": "text", "text": letter * 30_000}


def test_a_list_of_contents(folders: Folders) -> None:
    """Its texts together go into the file; a picture, the artifact and the status stay."""
    picture = {"type": "image", "base64": "AAAA" * 30_000, "mime_type": "image/png"}

    @tool(response_format="content_and_artifact")
    def look() -> tuple[list[Any], list[str]]:
        """Look."""
        texts = [_block("a"), picture, _block("b")]
        return texts, ["kept", "for", "the", "program"]

    result = result_of(folders, look)
    [file] = files(folders)
    assert file.read_text() == "a" * 30_000 + "\n" + "b" * 30_000
    shown, still = list(result.content)
    assert spilled_in(shown["text"]) == (str(file), 60_001)  # type: ignore[index]
    assert still == picture
    assert result.artifact == ["kept", "for", "the", "program"]


def test_a_picture_alone(folders: Folders) -> None:
    """It is no text, however large."""
    picture = {"type": "image", "base64": "A" * 200_000, "mime_type": "image/png"}

    @tool
    def look() -> Any:
        """Look."""
        return [picture]

    assert result_of(folders, look).content == [picture]
    assert files(folders) == []


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_command_with_messages(folders: Folders, how: str) -> None:
    """The tool messages in a Command are shortened; what else it says stays."""

    @tool
    def look() -> Any:
        """Look."""
        said = ToolMessage(LINES, tool_call_id="c", name="look", status="error")
        return Command(update={"messages": [said]})

    result = result_of(folders, look, how=how)
    assert spilled_in(result.text) == (str(files(folders)[0]), len(LINES))
    assert result.status == "error"


def test_a_list_of_results() -> None:
    """A tool that gives several results has each shortened, in Commands of any form."""
    long, other = (ToolMessage(text, tool_call_id="c") for text in ("long", "other"))
    commands: tuple[Command[Any], ...] = (
        Command(update={"messages": [long], "more": [1]}),
        Command(update=[long]),
        Command(update=[("messages", [long]), ("more", 1)]),
        Command(goto="model"),
    )
    short = _changed([long, *commands], lambda message: other)
    assert short[0] == other
    assert short[1].update == {"messages": [other], "more": [1]}
    assert short[2].update == [other]
    assert short[3].update == [("messages", [other]), ("more", 1)]
    assert short[4] is commands[3]


@pytest.mark.parametrize("wrong", ["a file in the way", "a link", "no folder"])
def test_a_file_that_cannot_be_written(folders: Folders, wrong: str, tmp_path: Path) -> None:
    """The result stays whole, nothing is left over, and the reason stands in the spool."""
    place = folders.root / "files"
    if wrong == "a file in the way":
        place.mkdir()
        (place / ".pannier").write_text("mine")
    elif wrong == "a link":
        place.mkdir()
        (tmp_path / "elsewhere").mkdir()
        (place / ".pannier").symlink_to(tmp_path / "elsewhere")
    else:
        place.write_text("no folder")

    middleware = Spill(ContextSettings(), folders.group())
    model = FakeModel(asked=[], answer=calling("shell", command="seq"))
    agent: Any = create_agent(model, [shell], middleware=[middleware])
    said = agent.invoke({"messages": [HumanMessage("go")]})["messages"]
    assert said[2].text == LINES
    [problem] = [event for event in folders.events() if event.kind == "error"]
    assert problem.details["event"] == "post-tool"
    assert problem.details["text"]
    if wrong == "a link":
        assert not list((tmp_path / "elsewhere").iterdir())


def test_many_at_once(folders: Folders) -> None:
    """Calls that run at the same time each have a file of their own."""
    (folders.root / "files").mkdir()
    both = threading.Barrier(2, timeout=20)

    @tool
    def look(which: str) -> str:
        """Look."""
        both.wait()
        return which * 60_000

    def answer(asked: list[BaseMessage]) -> AIMessage:
        if isinstance(asked[-1], ToolMessage):
            return AIMessage("done")
        calls: Any = [{"name": "look", "args": {"which": one}, "id": one} for one in "ab"]
        return AIMessage("", tool_calls=calls)

    middleware = Spill(ContextSettings(), folders.group())
    agent: Any = create_agent(FakeModel(asked=[], answer=answer), [look], middleware=[middleware])
    said = agent.invoke({"messages": [HumanMessage("go")]})["messages"]
    shown = [spilled_in(one.text) for one in said if isinstance(one, ToolMessage)]
    assert [Path(found[0]).read_text()[0] for found in shown if found] == ["a", "b"]
    assert len(files(folders)) == 2


def test_a_tool_with_more_than_memory(folders: Folders) -> None:
    """A tool hands its output over piece by piece, and gives the text that stands for it."""
    (folders.root / "files").mkdir()
    spill = Spill(ContextSettings(), folders.group())
    text = spill.keep("shell", (os.urandom(1 << 16) for _ in range(64)))
    [file] = files(folders)
    assert spilled_in(text) == (str(file), 64 << 16)
    assert file.stat().st_size == 64 << 16
    assert spill.keep("cat", [file.read_bytes()]) == text
    assert files(folders) == [file]


@pytest.mark.parametrize(
    "command",
    ["git ls-files -- ':!.pannier/spill'", "find . | grep -v {.parent}", "wc -l {}; git log -p"],
)
def test_a_call_that_only_names_a_file(folders: Folders, command: str) -> None:
    """What it gives is kept, all of it, as any result."""
    result_of(folders, shell, command="seq")
    [first] = files(folders)

    @tool("shell")
    def other(command: str) -> str:
        """Run it."""
        return f"!{LINES}"

    found = spilled_in(result_of(folders, other, command=command.format(first)).text)
    assert found
    assert Path(found[0]).read_text() == f"!{LINES}"


_blocks = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=20)),
        st.just({"type": "image", "base64": "AAAA"}),
    ),
    max_size=6,
)


@given(_blocks, st.text(max_size=5))
def test_texts_in_contents(content: list[Any], text: str) -> None:
    """All texts are found, and one takes their place; nothing else changes or moves."""
    message = ToolMessage(content, tool_call_id="c", id="m", artifact=3)
    assert all(one in _joined(texts_of(message.content)) for one in texts_of(message.content))
    changed = _with_text(message, text)
    assert texts_of(changed.content) == [text] * bool(texts_of(message.content))
    others = [one for one in content if isinstance(one, dict) and one["type"] == "image"]
    assert [one for one in changed.content if one in others] == others
    assert (changed.id, changed.artifact, changed.tool_call_id) == ("m", 3, "c")

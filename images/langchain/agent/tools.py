"""What the agent can do in its container: read and write files, and run commands."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.types import Command

from agent.shell import Keep, shell_tool

MOST_READ = 40_000
"""Bytes that are read of a file at once: it is there to be read on."""


@tool
def read_file(path: str, first_line: int = 1, lines: int = 2_000) -> str:
    """Read a text file, from its line number `first_line`. What is left out is said at the end."""
    read: list[str] = []
    size = number = 0
    with Path(path).open("rb") as file:
        while line := file.readline(MOST_READ):
            number += 1
            # Of a longer line this is the beginning.
            is_cut = not line.endswith(b"\n") and _passed_over(file)
            if number < first_line:
                continue
            if len(read) >= lines or size + len(line) > MOST_READ:
                return f"{''.join(read)}[the file goes on: read it with first_line={number}]"
            text = line.decode("utf-8", "replace").replace("\r\n", "\n")
            read.append(text)
            size += len(line)
            if is_cut:
                read[-1] = text.rstrip("\ufffd")  # Half a character.
                note = f"[line {number} goes on: `cut -b` in a shell gets parts of it"
                return f"{''.join(read)}\n{note}; first_line={number + 1} is what follows]"
    return "".join(read)


def _passed_over(file: BinaryIO) -> bool:
    """Go on to the next line; whether there was anything to pass over."""
    passed = False
    while piece := file.readline(MOST_READ):
        passed = True
        if piece.endswith(b"\n"):
            break
    return passed


@tool
def write_file(path: str, content: str) -> str:
    """Write a text file; folders that are missing are made, a file that is there is replaced."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace(Path(path), content)
    return f"wrote {path}"


@tool
def edit_file(path: str, old: str, new: str) -> str:
    """Replace the text `old`, which occurs exactly once in the file, by `new`."""
    text = Path(path).read_text(encoding="utf-8")
    if (found := text.count(old)) != 1:
        raise ToolException(f"{path}: the old text occurs {found} times, not once")
    replace(Path(path), text.replace(old, new))
    return f"changed {path}"


def replace(path: Path, content: str) -> None:
    """Another program sees the old text or the new one, and never half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside.write_text(content, encoding="utf-8")
    if path.exists():
        beside.chmod(path.stat().st_mode & 0o777)
    beside.replace(path)


class ToldErrors(AgentMiddleware[Any, Any, Any]):
    """What goes wrong in a tool is told to the model, and does not end the turn."""

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        try:
            return await handler(request)
        except (OSError, ValueError, ToolException) as problem:
            call = request.tool_call
            words = f"error: {problem}"
            return ToolMessage(words, tool_call_id=call["id"], name=call["name"], status="error")


def tools(keep: Keep | None = None) -> Sequence[BaseTool]:
    """All of them. `keep` takes outputs that are too long for a result."""
    return (read_file, write_file, edit_file, shell_tool(keep))

"""What the agent can do in its container: read and write files, and run commands."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.types import Command

LONGEST = 30_000
"""Characters of a result; of a longer one the beginning and the end are kept."""
MOST_SECONDS = 600


@tool
def read_file(path: str, first_line: int = 1, lines: int = 2_000) -> str:
    """Read a text file, from its line number `first_line`."""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        text = [line for number, line in enumerate(file, 1) if number >= first_line]
    return shortened("".join(text[:lines]))


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


@tool
async def shell(command: str, seconds: int = 120) -> str:
    """Run a command with bash, and get its output and status. It is ended after `seconds`."""
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    note = ""
    try:
        async with asyncio.timeout(min(seconds, MOST_SECONDS)):
            output, _ = await process.communicate()
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = await process.communicate()
        note = f"[ended after {seconds} s]\n"
    except asyncio.CancelledError:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    text = shortened(output.decode("utf-8", "replace"))
    return f"{text}{note}[status {process.returncode}]"


def replace(path: Path, content: str) -> None:
    """Another program sees the old text or the new one, and never half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside.write_text(content, encoding="utf-8")
    if path.exists():
        beside.chmod(path.stat().st_mode & 0o777)
    beside.replace(path)


def shortened(text: str) -> str:
    """The text, or its beginning and end."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters are left out]\n{text[-half:]}"


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


TOOLS: list[BaseTool] = [read_file, write_file, edit_file, shell]

"""What differs between the clients in these tests: their tools, and where their own memory lies.

A client of `pannier.clients` with events needs an entry here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from pannier.endpoint.answers import Answer, Call


@dataclass(frozen=True)
class Habits:
    """How the model of a client would work."""

    create: Callable[[str, str], tuple[Answer, ...]]
    """The tool calls that make a file with this path and text."""
    change: Callable[[str, str, str], tuple[Answer, ...]]
    """The tool calls that replace the first text in a file by the second."""
    run: Callable[[str], Answer]
    """The tool call that runs a command in a shell."""
    own_memory: tuple[str, ...]
    """What the client's own memory would leave below HOME: patterns for `find -path`."""
    unasked: tuple[str, ...] = ()
    """Words before its program so that nobody has to be asked about a command in a shell."""


def _patch(body: str) -> tuple[Answer, ...]:
    """Codex's tools are functions of JavaScript, which its model writes."""
    patch = json.dumps(f"*** Begin Patch\n{body}*** End Patch\n")
    return (Call("exec", f"text(await tools.apply_patch({patch}))"),)


def _command(line: str) -> str:
    return f"(await tools.exec_command({json.dumps({'cmd': line})}))"


HABITS: dict[str, Habits] = {
    "claude": Habits(
        create=lambda path, text: (Call("Write", {"file_path": path, "content": text}),),
        change=lambda path, old, new: (
            Call("Read", {"file_path": path}),
            Call("Edit", {"file_path": path, "old_string": old, "new_string": new}),
        ),
        run=lambda line: Call("Bash", {"command": line, "description": "-"}),
        own_memory=("*/memory/*", "*/agent-memory/*"),
    ),
    "codex": Habits(
        create=lambda path, text: _patch(
            f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in text.splitlines())
        ),
        change=lambda path, old, new: _patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n"),
        run=lambda line: Call("exec", f"text({_command(line)}.output)"),
        own_memory=("*/.codex/memories/*",),
    ),
    "gemini": Habits(
        create=lambda path, text: (Call("write_file", {"file_path": path, "content": text}),),
        change=lambda path, old, new: (
            Call(
                "replace",
                {"file_path": path, "old_string": old, "new_string": new, "instruction": "edit"},
            ),
        ),
        run=lambda line: Call("run_shell_command", {"command": line, "description": "-"}),
        own_memory=("*/.gemini/GEMINI.md", "*/.gemini/memory/*", "*/.gemini/*/memory/*"),
    ),
    "opencode": Habits(
        create=lambda path, text: (Call("write", {"filePath": path, "content": text}),),
        change=lambda path, old, new: (
            Call("read", {"filePath": path}),
            Call("edit", {"filePath": path, "oldString": old, "newString": new}),
        ),
        run=lambda line: Call("bash", {"command": line, "description": "-"}),
        # It has none.
        own_memory=("*/opencode/memory/*", "*/AGENTS.md"),
    ),
    "qwen": Habits(
        create=lambda path, text: (Call("write_file", {"file_path": path, "content": text}),),
        change=lambda path, old, new: (
            Call("read_file", {"file_path": path}),
            Call("edit", {"file_path": path, "old_string": old, "new_string": new}),
        ),
        run=lambda line: Call("run_shell_command", {"command": line, "is_background": False}),
        own_memory=("*/.qwen/*memor*/*", "*/.qwen/QWEN.md"),
    ),
    "copilot": Habits(
        create=lambda path, text: (
            Call("bash", {"command": f"mkdir -p {path.rpartition('/')[0]}", "description": "-"}),
            Call("create", {"path": path, "file_text": text}),
        ),
        change=lambda path, old, new: (
            Call("view", {"path": path}),
            Call("edit", {"path": path, "old_str": old, "new_str": new}),
        ),
        run=lambda line: Call("bash", {"command": line, "description": "-"}),
        own_memory=("*/.copilot/*memor*/*",),
        unasked=("env", "COPILOT_ALLOW_ALL=true"),
    ),
    "langchain": Habits(
        create=lambda path, text: (Call("write_file", {"path": path, "content": text}),),
        change=lambda path, old, new: (
            Call("read_file", {"path": path}),
            Call("edit_file", {"path": path, "old": old, "new": new}),
        ),
        run=lambda line: Call("shell", {"command": line}),
        # It has none.
        own_memory=("*/memory/*", "*/AGENTS.md"),
    ),
}

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
    own_memory: tuple[str, ...]
    """What the client's own memory would leave below HOME: patterns for `find -path`."""


def _patch(body: str) -> tuple[Answer, ...]:
    """Codex's tools are functions of JavaScript, which its model writes."""
    patch = json.dumps(f"*** Begin Patch\n{body}*** End Patch\n")
    return (Call("exec", f"text(await tools.apply_patch({patch}))"),)


HABITS: dict[str, Habits] = {
    "claude": Habits(
        create=lambda path, text: (Call("Write", {"file_path": path, "content": text}),),
        change=lambda path, old, new: (
            Call("Read", {"file_path": path}),
            Call("Edit", {"file_path": path, "old_string": old, "new_string": new}),
        ),
        own_memory=("*/memory/*", "*/agent-memory/*"),
    ),
    "codex": Habits(
        create=lambda path, text: _patch(
            f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in text.splitlines())
        ),
        change=lambda path, old, new: _patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n"),
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
        own_memory=("*/.gemini/GEMINI.md", "*/.gemini/memory/*", "*/.gemini/*/memory/*"),
    ),
    "opencode": Habits(
        create=lambda path, text: (Call("write", {"filePath": path, "content": text}),),
        change=lambda path, old, new: (
            Call("read", {"filePath": path}),
            Call("edit", {"filePath": path, "oldString": old, "newString": new}),
        ),
        # It has none.
        own_memory=("*/opencode/memory/*", "*/AGENTS.md"),
    ),
    "qwen": Habits(
        create=lambda path, text: (Call("write_file", {"file_path": path, "content": text}),),
        change=lambda path, old, new: (
            Call("read_file", {"file_path": path}),
            Call("edit", {"file_path": path, "old_string": old, "new_string": new}),
        ),
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
        own_memory=("*/.copilot/*memor*/*",),
    ),
    "langchain": Habits(
        create=lambda path, text: (Call("write_file", {"path": path, "content": text}),),
        change=lambda path, old, new: (
            Call("read_file", {"path": path}),
            Call("edit_file", {"path": path, "old": old, "new": new}),
        ),
        # It has none.
        own_memory=("*/memory/*", "*/AGENTS.md"),
    ),
}

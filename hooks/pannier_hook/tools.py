"""Which tools are alike, and how large a result of one may be before it goes into a file.

Each client has its own names for the same tools; what is known of them stands here.
"""

from __future__ import annotations

from . import tuning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class SpillSettings(Protocol):
        """`context.spill_buffer`, here and in `pannier_agents.settings`. Thresholds and sizes are
        bytes."""

        @property
        def enabled(self) -> bool: ...
        @property
        def default_threshold(self) -> int: ...
        @property
        def thresholds(self) -> Mapping[str, int]: ...
        @property
        def keep_days(self) -> int: ...
        @property
        def keep_size(self) -> str: ...


SEARCH = "search"
SHELL = "shell"

_KINDS = {
    SEARCH: (
        # Claude Code, OpenCode, Copilot CLI, Mycel; Gemini CLI, Qwen Code; Codex; LangChain
        "glob",
        "grep",
        "rg",
        "search_file_content",
        "grep_search",
        "grep_files",
        "glob_search",
    ),
    SHELL: (
        # Claude Code, OpenCode, Copilot CLI; Mycel; Gemini CLI, Qwen Code; Codex; LangChain
        "bash",
        "bashoutput",
        "read_bash",
        "write_bash",
        "powershell",
        "run_command",
        "run_shell_command",
        "shell",
        "local_shell",
        "shell_command",
        "exec_command",
        "unified_exec",
        "write_stdin",
        "container.exec",
        "execute",
        "terminal",
    ),
}
KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}


def kind_of(tool: str) -> str:
    """`search` or `shell` for a tool of that kind, by the name that any client has; else ""."""
    return KIND_OF.get(tool.lower(), "")


def threshold(spill: SpillSettings, tool: str) -> int:
    """How many bytes of UTF-8 a result of `tool` may have: by a person's word on this tool, on its
    kind or on another tool of its kind, by what is built in for the kind, or by the default."""
    own = spill.thresholds
    if tool in own:
        return own[tool]
    kind = kind_of(tool)
    if not kind:
        return spill.default_threshold
    if kind in own:
        return own[kind]
    alike = [size for name, size in own.items() if kind_of(name) == kind]
    return min(alike) if alike else tuning.THRESHOLDS[kind]


def least_threshold(spill: SpillSettings) -> int:
    """The least of all thresholds: a shorter result needs no second look, whatever the tool."""
    return min(spill.default_threshold, *tuning.THRESHOLDS.values(), *spill.thresholds.values())

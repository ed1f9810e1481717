"""How a client is asked one question by the sidecar: headless, with its own login, no tools, and an
answer held to a schema. Pure; the options are those of the clients' versions in the images.

What it is to read comes on its standard input, which has no limit of length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

FILES = "/tmp/pannier-ask"
"""Where the files of a question lie in the container."""
WORKDIR = f"{FILES}/pannier-ask"
"""Empty."""
_INSTRUCTIONS = f"{FILES}/instructions.md"
_SCHEMA = f"{FILES}/schema.json"
_POLICY = f"{FILES}/policy.toml"


@dataclass(frozen=True)
class Sheet:
    """What is asked, but for the data."""

    instructions: str
    schema: str
    """JSON."""


@dataclass(frozen=True)
class Said:
    """What a client printed at its end."""

    answer: object = None
    """The data, where the client gives it as such."""
    text: str = ""
    """Else the last text of the model."""
    trouble: str = ""
    """What went wrong, in the client's words."""
    status: int | None = None
    """Of HTTP, where the client tells it."""
    input: int = 0
    """Tokens, as the client counted them; 0: it did not."""
    output: int = 0


@dataclass(frozen=True)
class Way:
    """How one client is asked."""

    command: Callable[[Sheet], tuple[str, ...]]
    read: Callable[[str, str], Said]
    """From its standard output and its standard error. Raises ValueError for what is of no form
    that is known."""
    files: Callable[[Sheet], Mapping[str, str]] = lambda _: {}
    """By absolute path, their text."""
    environment: Mapping[str, str] = field(default_factory=dict)
    traces: tuple[str, ...] = ()
    """Folders below HOME in which the client keeps what was said in WORKDIR, and in no other."""


def _claude(sheet: Sheet) -> tuple[str, ...]:
    return (
        *("claude", "-p", "--output-format", "json", "--json-schema", sheet.schema),
        *("--system-prompt", sheet.instructions, "--tools", "", "--strict-mcp-config"),
        # Settings that the agent may have written for its client have no say.
        *("--setting-sources", "", "--no-session-persistence", "--disable-slash-commands"),
    )


def _read_claude(output: str, _errors: str) -> Said:
    said = _object(json.loads(output))
    usage = _object(said.get("usage", {}))
    given = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    text, failed = str(said.get("result", "")), said.get("is_error") is True
    return Said(
        answer=said.get("structured_output"),
        text="" if failed else text,
        trouble=text or "it failed" if failed else "",
        status=_number(said.get("api_error_status")) or None,
        input=sum(_number(usage.get(name)) for name in given),
        output=_number(usage.get("output_tokens")),
    )


_CODEX_OFF = (
    *("apps", "browser_use", "code_mode_host", "computer_use", "goals", "image_generation"),
    *("multi_agent", "plugins", "shell_snapshot", "shell_tool", "sleep_tool", "tool_suggest"),
    "unified_exec",
)
_CODEX_SETTINGS = (
    f'model_instructions_file="{_INSTRUCTIONS}"',
    'web_search="disabled"',
    "include_collaboration_mode_instructions=false",
    "include_environment_context=false",
    "include_permissions_instructions=false",
    "skills.include_instructions=false",
)


def _codex(_sheet: Sheet) -> tuple[str, ...]:
    return (
        *("codex", "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules"),
        *("--sandbox", "read-only", "--color", "never"),
        *(word for setting in _CODEX_SETTINGS for word in ("-c", setting)),
        *(word for feature in _CODEX_OFF for word in ("--disable", feature)),
        *("--output-schema", _SCHEMA, "-"),
    )


def _read_codex(output: str, _errors: str) -> Said:
    text, trouble, usage = "", "", {}
    for line in output.splitlines():
        event = _object(json.loads(line)) if line.startswith("{") else {}
        item = _object(event.get("item", {}))
        if item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        elif event.get("type") == "turn.completed":
            usage = _object(event.get("usage", {}))
        elif event.get("type") == "turn.failed":
            trouble = str(_object(event.get("error", {})).get("message", "it failed"))
    return Said(
        text=text,
        trouble=trouble,
        input=_number(usage.get("input_tokens")),
        output=_number(usage.get("output_tokens")),
    )


_GEMINI_POLICY = """
[[rule]]
toolName = "*"
decision = "deny"
priority = 999

[[rule]]
toolName = ["write_file", "replace", "run_shell_command"]
interactive = false
decision = "deny"
priority = 999
modes = ["default", "autoEdit", "yolo", "plan"]
""".lstrip()


def _gemini(_sheet: Sheet) -> tuple[str, ...]:
    return (
        *("gemini", "-p", "Answer now.", "--output-format", "json", "--skip-trust"),
        *("--extensions", "none", "--allowed-mcp-server-names", "none", "--policy", _POLICY),
    )


def _gemini_files(sheet: Sheet) -> dict[str, str]:
    form = "Answer with one object of JSON that fits this schema, and with nothing else:"
    return {
        _INSTRUCTIONS: f"{sheet.instructions}\n\n{form}\n{sheet.schema}\n",
        _POLICY: _GEMINI_POLICY,
    }


def _read_gemini(output: str, errors: str) -> Said:
    if not output.strip():
        # What went wrong stands at the end of what else it complains about.
        begin = errors.rfind("\n{\n")
        said = _object(json.loads(errors[begin:])) if begin >= 0 else {}
        error = _object(said.get("error", {}))
        trouble = str(error.get("message", "")) or errors[-300:] or "it said nothing"
        return Said(trouble=trouble, status=_number(error.get("code")) or None)
    said = _object(json.loads(output))
    models = _object(_object(said.get("stats", {})).get("models", {}))
    tokens = [_object(_object(one).get("tokens", {})) for one in models.values()]
    return Said(
        text=str(said.get("response", "")),
        input=sum(_number(one.get("prompt")) for one in tokens),
        output=sum(_number(one.get("candidates")) + _number(one.get("thoughts")) for one in tokens),
    )


_QWEN_OFF = (
    *("agent", "enter_worktree", "exit_worktree", "get_goal", "list_agents", "record_artifact"),
    *("report_findings", "send_message", "skill", "task_stop", "tool_call", "tool_search"),
    "update_goal",
)


def _qwen(sheet: Sheet) -> tuple[str, ...]:
    return (
        *("qwen", "--output-format", "json", "--json-schema", sheet.schema),
        *("--system-prompt", sheet.instructions, "--chat-recording", "false"),
        *("--extensions", "none", "--allowed-mcp-server-names", "none", "--core-tools", "none"),
        *("--exclude-tools", ",".join(_QWEN_OFF), "--approval-mode", "default"),
        *("--max-tool-calls", "0"),
    )


def _read_qwen(output: str, _errors: str) -> Said:
    events = json.loads(output)
    if not isinstance(events, list):
        raise ValueError("what it printed has another form")
    ends = [e for e in events if isinstance(e, dict) and e.get("type") == "result"]
    said = _object(ends[-1] if ends else {})
    usage = _object(said.get("usage", {}))
    error = str(_object(said.get("error", {})).get("message", ""))
    # A model that would not answer in the form is no failure of the client.
    failed = said.get("is_error") is not False and not error.startswith("Model produced plain text")
    return Said(
        answer=said.get("structured_result"),
        text=str(said.get("result", "")) or error,
        trouble=error or "it failed" if failed else "",
        input=_number(usage.get("input_tokens")),
        output=_number(usage.get("output_tokens")),
    )


WAYS: Mapping[str, Way] = {
    # Its own trials would go on for minutes; whoever asks tries again later.
    "claude": Way(_claude, _read_claude, environment={"CLAUDE_CODE_MAX_RETRIES": "0"}),
    "codex": Way(
        _codex,
        _read_codex,
        files=lambda sheet: {_INSTRUCTIONS: sheet.instructions, _SCHEMA: sheet.schema},
    ),
    "gemini": Way(
        _gemini,
        _read_gemini,
        files=_gemini_files,
        environment={"GEMINI_SYSTEM_MD": _INSTRUCTIONS},
        traces=(".gemini/tmp/pannier-ask", ".gemini/history/pannier-ask"),
    ),
    "qwen": Way(_qwen, _read_qwen),
}
"""By client. The others cannot be asked: they have no way to leave all tools away."""


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("what it printed has another form")
    return value


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0

"""Claude Code."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping

from pannier.clients.claude_context import context
from pannier.clients.client import Client, Dialogue, Endpoint, Link, Shell, Traces, hook_command
from pannier.clients.transcripts import claude as transcript
from pannier.paths import AGENT_ROOT, RUN_ROOT
from pannier_hook.clients import CLIENTS as HOOK

NAME = "claude"
MANAGED = "/etc/claude-code"
HOOK_SECONDS = 10
"""Claude Code counts a hook's timeout in seconds."""

REGISTERED = {
    "UserPromptSubmit": "user-prompt",
    # Nothing that it says of a tool that failed is heard (PostToolUseFailure).
    "PostToolUse": "post-tool",
    "Stop": "stop",
    # In the place of Stop when the model's API failed; nothing it prints is heard.
    "StopFailure": "stop",
    "PreCompact": "pre-compact",
    "PostCompact": "post-compact",
    "SessionEnd": "session-end",
}
"""The client's events beside SessionStart, and ours that they call."""

_MEMORY = f"{AGENT_ROOT}/memory"
_CHANGES = ("mkdir", "mkdir -p", "mv", "rm", "rmdir")

# Answers to the first start: welcome and theme, and whether the working directory is trusted.
FIRST_START = {
    "hasCompletedOnboarding": True,
    "projects": {f"{AGENT_ROOT}/files": {"hasTrustDialogAccepted": True}},
}


def managed_settings() -> dict[str, object]:
    """What the image decides; neither the person's settings nor a project's undo it."""
    parts = HOOK[NAME].parts
    commands = [
        hook_command("session-start", NAME, "--part", f"{part}/{parts}")
        for part in range(1, parts + 1)
    ]
    return {
        "hooks": {
            "SessionStart": [_hooks(*commands)],
            **{theirs: [_hooks(hook_command(ours, NAME))] for theirs, ours in REGISTERED.items()},
        },
        "permissions": {
            # `//` begins an absolute path. A command that changes files is let through only if an
            # Edit rule, too, covers each path in it.
            "allow": [
                f"Read(/{AGENT_ROOT}/**)",
                f"Edit(/{_MEMORY}/**)",
                *(f"Bash({change} {_MEMORY}/*)" for change in _CHANGES),
            ]
        },
        # A second memory, which neither people nor other clients see.
        "autoMemoryEnabled": False,
        # The container is the sandbox.
        "sandbox": {"enabled": False},
    }


def _hooks(*commands: str) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": c, "timeout": HOOK_SECONDS} for c in commands]}


def _startup(shell: Shell) -> None:
    shell.observe()
    shell.run(*_turn("hello"))


def _resume(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe()
    shell.run(*_turn("again"), "--resume", session)


def _fork(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe()
    shell.run(*_turn("again"), "--resume", session, "--fork-session")


def _clear(shell: Shell) -> None:
    _after_command(shell, "/clear")


def _compact(shell: Shell) -> None:
    _after_command(shell, "/compact")


def _turn(prompt: str) -> tuple[str, ...]:
    return ("claude", "-p", prompt)


def _again(prompt: str, session: str) -> tuple[str, ...]:
    return (*_turn(prompt), "--resume", session)


def _summarize(session: str) -> tuple[str, ...]:
    """It ends with status 0 also where it could not."""
    return _again("/compact", session)


def _first_turn(shell: Shell) -> str:
    session = str(uuid.uuid4())
    shell.run(*_turn("hello"), "--session-id", session)
    return session


def _after_command(shell: Shell, command: str) -> None:
    """A turn, a command that begins a new context, and a turn in that: in one process."""
    lines = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    dialogue = shell.dialogue("claude", "-p", *lines)
    _say(dialogue, "hello")
    shell.observe()
    _say(dialogue, command)
    _say(dialogue, "again")
    dialogue.close()


def _say(dialogue: Dialogue, text: str) -> None:
    dialogue.send(json.dumps({"type": "user", "message": {"role": "user", "content": text}}))
    dialogue.wait_for('"type":"result"')


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"


def _decode(text: str) -> str:
    """Claude Code lets no injected text imitate its own reminders."""
    return re.sub(r"&lt;(?=/?system-reminder)", "<", text, flags=re.IGNORECASE)


def _endpoint(url: str) -> Endpoint:
    return Endpoint(environment={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"})


TRACES = Traces(
    files=lambda session: (
        f".claude/projects/*/{session}.jsonl",
        f".claude/projects/*/{session}",
        f".claude/session-env/{session}",
        f".claude/file-history/{session}",
        f".claude/tasks/{session}",
        f".claude/todos/{session}-*.json",
        f".claude/debug/{session}.txt",
    ),
    entries={".claude/history.jsonl": "sessionId"},
)
"""As Claude Code 2.1 lays them down."""


CLIENT = Client(
    name=NAME,
    title="Claude Code",
    program=("claude",),
    keys=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
    instructions_file="CLAUDE.md",
    baked={
        f"{MANAGED}/managed-settings.json": _json(managed_settings()),
        f"{MANAGED}/CLAUDE.md": Link(f"{RUN_ROOT}/instructions/CLAUDE.md"),
    },
    skeleton={".claude/.claude.json": _json(FIRST_START)},
    endpoint=_endpoint,
    headless=_turn,
    resume=_again,
    compact=_summarize,
    too_little="Not enough messages to compact",
    events={
        "startup": _startup,
        "resume": _resume,
        "clear": _clear,
        "compact": _compact,
        "fork": _fork,
    },
    own_settings=(".claude/settings.json", ".claude/settings.local.json"),
    fresh=frozenset({"startup", "clear", "compact"}),
    decode=_decode,
    traces=TRACES,
    read=transcript.read,
    context=context,
)

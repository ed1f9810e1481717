"""Qwen Code."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping

from pannier.clients.client import (
    TELLS_LITTLE,
    Client,
    Dialogue,
    Endpoint,
    Link,
    Shell,
    Traces,
    hook_command,
)
from pannier.clients.qwen_context import context, default_settings
from pannier.paths import AGENT_ROOT, RUN_ROOT
from pannier.settings import ContextSettings

NAME = "qwen"
ETC = "/etc/qwen-code"
HOOK_SECONDS = 10
"""Qwen Code counts a hook's timeout in seconds; from 1,000 up it would take it for milliseconds."""

REGISTERED = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "PostToolUse": "post-tool",
    "PostToolUseFailure": "post-tool",
    "Stop": "stop",
    # In the place of Stop when the model's API failed.
    "StopFailure": "stop",
    "PreCompact": "pre-compact",
    "PostCompact": "post-compact",
    "SessionEnd": "session-end",
}
"""The client's events, and ours that they call."""

_MEMORY = f"{AGENT_ROOT}/memory"
TIDYING = (
    f"Moving and deleting files in {_MEMORY}, which is the agent's own memory, when every path of "
    "the command lies in there."
)


def managed_settings() -> dict[str, object]:
    """What the image decides; neither the person's settings nor a project's undo it."""
    return {
        "hooks": {theirs: [_hook(ours)] for theirs, ours in REGISTERED.items()},
        "disableAllHooks": False,
        "permissions": {
            # `//` begins an absolute path.
            "allow": [
                f"ReadFile(/{AGENT_ROOT}/**)",
                *(f"{tool}(/{_MEMORY}/**)" for tool in ("Edit", "WriteFile")),
                *(f"Shell({command} {_MEMORY}/*)" for command in ("mkdir", "mkdir -p", "rmdir")),
            ],
            # A pattern for `rm` or `mv` would let further paths pass, too. So the client's own
            # judge of commands is told instead.
            "autoMode": {"hints": {"allow": [TIDYING]}},
        },
        # A second memory, which neither people nor other clients see.
        "memory": {
            "enableManagedAutoMemory": False,
            "enableManagedAutoDream": False,
            "enableTeamMemory": False,
        },
        # The container is the sandbox.
        "tools": {"sandbox": False},
    }


def _hook(event: str) -> dict[str, object]:
    command = hook_command(event, NAME)
    name = f"pannier {event}"
    entry = {"type": "command", "name": name, "command": command, "timeout": HOOK_SECONDS}
    return {"hooks": [entry]}


def _startup(shell: Shell) -> None:
    shell.observe("hello")
    shell.run(*_turn("hello"))


def _resume(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe("again")
    shell.run(*_turn("again"), "--resume", session)


def _clear(shell: Shell) -> None:
    _after_command(shell, "/clear")


def _compact(shell: Shell) -> None:
    _after_command(shell, "/compress")


def _fork(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe("again")
    shell.run(*_turn("again"), "--resume", session, "--fork-session")


def _turn(prompt: str) -> tuple[str, ...]:
    return ("qwen", "-p", prompt)


def _again(prompt: str, session: str) -> tuple[str, ...]:
    return (*_turn(prompt), "--resume", session)


def _first_turn(shell: Shell) -> str:
    session = str(uuid.uuid4())
    shell.run(*_turn("hello"), "--session-id", session)
    return session


def _after_command(shell: Shell, command: str) -> None:
    """A turn, a command that begins a new context, and a turn in that: in one process."""
    lines = ("--input-format", "stream-json", "--output-format", "stream-json")
    dialogue = shell.dialogue("qwen", *lines)
    _say(dialogue, "hello")
    shell.observe("again")
    _say(dialogue, command)
    _say(dialogue, "again")
    dialogue.close()


def _say(dialogue: Dialogue, text: str) -> None:
    dialogue.send(json.dumps({"type": "user", "message": {"role": "user", "content": text}}))
    dialogue.wait_for('"type":"result"')


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"


def _decode(text: str) -> str:
    """The client escapes these two, and nothing else, in what a hook adds."""
    return text.replace("&lt;", "<").replace("&gt;", ">")


def _endpoint(url: str) -> Endpoint:
    return Endpoint(
        environment={
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "scripted",
        }
    )


TRACES = Traces(
    files=lambda session: (
        f".qwen/projects/*/chats/{session}.jsonl",
        f".qwen/projects/*/subagents/{session}",
    ),
    entries={".qwen/usage_record.jsonl": "sessionId"},
)
"""As Qwen Code 0.24 lays them down."""


CLIENT = Client(
    name=NAME,
    title="Qwen Code",
    program=("qwen",),
    keys=("OPENAI_API_KEY",),
    instructions_file="QWEN.md",
    baked={
        f"{ETC}/settings.json": _json(managed_settings()),
        f"{ETC}/system-defaults.json": _json(default_settings(ContextSettings())),
    },
    skeleton={".qwen/QWEN.md": Link(f"{RUN_ROOT}/instructions/QWEN.md")},
    endpoint=_endpoint,
    headless=_turn,
    resume=_again,
    events={
        "startup": _startup,
        "resume": _resume,
        "clear": _clear,
        "compact": _compact,
        "fork": _fork,
    },
    own_settings=(".qwen/settings.json",),
    # Memory stands in the system prompt, which belongs to no history: each of these makes it anew.
    fresh=frozenset({"startup", "resume", "clear", "compact", "fork"}),
    decode=_decode,
    notes=(TELLS_LITTLE.format("Qwen Code"),),
    traces=TRACES,
    context=context,
    compact=lambda session: _again("/compress", session),
)

"""Copilot CLI."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping

from pannier.clients.client import (
    TELLS_LITTLE,
    Client,
    Endpoint,
    Link,
    Shell,
    Terminal,
    Traces,
    hook_command,
)
from pannier.clients.copilot_context import context
from pannier.paths import AGENT_ROOT, RUN_ROOT

NAME = "copilot"
POLICY = "/etc/github-copilot/policy.d/pannier.json"
HOOK_SECONDS = 10
"""Copilot CLI counts a hook's timeout in seconds."""


def policy() -> dict[str, object]:
    """Hooks that no settings of a person or a project turn off."""
    return {
        "version": 1,
        "hooks": {
            # What a session start injects is lost at a resume and at a compaction.
            "userPromptSubmitted": [_hook("user-prompt")],
            # A rule of managed settings would have everything else asked for, read-only commands
            # and `--yolo` included.
            "permissionRequest": [_hook("permission-request")],
            "postToolUse": [_hook("post-tool")],
            "postToolUseFailure": [_hook("post-tool")],
            "agentStop": [_hook("stop")],
            "preCompact": [_hook("pre-compact")],
            "sessionEnd": [_hook("session-end")],
        },
    }


def _hook(event: str) -> dict[str, object]:
    command = hook_command(event, NAME)
    return {"type": "command", "bash": command, "timeoutSec": HOOK_SECONDS}


# A person may change these in ~/.copilot/settings.json, as the client itself does.
DEFAULTS = {
    # A second memory, which neither people nor other clients see.
    "memory": False,
    "ide": {"autoConnect": False},
    "banner": "never",
}

# The answer to the first start: whether the working directory is trusted.
FIRST_START = {"trustedFolders": [f"{AGENT_ROOT}/files"]}


def _startup(shell: Shell) -> None:
    shell.observe()
    shell.run(*_turn("hello"))


def _resume(shell: Shell) -> None:
    session = str(uuid.uuid4())
    shell.run(*_turn("hello"), "--session-id", session)
    shell.observe()
    shell.run(*_turn("again"), "--resume", session)


def _clear(shell: Shell) -> None:
    terminal = _first_turn(shell)
    shell.observe()
    _submit(terminal, "/clear")
    terminal.wait_for("Started a fresh session")
    _submit(terminal, "Say it is night.")
    shell.wait_for_request("Say it is night.")


def _compact(shell: Shell) -> None:
    terminal = _first_turn(shell)
    shell.observe()
    _submit(terminal, "/compact")
    terminal.wait_for("Compaction completed")
    _submit(terminal, "Say it is night.")
    shell.wait_for_request("Say it is night.")


def _first_turn(shell: Shell) -> Terminal:
    """There is no `/clear` or `/compact` without a terminal."""
    terminal = shell.terminal("copilot")
    terminal.wait_for("/ commands", seconds=60)
    _submit(terminal, "Say it is day.")
    shell.wait_for_request("Say it is day.")
    terminal.wait_for("● ok")
    return terminal


TYPING = 0.3
"""Seconds. A return that follows at once is taken for part of a pasted text."""


def _submit(terminal: Terminal, line: str) -> None:
    terminal.send(line)
    terminal.wait_for(line)
    time.sleep(TYPING)
    terminal.send("\r")


def _turn(prompt: str) -> tuple[str, ...]:
    return ("copilot", "-p", prompt)


def _again(prompt: str, session: str) -> tuple[str, ...]:
    return (*_turn(prompt), "--resume", session)


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"


def _endpoint(url: str) -> Endpoint:
    return Endpoint(
        environment={
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "scripted",
        }
    )


TRACES = Traces(
    files=lambda session: (
        f".copilot/session-state/{session}",
        f".copilot/session-state/.session-operation-locks/{session}.lock",
    ),
    databases=(".copilot/session-store.db", ".copilot/command-history-state.json"),
)
"""As Copilot CLI 1.0 lays them down. Its list of prompts does not say whose they are."""


CLIENT = Client(
    name=NAME,
    title="Copilot CLI",
    program=("copilot",),
    keys=("COPILOT_GITHUB_TOKEN",),
    instructions_file="AGENTS.md",
    baked={POLICY: _json(policy())},
    skeleton={
        ".copilot/settings.json": _json(DEFAULTS),
        ".copilot/config.json": _json(FIRST_START),
        ".copilot/copilot-instructions.md": Link(f"{RUN_ROOT}/instructions/AGENTS.md"),
    },
    endpoint=_endpoint,
    headless=_turn,
    resume=_again,
    events={"startup": _startup, "resume": _resume, "clear": _clear, "compact": _compact},
    own_settings=(".copilot/settings.json",),
    fresh=frozenset({"startup", "clear", "compact"}),
    notes=(
        "Copilot CLI gives its model what the last hook at userPromptSubmitted adds: a hook of "
        "your own there that adds something takes the memory's place.",
        TELLS_LITTLE.format("Copilot CLI"),
    ),
    traces=TRACES,
    context=context,
)

"""Claude Code."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pannier.clients.client import Client, Endpoint, Link, Shell
from pannier.paths import AGENT_ROOT, CONTAINER_HOME, RUN_ROOT
from pannier_hook.clients import CLIENTS as HOOK

MANAGED = "/etc/claude-code"
HOOK_SECONDS = 10
"""Claude Code counts a hook's timeout in seconds."""


def managed_settings() -> dict[str, object]:
    """What the image decides and no settings of a person or a project can undo."""
    parts = HOOK["claude"].parts
    start = f"/usr/local/bin/{HOOK_COMMAND} session-start --client claude"
    hooks = [
        {"type": "command", "command": f"{start} --part {n}/{parts}", "timeout": HOOK_SECONDS}
        for n in range(1, parts + 1)
    ]
    return {
        "hooks": {"SessionStart": [{"hooks": hooks}]},
        "permissions": {"allow": [f"Edit(/{AGENT_ROOT}/memory/**)", f"Read(/{AGENT_ROOT}/**)"]},
        # Its own memory would be a second one, hidden from people and other clients.
        "autoMemoryEnabled": False,
        # The container is the sandbox.
        "sandbox": {"enabled": False},
    }


HOOK_COMMAND = "pannier-hook"

# Answered beforehand: theme, welcome, and whether the working directory is trusted.
FIRST_START = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "projects": {
        f"{AGENT_ROOT}/files": {
            "hasTrustDialogAccepted": True,
            "hasCompletedProjectOnboarding": True,
        }
    },
}


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"


CLIENT = Client(
    name="claude",
    title="Claude Code",
    program=("claude",),
    keys=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
    instructions_file="CLAUDE.md",
    baked={
        "/usr/local/bin/claude": Link("/opt/claude/bin/claude"),
        f"{MANAGED}/managed-settings.json": _json(managed_settings()),
        f"{MANAGED}/CLAUDE.md": Link(f"{RUN_ROOT}/instructions/CLAUDE.md"),
    },
    skeleton={".claude/.claude.json": _json(FIRST_START)},
    endpoint=lambda url: Endpoint(
        environment={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-none"}
    ),
    headless=lambda prompt: ("claude", "-p", prompt),
    events={},
    fresh=frozenset({"startup", "clear", "compact"}),
)

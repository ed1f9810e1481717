"""What is baked into Copilot CLI's image, and how Copilot CLI is started there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pannier.clients.client import Link, hook_command
from pannier.clients.copilot import CLIENT
from pannier.engine.recipes import data_dir
from pannier.settings import ContextSettings
from pannier_hook.clients import CLIENTS as HOOK
from pannier_hook.clients import USER_PROMPT

IMAGE = data_dir() / "images" / "copilot"


def _skeleton(name: str) -> dict[str, Any]:
    content = CLIENT.skeleton[f".copilot/{name}"]
    assert isinstance(content, str)
    data: dict[str, Any] = json.loads(content)
    return data


def test_hook_entries() -> None:
    """One entry an event, ten seconds each: the prompt carries the memory, the hook is asked before
    a person is, and hears of each tool call, since it cannot read the session's log."""
    [(path, content)] = CLIENT.baked.items()
    assert path == "/etc/github-copilot/policy.d/pannier.json"
    assert isinstance(content, str)
    assert json.loads(content) == {
        "version": 1,
        "hooks": {
            event: [
                {
                    "type": "command",
                    "bash": hook_command(ours, "copilot"),
                    "timeoutSec": 10,
                }
            ]
            for event, ours in (
                ("userPromptSubmitted", "user-prompt"),
                ("permissionRequest", "permission-request"),
                ("postToolUse", "post-tool"),
                ("postToolUseFailure", "post-tool"),
                ("agentStop", "stop"),
                ("preCompact", "pre-compact"),
                ("sessionEnd", "session-end"),
            )
        },
    }


def test_the_hook_knows_it() -> None:
    """The hook's row for Copilot says: with the prompt, in one part, of any length."""
    row = HOOK["copilot"]
    assert (row.injects_on, row.limit, row.parts) == (USER_PROMPT, None, 1)
    assert CLIENT.events.keys() - CLIENT.fresh == {"resume"}


def test_no_rule_of_managed_settings() -> None:
    """With a managed permission rule the client asks for everything that no rule names, for
    read-only commands and under --yolo too: there is none."""
    assert not any(path.endswith("managed-settings.json") for path in CLIENT.baked)


def test_first_start() -> None:
    """The working directory is trusted, and the client's own memory is off."""
    assert _skeleton("config.json") == {"trustedFolders": ["/workspace/agent/files"]}
    assert _skeleton("settings.json")["memory"] is False


def test_standing_instructions_are_linked() -> None:
    """Copilot reads its standing instructions where the sidecar mounts them."""
    link = CLIENT.skeleton[".copilot/copilot-instructions.md"]
    assert link == Link("/run/pannier/instructions/AGENTS.md")


def test_endpoint() -> None:
    """Copilot is sent to the endpoint, and asks nobody else."""
    endpoint = CLIENT.endpoint("http://127.0.0.1:1")
    assert endpoint.environment["COPILOT_PROVIDER_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert endpoint.environment["COPILOT_OFFLINE"] == "true"
    assert endpoint.environment["COPILOT_MODEL"]


def test_the_pinned_version_runs() -> None:
    """A newer version that the client has loaded below HOME is not run in its place."""
    assert "COPILOT_AUTO_UPDATE=false" in (IMAGE / "Dockerfile").read_text()


def test_starter_becomes_the_client(tmp_path: Path) -> None:
    """The arguments reach the client behind what is always said: what it may read, and that it
    reports nothing. No parent process stays that would keep signals from it."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nprintf "%s\\n" $PPID "$@"\n')
    program.chmod(0o755)
    script = (IMAGE / "copilot").read_text()
    assert script.count("/opt/copilot/copilot") == 1
    starter = tmp_path / "copilot"
    starter.write_text(script.replace("/opt/copilot/copilot", str(program)))
    done = subprocess.run(
        ["sh", "-eu", starter, "-p", "a  b*", ""], capture_output=True, text=True, check=True
    )
    parent, *words = done.stdout.split("\n")[:-1]
    assert parent == str(os.getpid())
    assert words[:-3] == ["--add-dir", "/workspace", "--disable-client-telemetry"]
    assert words[-3:] == ["-p", "a  b*", ""]


@pytest.mark.parametrize(
    ("said", "variables"),
    [
        ({}, {"BACKGROUND_COMPACTION_THRESHOLD": "0.7000"}),
        ({"compaction": {"enabled": False}}, {}),
        (
            {"window": 64_000, "compaction": {"trigger_percent": 90}},
            {"BACKGROUND_COMPACTION_THRESHOLD": "0.7440", "PROVIDER_MAX_PROMPT_TOKENS": "64000"},
        ),
        (
            {"compaction": {"enabled": False}, "spill_buffer": {"thresholds": {"Bash": 50_000}}},
            {"LARGE_OUTPUT_THRESHOLD_BYTES": "50000"},
        ),
        (
            {"compaction": {"enabled": False}, "spill_buffer": {"thresholds": {"shell": 10_000}}},
            {},
        ),
    ],
)
def test_context(said: dict[str, object], variables: dict[str, str]) -> None:
    """Its variables for the point of compaction, the window, and its own limit of an output."""
    environment = CLIENT.context(ContextSettings.model_validate(said)).environment
    assert environment == {f"COPILOT_{name}": value for name, value in variables.items()}

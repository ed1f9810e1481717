"""What is baked into Claude Code's image."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pannier.clients.claude import CLIENT, managed_settings
from pannier.clients.client import Link, hook_command
from pannier_hook import VERSION
from pannier_hook.clients import CLIENTS as HOOK


@pytest.fixture
def settings() -> dict[str, Any]:
    text = CLIENT.baked["/etc/claude-code/managed-settings.json"]
    assert isinstance(text, str)
    loaded: dict[str, Any] = json.loads(text)
    assert loaded == managed_settings()
    return loaded


def test_session_start_is_registered_once_for_each_part(settings: dict[str, Any]) -> None:
    """Every part of the injection has one entry."""
    [group] = settings["hooks"]["SessionStart"]
    assert "matcher" not in group  # every source: the hook knows which of them are fresh
    parts = HOOK["claude"].parts
    assert [entry["command"] for entry in group["hooks"]] == [
        "/usr/local/bin/pannier-hook session-start --client claude "
        f"--part {n}/{parts} --entry {VERSION}"
        for n in range(1, parts + 1)
    ]


def test_other_events_are_registered_once(settings: dict[str, Any]) -> None:
    """One entry an event."""
    others = {name: groups for name, groups in settings["hooks"].items() if name != "SessionStart"}
    assert {name: group["hooks"][0]["command"] for name, [group] in others.items()} == {
        "UserPromptSubmit": hook_command("user-prompt", "claude"),
        "Stop": hook_command("stop", "claude"),
        "StopFailure": hook_command("stop", "claude"),
        "PostToolUse": hook_command("post-tool", "claude"),
        "PreCompact": hook_command("pre-compact", "claude"),
        "PostCompact": hook_command("post-compact", "claude"),
        "SessionEnd": hook_command("session-end", "claude"),
    }
    assert all(len(group["hooks"]) == 1 and "matcher" not in group for [group] in others.values())


def test_a_hook_has_ten_seconds(settings: dict[str, Any]) -> None:
    """Claude Code counts in seconds: ten, not ten milliseconds and not three hours."""
    entries = [entry for [group] in settings["hooks"].values() for entry in group["hooks"]]
    assert {entry["timeout"] for entry in entries} == {10}


def test_memory_may_be_edited_and_nothing_else(settings: dict[str, Any]) -> None:
    """Rules that change files name the memory folder; reading is allowed in the agent's root."""
    allow = settings["permissions"]["allow"]
    assert "Edit(//workspace/agent/memory/**)" in allow
    assert "Read(//workspace/agent/**)" in allow
    changing = [rule for rule in allow if not rule.startswith("Read(")]
    assert all("/workspace/agent/memory/" in rule for rule in changing)
    assert set(settings["permissions"]) == {"allow"}  # the mode stays the person's choice


def test_its_own_memory_and_sandbox_are_off(settings: dict[str, Any]) -> None:
    """One memory, and one sandbox: the container."""
    assert settings["autoMemoryEnabled"] is False
    assert settings["sandbox"] == {"enabled": False}


def test_standing_instructions_are_linked() -> None:
    """Claude Code finds CLAUDE.md beside its managed settings; the sidecar mounts what it is."""
    link = CLIENT.baked["/etc/claude-code/CLAUDE.md"]
    assert link == Link("/run/pannier/instructions/CLAUDE.md")


def test_the_first_start_asks_nothing() -> None:
    """Welcome and theme are done, and the working directory is trusted; no key, no login."""
    text = CLIENT.skeleton[".claude/.claude.json"]
    assert isinstance(text, str)
    state = json.loads(text)
    assert state["hasCompletedOnboarding"] is True
    assert state["projects"]["/workspace/agent/files"]["hasTrustDialogAccepted"] is True
    assert "customApiKeyResponses" not in state
    assert "oauthAccount" not in state


def test_fresh_events_are_those_of_the_hook() -> None:
    """What verify expects memory on is what the hook injects on."""
    assert CLIENT.fresh == CLIENT.events.keys() & HOOK["claude"].fresh
    assert list(CLIENT.events) == ["startup", "resume", "clear", "compact", "fork"]

"""What is baked into Codex's image, and how Codex is started there."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pannier.bake.layout import tree
from pannier.clients.client import Link, hook_command
from pannier.clients.codex import CLIENT, COMMAND
from pannier.engine.recipes import read_sources
from pannier_hook.clients import CLIENTS as HOOK

IMAGE = Path(__file__).parents[3] / "images" / "codex"
PROGRAM = "/opt/codex/bin/codex"
SKIP = "--skip-git-repo-check"
WITH_KEY = ["-c", "model_provider=openai_key"]

Start = Callable[..., list[str]]


def baked(name: str) -> dict[str, Any]:
    text = CLIENT.baked[f"/etc/codex/{name}"]
    assert isinstance(text, str)
    return tomllib.loads(text)


def _entry(ours: str, seconds: int, **more: int) -> list[dict[str, Any]]:
    command = hook_command(ours, "codex")
    return [{"hooks": [{"type": "command", "command": command, "timeout": seconds, **more}]}]


def test_hook_entries() -> None:
    """One entry an event, in seconds; what injects has no limit of length."""
    assert baked("requirements.toml")["hooks"] == {
        "SessionStart": _entry("session-start", 10, additionalContextLimit=0),
        "UserPromptSubmit": _entry("user-prompt", 10, additionalContextLimit=0),
        "PostToolUse": [
            {
                "matcher": "^(Bash$|mcp__)",
                **_entry("post-tool", 10, additionalContextLimit=0)[0],
            }
        ],
        "Stop": _entry("stop", 10),
        "SubagentStop": _entry("stop", 10),
        "PreCompact": _entry("pre-compact", 10),
        "PostCompact": _entry("post-compact", 10),
        "SessionEnd": _entry("session-end", 3),
    }


def test_the_hook_counts_on_the_lifted_limit() -> None:
    """The hook's row for Codex says: one part, of any length."""
    assert (HOOK["codex"].limit, HOOK["codex"].parts) == (None, 1)


def test_what_a_person_cannot_undo() -> None:
    """Hooks stay on; a second memory and a server that outlives its terminal stay off."""
    assert baked("requirements.toml")["features"] == {
        "hooks": True,
        "memories": False,
        "daemon_auto_start": False,
    }


def test_defaults_that_a_person_can_undo() -> None:
    """The container is the sandbox: these lie where ~/.codex/config.toml goes first."""
    defaults = baked("config.toml")
    assert defaults["sandbox_mode"] == "danger-full-access"
    assert defaults["approval_policy"] == "never"
    assert defaults["check_for_update_on_startup"] is False
    assert defaults["analytics"] == {"enabled": False}
    assert defaults["projects"] == {"/workspace/agent/files": {"trust_level": "trusted"}}


def test_commands_of_the_agent_are_kept() -> None:
    """By a file that is pannier's own in an image of anybody's, too."""
    policy = baked("config.toml")["shell_environment_policy"]
    assert policy == {"set": {"BASH_ENV": COMMAND}}
    assert COMMAND.lstrip("/") in tree(CLIENT, read_sources()).hook


def test_standing_instructions_are_linked() -> None:
    """Codex reads its standing instructions where the sidecar mounts them."""
    assert CLIENT.skeleton == {".codex/AGENTS.md": Link("/run/pannier/instructions/AGENTS.md")}


def test_endpoint() -> None:
    """Codex is sent to the endpoint, with a key that it takes from the environment."""
    endpoint = CLIENT.endpoint('http://127.0.0.1:1/"x"')
    settings = tomllib.loads(endpoint.home[".codex/config.toml"])
    provider = settings["model_providers"][settings["model_provider"]]
    assert provider["base_url"] == 'http://127.0.0.1:1/"x"/v1'
    assert endpoint.environment[provider["env_key"]]
    # As for the real provider: Codex compacts in another way for others.
    assert provider["name"] == baked("config.toml")["model_providers"]["openai_key"]["name"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """The command `codex` of the image; the program behind it tells its arguments."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    script = (IMAGE / "codex").read_text()
    assert script.count(PROGRAM) == 1
    command = tmp_path / "codex"
    command.write_text(script.replace(PROGRAM, str(program)))

    def run(*arguments: str, **environment: str) -> list[str]:
        done = subprocess.run(
            ["sh", "-eu", command, *arguments],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return run


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state = tmp_path / ".codex"
    state.mkdir()
    return state


@pytest.mark.parametrize("command", ["exec", "e"])
def test_exec_runs_outside_of_a_repository(start: Start, command: str) -> None:
    """`codex exec` need not be told that it may work in the container."""
    assert start(command, "a  b*", "") == ["exec", SKIP, "a  b*", ""]


def test_exec_is_told_once(start: Start) -> None:
    """The option that a person gave is not given again, which Codex refuses."""
    assert start("exec", "--json", SKIP, "hi") == ["exec", "--json", SKIP, "hi"]


@pytest.mark.parametrize("arguments", [("hi",), ("resume", "exec"), ("app-server",)])
def test_other_commands_are_left_alone(start: Start, arguments: tuple[str, ...]) -> None:
    """Whatever is not `exec` passes unchanged."""
    assert start(*arguments) == [*arguments]


def test_a_key_is_used(start: Start) -> None:
    """A key in the environment chooses the provider that takes it: no login is asked for."""
    assert start("hi", OPENAI_API_KEY="k") == [*WITH_KEY, "hi"]
    assert start("exec", "hi", OPENAI_API_KEY="k") == [*WITH_KEY, "exec", SKIP, "hi"]
    provider = baked("config.toml")["model_providers"]["openai_key"]
    assert provider["env_key"] in CLIENT.keys


def test_an_empty_key_is_none(start: Start) -> None:
    """A key that is set to nothing changes nothing."""
    assert start("hi", OPENAI_API_KEY="") == ["hi"]


def test_a_login_goes_before_a_key(start: Start, state: Path) -> None:
    """Who has logged in inside is not overruled by the environment."""
    (state / "auth.json").write_text("{}")
    assert start("hi", OPENAI_API_KEY="k") == ["hi"]


@pytest.mark.parametrize("line", ['model_provider = "x"', 'a = 1\n  model_provider="x"\n'])
def test_a_chosen_provider_goes_before_a_key(start: Start, state: Path, line: str) -> None:
    """A provider in the person's settings is not overruled by the environment."""
    (state / "config.toml").write_text(line)
    assert start("hi", OPENAI_API_KEY="k") == ["hi"]


@pytest.mark.parametrize("line", ['# model_provider = "x"', "[model_providers.x]"])
def test_another_line_chooses_no_provider(start: Start, state: Path, line: str) -> None:
    """A comment or the definition of a provider is no choice."""
    (state / "config.toml").write_text(line)
    assert start("hi", OPENAI_API_KEY="k") == [*WITH_KEY, "hi"]


def test_settings_of_the_context_are_handed_on(start: Start, state: Path) -> None:
    """Each that the environment names; what stands in a person's own settings goes before."""
    said = "model_context_window=1000 model_auto_compact_token_limit=700"
    both = ["-c", "model_auto_compact_token_limit=700", "-c", "model_context_window=1000"]
    assert start("hi", PANNIER_CODEX_CONTEXT=said) == [*both, "hi"]
    (state / "config.toml").write_text("model_context_window = 5\n")
    assert start("hi", PANNIER_CODEX_CONTEXT=said) == [*both[:2], "hi"]


def test_state_elsewhere(start: Start, state: Path, tmp_path: Path) -> None:
    """CODEX_HOME says where a login lies."""
    (state / "auth.json").write_text("{}")
    other = tmp_path / "other"
    assert start("hi", OPENAI_API_KEY="k", CODEX_HOME=str(other)) == [*WITH_KEY, "hi"]
    other.mkdir()
    (other / "auth.json").write_text(json.dumps({}))
    assert start("hi", OPENAI_API_KEY="k", CODEX_HOME=str(other)) == ["hi"]

"""Codex in its image: what only Codex asks, leaves behind or lets a person change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.model import Request
from pannier.errors import VerifyError
from pannier.verify.container import PORT
from pannier.verify.measure import markers_in
from pannier.verify.shell import EventShell

from .conftest import Driven

URL = f"http://127.0.0.1:{PORT}/v1"


@pytest.fixture
def codex(opened: Callable[[str], Driven]) -> Driven:
    return opened("codex")


def _own_home(shell: EventShell, name: str, settings: str) -> tuple[str, ...]:
    """A fresh HOME with a person's config.toml. Gives the words that put a command into it."""
    home = f"/home/agent/{name}"
    make = 'mkdir -p "$1/.codex"; printf %s "$2" >"$1/.codex/config.toml"'
    shell.run("sh", "-c", make, "sh", home, settings)
    return ("env", f"HOME={home}")


def _marker(request: Request) -> str:
    """That of the one block which a request holds."""
    [marker] = markers_in([request])
    return marker


def test_first_start_with_a_key_asks_nothing(codex: Driven) -> None:
    """With a key and nothing else, a terminal comes straight to an answer; no server stays."""
    with codex.shell("key") as shell:
        own = _own_home(shell, "key", f'[model_providers.openai_key]\nbase_url = "{URL}"\n')
        terminal = shell.terminal(*own, "OPENAI_API_KEY=made-up", "codex", "what now")
        terminal.wait_for("Worked for")
        shell.wait_for_request("what now", seconds=1)
        left = shell.run("sh", "-c", "ls ~/key/.codex; ps -eo args").output
    assert "config.toml" in left
    assert "daemon" not in left
    assert "app-server" not in left


def test_working_directory_with_settings_is_trusted(codex: Driven) -> None:
    """Codex asks whether a folder with settings in it is trusted, but not about `files/`."""
    with codex.shell("trust") as shell:
        shell.run("mkdir", ".codex")
        shell.run("sh", "-c", "echo 'hide_agent_reasoning = true' >.codex/config.toml")
        shell.run("test", "-s", "/workspace/agent/files/.codex/config.toml")
        shell.terminal("codex", "trusted here").wait_for("Worked for")
        shell.run("rm", "-r", ".codex")


def test_a_login_is_kept(codex: Driven) -> None:
    """A login made inside lies in HOME and serves the next start, without a key around."""
    with codex.shell("login") as shell:
        own = _own_home(shell, "login", f'openai_base_url = "{URL}"\n')
        shell.run(*own, "codex", "login", "--with-api-key", stdin="made-up")
        shell.run(*own, "test", "-s", "/home/agent/login/.codex/auth.json")
        shell.run("env", "-u", "OPENAI_API_KEY", *own, "codex", "exec", "logged in")
        shell.wait_for_request("logged in", seconds=1)


@pytest.mark.parametrize("setting", ["features.hooks=false", "features.daemon_auto_start=true"])
def test_memory_does_not_depend_on_a_setting(codex: Driven, setting: str) -> None:
    """Whoever turns hooks off, or Codex's server on, has the memory all the same."""
    with codex.shell("pinned") as shell:
        shell.run("codex", "exec", "-c", setting, "pinned")
        assert [_marker(request) for request in shell.requests()]


def test_own_memory_cannot_be_turned_on(codex: Driven) -> None:
    """Codex's own memory is off, whatever a person's settings say."""
    with codex.shell("memories") as shell:
        listed = shell.run("codex", "-c", "features.memories=true", "features", "list").stdout
    [line] = [line for line in listed.splitlines() if line.startswith("memories ")]
    assert line.split()[-1] == "false"


def test_the_sandbox_is_a_default_only(codex: Driven) -> None:
    """Who wants Codex's sandbox in the container says so, and it is as they say."""
    with codex.shell("mode") as shell:
        assert "\nsandbox: danger-full-access" in shell.run("codex", "exec", "hello").output
        wanted = shell.run("codex", "exec", "-c", 'sandbox_mode="read-only"', "hello").output
        assert "\nsandbox: read-only" in wanted


def test_compaction_in_the_middle_of_a_turn(codex: Driven) -> None:
    """When Codex compacts within a turn, the rest of that turn has the memory anew."""
    with codex.shell("middle") as shell:
        shell.script(
            Call("exec", "text('a')", input_tokens=500_000),
            Say("so far"),
            Call("exec", "text('b')"),
        )
        shell.run("codex", "exec", "-c", "model_auto_compact_token_limit=200000", "work")
        first, compaction, after, last = (_marker(request) for request in shell.requests())
    assert first == compaction
    assert first != after == last


def test_a_turn_that_failed_keeps_the_memory(codex: Driven) -> None:
    """A first turn that the model refused leaves the memory in the history: it comes once."""
    with codex.shell("failed") as shell:
        shell.script(Fail(400))
        with pytest.raises(VerifyError):
            shell.run("codex", "exec", "first")
        shell.run("codex", "exec", "resume", "--last", "second")
        refused, second = (_marker(request) for request in shell.requests())
    assert refused == second


def test_a_session_that_is_not_kept_has_memory(codex: Driven) -> None:
    """`codex exec --ephemeral`, which has no transcript, begins with the memory too."""
    with codex.shell("ephemeral") as shell:
        shell.run("codex", "exec", "--ephemeral", "hello")
        assert [_marker(request) for request in shell.requests()]

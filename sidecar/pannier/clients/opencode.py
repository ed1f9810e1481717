"""OpenCode."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from pannier.clients.client import (
    TELLS_LITTLE,
    Client,
    Dialogue,
    Endpoint,
    Link,
    Shell,
    Terminal,
    Traces,
)
from pannier.clients.opencode_context import context, default_settings
from pannier.clients.reader import before_commands
from pannier.paths import RUN_ROOT

NAME = "opencode"
MANAGED = "/etc/opencode"
PLUGIN = f"{MANAGED}/pannier.js"
CONTEXT = f"{MANAGED}/pannier-context"
"""A module of the plugin's, and its data: without the suffixes."""
KEPT = f"{MANAGED}/pannier-kept.js"
"""Another module of the plugin's."""
COMMANDS = f"{MANAGED}/pannier-commands.js"
"""One more."""
COMMAND = "/usr/local/lib/pannier/opencode/command.bash"
"""What bash reads before a command of the agent's."""
CONFIG = ".config/opencode"
LIBRARY = "/opt/opencode/plugin"
"""The library for plugins, as npm installed it in the image."""

PROVIDER = "anthropic"
MODEL = "claude-sonnet-4-5"
MODEL_SHOWN = "verified model"
TURN_ENDED = f"{MODEL_SHOWN} ·"
"""What the terminal shows below an answer, before its duration."""
TYPING = 0.2
"""Seconds between a line and its return key: those of one burst count as pasted."""


def managed_settings() -> dict[str, object]:
    """What the image decides; neither a person's settings nor a project's undo it."""
    return {
        # Without it, OpenCode would try to write it into the file.
        "$schema": "https://opencode.ai/config.json",
        "plugin": [f"file://{PLUGIN}"],
        "instructions": [f"{RUN_ROOT}/instructions/AGENTS.md"],
        "autoupdate": False,
        "share": "disabled",
    }


def _startup(shell: Shell) -> None:
    shell.observe()
    shell.run(*_turn("hello"))


def _resume(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe()
    shell.run(*_turn("again"), "--session", session)


def _fork(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe()
    shell.run(*_turn("again"), "--session", session, "--fork")


def _clear(shell: Shell) -> None:
    terminal = shell.terminal("opencode", "--prompt", "hello")
    terminal.wait_for(TURN_ENDED, seconds=60)
    shell.observe()
    _submit(terminal, "/new", shown="New session")
    terminal.wait_for("Ask anything")
    _submit(terminal, "again", shown="again")
    terminal.wait_for(TURN_ENDED, seconds=60)


def _compact(shell: Shell) -> None:
    """By the server that OpenCode's own terminal speaks to; `opencode run` has no such command."""
    url = _address(shell.dialogue("opencode", "serve"))
    session = f"{url}/session/{_ask(shell, f'{url}/session', {})['id']}"
    _ask(shell, f"{session}/message", _said("hello"))
    shell.observe()
    _ask(shell, f"{session}/summarize", {"providerID": PROVIDER, "modelID": MODEL})
    _ask(shell, f"{session}/message", _said("again"))


def _turn(prompt: str) -> tuple[str, ...]:
    return ("opencode", "run", prompt)


# An argument that holds spaces, OpenCode puts into quotes; what it reads stays as it is.
_FROM_INPUT = 'prompt=$1; shift; printf %s "$prompt" | opencode run "$@"'


def _headless(prompt: str, *options: str) -> tuple[str, ...]:
    return ("sh", "-c", _FROM_INPUT, "opencode", prompt, *options)


def _again(prompt: str, session: str) -> tuple[str, ...]:
    return _headless(prompt, "--session", session)


def _first_turn(shell: Shell) -> str:
    said = shell.run(*_turn("hello"), "--format", "json").stdout
    return str(json.loads(said.splitlines()[0])["sessionID"])


def _address(server: Dialogue) -> str:
    said = server.wait_for("listening on")
    found = re.search(r"http://\S+", said)
    if found is None:
        raise ValueError(said)
    return found[0]


def _ask(shell: Shell, url: str, data: Mapping[str, object]) -> Any:
    options = ("--fail", "--silent", "--show-error", "--header", "Content-Type: application/json")
    done = shell.run("curl", *options, "--data", "@-", url, stdin=json.dumps(data))
    return json.loads(done.stdout)


def _said(text: str) -> dict[str, object]:
    return {"parts": [{"type": "text", "text": text}]}


def _submit(terminal: Terminal, line: str, *, shown: str) -> None:
    terminal.send(line)
    terminal.wait_for(shown)
    time.sleep(TYPING)
    terminal.send("\r")


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"


def _endpoint(url: str) -> Endpoint:
    provider = {
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {MODEL: {"name": MODEL_SHOWN}},
    }
    settings = {"model": f"{PROVIDER}/{MODEL}", "provider": {PROVIDER: provider}}
    return Endpoint(environment={"OPENCODE_CONFIG_CONTENT": json.dumps(settings)})


def _ours(name: str) -> str:
    return (files("pannier.clients") / name).read_text(encoding="utf-8")


TRACES = Traces(databases=(".local/share/opencode/opencode.db",))
"""OpenCode 1.18 keeps every session in there."""


CLIENT = Client(
    name=NAME,
    title="OpenCode",
    program=("opencode",),
    keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENCODE_API_KEY"),
    instructions_file="AGENTS.md",
    baked={
        f"{MANAGED}/opencode.json": _json(managed_settings()),
        PLUGIN: _ours("opencode.js"),
        f"{CONTEXT}.js": _ours("opencode_context.js"),
        KEPT: _ours("opencode_kept.js"),
        COMMANDS: _ours("opencode_commands.js"),
        COMMAND: before_commands(NAME, "PANNIER_OUTPUT_NOTE", forget=True),
        f"{CONTEXT}.json": _json(default_settings()),
    },
    # OpenCode installs its library here unless it finds it, and waits for that.
    skeleton={
        f"{CONFIG}/{name}": Link(f"{LIBRARY}/{name}")
        for name in ("node_modules", "package.json", "package-lock.json")
    },
    endpoint=_endpoint,
    headless=_headless,
    resume=_again,
    events={
        "startup": _startup,
        "resume": _resume,
        "clear": _clear,
        "compact": _compact,
        "fork": _fork,
    },
    own_settings=(f"{CONFIG}/opencode.json", f"{CONFIG}/opencode.jsonc"),
    fresh=frozenset({"startup", "clear", "compact"}),
    notes=(
        "OpenCode starts without plugins, and so without the memory, when it is told to: by "
        "`opencode --pure` or OPENCODE_PURE=1.",
        TELLS_LITTLE.format("OpenCode"),
    ),
    traces=TRACES,
    context=context,
    compact=lambda session: ("opencode-compact", session),
)

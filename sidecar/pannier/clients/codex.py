"""Codex."""

from __future__ import annotations

import json
import re
from typing import Any

from pannier.clients.client import Client, Dialogue, Endpoint, Link, Shell, Traces, hook_command
from pannier.clients.codex_context import context
from pannier.clients.reader import before_commands
from pannier.clients.transcripts import codex as transcript
from pannier.endpoint.answers import Say
from pannier.paths import AGENT_ROOT, RUN_ROOT

NAME = "codex"
MANAGED = "/etc/codex"
HOOK_SECONDS = 10
"""Codex counts a hook's timeout in seconds."""
LAST_SECONDS = 3
"""The most that Codex gives a hook at a session's end."""


def _entry(theirs: str, ours: str, seconds: int = HOOK_SECONDS, tools: str = "") -> str:
    matcher = f'matcher = "{tools}"\n' if tools else ""
    return f"""\
[[hooks.{theirs}]]
{matcher}[[hooks.{theirs}.hooks]]
type = "command"
command = "{hook_command(ours, NAME)}"
timeout = {seconds}
"""


COMMAND = "/usr/local/lib/pannier/codex/command.bash"
"""What bash reads before a command of the agent's."""

REQUIREMENTS = f"""\
# What this image decides; settings of a person do not undo it.

[features]
hooks = true
# A second memory, which neither people nor other clients see.
memories = false
# A server that outlives the terminal: hooks would see the environment of whoever came first, and an
# updater comes with it.
daemon_auto_start = false

{_entry("SessionStart", "session-start")}\
# 0 lifts the limit of 10,000 bytes, beyond which Codex keeps the head and the tail.
additionalContextLimit = 0

{_entry("UserPromptSubmit", "user-prompt")}\
additionalContextLimit = 0

# Results of commands: see shell_environment_policy in config.toml as well.
{_entry("PostToolUse", "post-tool", tools="^(Bash$|mcp__)")}
# Notes of many long outputs in one script.
additionalContextLimit = 0

{_entry("Stop", "stop")}
{_entry("SubagentStop", "stop")}
{_entry("PreCompact", "pre-compact")}
{_entry("PostCompact", "post-compact")}
{_entry("SessionEnd", "session-end", LAST_SECONDS)}"""

DEFAULTS = f"""\
# Defaults of this image: ~/.codex/config.toml, `codex -c` and Codex's own menus go before them.

# The container is the sandbox: Codex's own cannot start in it, and nobody need be asked.
sandbox_mode = "danger-full-access"
approval_policy = "never"

check_for_update_on_startup = false

[projects."{AGENT_ROOT}/files"]
trust_level = "trusted"

[analytics]
enabled = false

# Codex gives its hooks only the ends of what a command printed. So a reader at its output keeps it.
[shell_environment_policy.set]
BASH_ENV = "{COMMAND}"

# The command `codex` of this image chooses it when OPENAI_API_KEY is set and nobody has logged in.
# Without base_url it is OpenAI's own address.
[model_providers.openai_key]
name = "OpenAI"
wire_api = "responses"
env_key = "OPENAI_API_KEY"

[model_providers.openai_key.env_http_headers]
OpenAI-Organization = "OPENAI_ORGANIZATION"
OpenAI-Project = "OPENAI_PROJECT"
"""


_CLEARED = "a new context"


def _startup(shell: Shell) -> None:
    shell.observe("hello")
    shell.run(*_turn("hello"))


def _resume(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe("again")
    shell.run("codex", "exec", "resume", session, "again")


def _fork(shell: Shell) -> None:
    session = _first_turn(shell)
    shell.observe("again")
    shell.run("codex", "exec", "fork", session, "again")


def _clear(shell: Shell) -> None:
    # In a terminal Codex also asks for a title, once a session and at a time of its own; not so of
    # the session that is cleared, which began elsewhere.
    terminal = shell.terminal("codex", "resume", _first_turn(shell))
    terminal.wait_for("• ok")
    shell.observe()
    shell.script(Say(_CLEARED), Say(_CLEARED))
    for line in ("/clear", "again"):
        terminal.send(line)
        terminal.wait_for(f"› {line}")
        terminal.send("\r")
    terminal.wait_for(f"• {_CLEARED}")
    terminal.close()


def _compact(shell: Shell) -> None:
    """By the protocol that Codex's own terminal speaks; `codex exec` has no such command."""
    server = shell.dialogue("codex", "app-server")
    _ask(server, 1, "initialize", clientInfo={"name": "pannier", "version": "0"})
    server.send(json.dumps({"method": "initialized"}))
    thread = _ask(server, 2, "thread/start")["thread"]["id"]
    _say(server, 3, thread, "hello")
    shell.observe("again")
    _ask(server, 4, "thread/compact/start", threadId=thread)
    _turn_ends(server)
    _say(server, 5, thread, "again")
    server.close()


def _turn(prompt: str) -> tuple[str, ...]:
    return ("codex", "exec", prompt)


def _again(prompt: str, session: str) -> tuple[str, ...]:
    return ("codex", "exec", "resume", session, prompt)


def _summarize(session: str) -> tuple[str, ...]:
    return ("codex-compact", session)


def _first_turn(shell: Shell) -> str:
    said = shell.run(*_turn("hello")).output
    found = re.search(r"^session id: (\S+)$", said, re.MULTILINE)
    if found is None:
        raise ValueError(said)
    return found[1]


def _ask(server: Dialogue, number: int, method: str, **parameters: object) -> Any:
    server.send(json.dumps({"id": number, "method": method, "params": parameters}))
    while True:
        answer = json.loads(server.wait_for(f'"id":{number},'))
        if answer.get("id") == number:
            return answer["result"]


def _say(server: Dialogue, number: int, thread: str, text: str) -> None:
    _ask(server, number, "turn/start", threadId=thread, input=[{"type": "text", "text": text}])
    _turn_ends(server)


def _turn_ends(server: Dialogue) -> None:
    server.wait_for('"method":"turn/completed"')


def _endpoint(url: str) -> Endpoint:
    settings = f"""\
model_provider = "verify"
# Keys come faster here than a person's; a return among them is a return all the same.
disable_paste_burst = true

[model_providers.verify]
name = "OpenAI"
base_url = {json.dumps(f"{url}/v1")}
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
    return Endpoint(environment={"OPENAI_API_KEY": "none"}, home={".codex/config.toml": settings})


TRACES = Traces(
    files=lambda session: (
        # After a revert a second file of the session has more behind its id.
        f".codex/sessions/*/*/*/rollout-*-{session}*",
        f".codex/archived_sessions/rollout-*-{session}*",
        f".codex/shell_snapshots/{session}*",
    ),
    entries={".codex/history.jsonl": "session_id", ".codex/session_index.jsonl": "id"},
    databases=(".codex/*.sqlite",),
)
"""As Codex 0.171 lays them down."""


CLIENT = Client(
    name=NAME,
    title="Codex",
    program=("codex",),
    keys=("OPENAI_API_KEY",),
    instructions_file="AGENTS.md",
    baked={
        f"{MANAGED}/requirements.toml": REQUIREMENTS,
        f"{MANAGED}/config.toml": DEFAULTS,
        COMMAND: before_commands(NAME, "CODEX_TOOL_CALL_ID"),
    },
    skeleton={".codex/AGENTS.md": Link(f"{RUN_ROOT}/instructions/AGENTS.md")},
    endpoint=_endpoint,
    headless=_turn,
    resume=_again,
    compact=_summarize,
    events={
        "startup": _startup,
        "resume": _resume,
        "clear": _clear,
        "compact": _compact,
        "fork": _fork,
    },
    own_settings=(".codex/hooks.json", ".codex/config.toml"),
    fresh=frozenset({"startup", "clear", "compact"}),
    notes=(
        "Codex tells nobody when a person goes back to the first prompt of a session: the memory "
        "is missing then, until the next /clear, /new or compaction.",
    ),
    traces=TRACES,
    read=transcript.read,
    context=context,
)

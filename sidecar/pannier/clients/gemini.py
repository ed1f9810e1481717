"""Gemini CLI."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from pannier.clients.client import Client, Endpoint, Link, Shell, Terminal, Traces, hook_command
from pannier.clients.gemini_context import ITS_LIMIT, LIMIT, THRESHOLD, context, fraction
from pannier.clients.transcripts import gemini as transcript
from pannier.clients.transcripts.gemini_records import decode
from pannier.errors import VerifyError
from pannier.paths import AGENT_ROOT, EXTRA_ROOT, RUN_ROOT
from pannier.settings import ContextSettings
from pannier_hook.clients import CLIENTS as HOOK

ETC = "/etc/gemini-cli"
"""Everything in it must belong to root and be writable for nobody else: the client ignores it
otherwise."""
HOOK_MILLISECONDS = 10_000
"""Gemini CLI counts a hook's timeout in milliseconds."""
MEMORY = f"{AGENT_ROOT}/memory"
LENGTHY = "^(?!(write_file|replace|write_todos)$)"
"""Tools of which a result may be long, by an expression of JavaScript's."""


def managed_settings() -> dict[str, object]:
    """What the image decides and no settings of a person or a project can undo."""
    return {
        "hooks": {
            # Marks the session: what a session start injects is lost on the next resume.
            "SessionStart": [_hook("session-start")],
            HOOK["gemini"].hook_event_name: [_hook("user-prompt")],
            "AfterTool": [{"matcher": LENGTHY, **_hook("post-tool")}],
            "AfterAgent": [_hook("stop")],
            "SessionEnd": [_hook("session-end")],
        },
        "hooksConfig": {"enabled": True},
        # Its file tools work in the working directory and in these; nowhere else.
        "context": {
            "includeDirectories": [
                MEMORY,
                f"{AGENT_ROOT}/agent-memory",
                f"{AGENT_ROOT}/conversations",
                str(EXTRA_ROOT),
            ]
        },
        # Its own memory would be a second one, hidden from people and other clients.
        "experimental": {"autoMemory": False},
        # The container is the sandbox.
        "tools": {"sandbox": False},
        "security": {"toolSandboxing": False},
    }


def default_settings() -> dict[str, object]:
    """What holds as long as a person's or a project's settings say nothing else."""
    return {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "ide": {"hasSeenNudge": True},
        # Numbers, once the variables are put in.
        "model": {"compressionThreshold": f"${{{THRESHOLD}:-{fraction(ContextSettings())}}}"},
        "tools": {"truncateToolOutputThreshold": f"${{{LIMIT}:-{ITS_LIMIT}}}"},
        "security": {
            "folderTrust": {"enabled": False},
            # Set by the program that starts the client (images/gemini/gemini).
            "auth": {"selectedType": "${PANNIER_GEMINI_LOGIN:-}"},
        },
        "policyPaths": [HEADLESS_POLICY, "~/.gemini/policies"],
    }


def _hook(event: str) -> dict[str, object]:
    command = hook_command(event, "gemini")
    name = f"pannier {event}"
    entry = {"type": "command", "name": name, "command": command, "timeout": HOOK_MILLISECONDS}
    return {"hooks": [entry]}


# A rule sees a tool's arguments as JSON, each member between two NUL characters.
_EDIT = rf'\x00"file_path":"{MEMORY}/(?![^"]*\.\./)[^"\\]+"\x00'
_TIDY = (
    r'\x00"command":"(?:mkdir|mv|rm|rmdir)(?= )'
    r'(?![^"]*\.\.)'
    rf'(?![^"]* (?!-[a-zA-Z]+[ "]|{MEMORY}/[\w.]))'
    r'[-\w./ ]+"\x00'
)
_OWN_MEMORY = r'\x00"file_path":"[^"]*/\.gemini/(GEMINI\.md"|tmp/[^"]*/memory/)'

MEMORY_POLICY = f"{ETC}/policies/pannier.toml"
MEMORY_RULES = f"""
# Memory is edited without asking, with a person or without.
[[rule]]
toolName = ["write_file", "replace"]
argsPattern = '{_EDIT}'
decision = "allow"
priority = 500
modes = ["default", "autoEdit", "yolo"]

# And tidied up, by commands of which every path lies in it and is written out.
[[rule]]
toolName = "run_shell_command"
argsPattern = '{_TIDY}'
decision = "allow"
priority = 500
modes = ["default", "autoEdit", "yolo"]

# The client's own memory: files that it would read into every session, hidden from people.
[[rule]]
toolName = ["write_file", "replace"]
argsPattern = '{_OWN_MEMORY}'
decision = "deny"
priority = 600
denyMessage = "Lasting memory is kept in {MEMORY}; begin at its index.md. This file is not used."
""".lstrip()

# Of the rank of a person's own policies and of the lowest priority there: theirs go before it.
HEADLESS_POLICY = f"{ETC}/pannier/headless.toml"
HEADLESS_RULES = """
# Without a person to ask, the client denies these. The container is what limits them here.
[[rule]]
toolName = ["write_file", "replace", "run_shell_command"]
interactive = false
allowRedirection = true
decision = "allow"
priority = 1
modes = ["default", "autoEdit", "yolo"]
""".lstrip()


def endpoint(url: str) -> Endpoint:
    """A model by name: choosing one itself, the client asks a model first, for 90 s if need be."""
    return Endpoint(
        environment={
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "none",
            "GEMINI_MODEL": "gemini-2.5-flash",
        }
    )


def headless(prompt: str) -> tuple[str, ...]:
    return ("gemini", "-p", prompt)


def again(prompt: str, session: str) -> tuple[str, ...]:
    return ("gemini", "--resume", session, "-p", prompt)


def startup(shell: Shell) -> None:
    shell.observe()
    shell.run(*headless("Say hello."))


def resume(shell: Shell) -> None:
    shell.run(*headless("Say hello."))
    shell.observe()
    shell.run("gemini", "--resume", "latest", "-p", "Say goodbye.")


def clear(shell: Shell) -> None:
    """There is no such thing without a terminal.

    The prompts are no other event's: beside the first one, the client has an older session's
    prompts summarized.
    """
    first, second = "Say it is day.", "Say it is night."
    terminal = shell.terminal("gemini")
    _submit(terminal, first)
    shell.wait_for_request(first)
    shell.observe()
    _submit(terminal, "/clear", shown="Clear the screen and start a new session")
    _wait_until_gone(terminal, first)
    _submit(terminal, second)
    shell.wait_for_request(second)


def compact(shell: Shell) -> None:
    """Of a long conversation the client keeps the end; the model's summary stands for the rest."""
    first, second = "Say it is warm.", "Say it is cold."
    terminal = shell.terminal("gemini")
    for number in range(4):
        _submit(terminal, f"{first} {number}")
        shell.wait_for_request(f"{first} {number}")
    shell.observe()
    _submit(terminal, "/compress", shown="Compresses the context")
    terminal.wait_for("compressed from")
    _submit(terminal, second)
    shell.wait_for_request(second)


TYPING = 0.2
"""Seconds. A return less than 30 ms after a character is taken for part of a pasted text."""


def _submit(terminal: Terminal, line: str, *, shown: str = "") -> None:
    """What is typed while the client draws its screen anew is lost, so its prompt is waited for."""
    terminal.wait_for("Type your message", seconds=60)
    terminal.send(line)
    terminal.wait_for(shown or line)
    time.sleep(TYPING)
    terminal.send("\r")


def _wait_until_gone(terminal: Terminal, text: str, *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while text in terminal.screen():
        if time.monotonic() > deadline:
            raise VerifyError(
                f"after {seconds:g} s still on its screen: {text!r}", terminal.screen()
            )
        time.sleep(0.1)


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"


TRACES = Traces(
    files=lambda session: (
        f".gemini/tmp/*/chats/session-*-{session[:8]}.jsonl",
        f".gemini/tmp/*/chats/{session}",
        f".gemini/tmp/*/logs/session-{session}.jsonl",
        f".gemini/tmp/*/tool-outputs/session-{session}",
        f".gemini/tmp/*/{session}",
    ),
    entries={".gemini/tmp/*/logs.json": "sessionId"},
)
"""What Gemini CLI 0.61 itself removes with a session, and the prompts that it leaves."""


CLIENT = Client(
    name="gemini",
    title="Gemini CLI",
    program=("gemini",),
    keys=("GEMINI_API_KEY",),
    instructions_file="GEMINI.md",
    baked={
        f"{ETC}/settings.json": _json(managed_settings()),
        f"{ETC}/system-defaults.json": _json(default_settings()),
        MEMORY_POLICY: MEMORY_RULES,
        HEADLESS_POLICY: HEADLESS_RULES,
    },
    skeleton={".gemini/GEMINI.md": Link(f"{RUN_ROOT}/instructions/GEMINI.md")},
    endpoint=endpoint,
    headless=headless,
    resume=again,
    events={"startup": startup, "resume": resume, "clear": clear, "compact": compact},
    fresh=frozenset({"startup", "clear", "compact"}),
    decode=decode,
    own_settings=(".gemini/settings.json",),
    notes=(
        "Gemini CLI tells nobody when it compresses a conversation: the hook sees it in the "
        "transcript, and memory comes anew with the prompt after the one that was compressed.",
        "Gemini CLI hands its model what stands for a result in a file as an error: the text "
        "itself says that it is none.",
    ),
    traces=TRACES,
    read=transcript.read,
    context=context,
    compact=lambda session: ("gemini-compact", session),
    too_little="Nothing to compress",
)

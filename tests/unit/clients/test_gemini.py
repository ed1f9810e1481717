"""What pannier knows of Gemini CLI: its settings, its policies, and the program that starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.clients import gemini
from pannier.clients.client import Link, hook_command
from pannier.engine.recipes import data_dir
from pannier.settings import ContextSettings
from pannier_hook.clients import CLIENTS as HOOK
from pannier_hook.clients import USER_PROMPT

MEMORY = "/workspace/agent/memory"
STARTER = data_dir() / "images" / "gemini" / "gemini"


def _baked(name: str) -> str:
    content = gemini.CLIENT.baked[f"/etc/gemini-cli/{name}"]
    assert isinstance(content, str)
    return content


def _rules(name: str) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = tomllib.loads(_baked(name))["rule"]
    return sorted(rules, key=lambda rule: -int(rule["priority"]))


def _decision(tool: str, **arguments: str) -> str:
    """As the client decides: the first rule that matches, by priority; "" when none does."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    members = (f"\0{encode({name: arguments[name]})[1:-1]}\0" for name in sorted(arguments))
    seen = "{" + ",".join(members) + "}"
    for rule in _rules("policies/pannier.toml"):
        names = rule["toolName"] if isinstance(rule["toolName"], list) else [rule["toolName"]]
        if tool in names and re.search(rule["argsPattern"], seen, re.ASCII):
            return str(rule["decision"])
    return ""


def test_hook_entries() -> None:
    """Session start leaves a mark and the prompt injects; ten seconds each, in milliseconds. The
    client's PreCompress, which comes with every model call, starts no process, nor do tools that
    say next to nothing."""
    hooks = json.loads(_baked("settings.json"))["hooks"]
    entries = {event: groups[0]["hooks"][0] for event, groups in hooks.items()}
    assert {event: entry["command"] for event, entry in entries.items()} == {
        "SessionStart": hook_command("session-start", "gemini"),
        "BeforeAgent": hook_command("user-prompt", "gemini"),
        "AfterTool": hook_command("post-tool", "gemini"),
        "AfterAgent": hook_command("stop", "gemini"),
        "SessionEnd": hook_command("session-end", "gemini"),
    }
    assert {entry["timeout"] for entry in entries.values()} == {10_000}
    assert HOOK["gemini"].injects_on == USER_PROMPT
    tools = ("read_file", "write_file", "run_shell_command", "replace", "mcp_web_replace")
    heard = [tool for tool in tools if re.search(hooks["AfterTool"][0]["matcher"], tool)]
    assert heard == ["read_file", "run_shell_command", "mcp_web_replace"]


@pytest.mark.parametrize(
    ("said", "fraction"),
    [
        ({}, 0.7),
        ({"compaction": {"trigger_percent": 90}}, 0.9),
        ({"compaction": {"reserve_tokens": 524_288}}, 0.5),
        ({"window": 104_858}, 0.07),
        ({"compaction": {"enabled": False}}, 0.5),
    ],
)
def test_when_it_compresses(said: dict[str, object], fraction: float) -> None:
    """As a part of the window that the client counts with; its own where it is left to itself."""
    plan = gemini.CLIENT.context(ContextSettings.model_validate(said))
    assert float(plan.environment["PANNIER_GEMINI_COMPRESSION"]) == pytest.approx(fraction, 1e-4)


def test_quiet_unless_told_otherwise() -> None:
    """Telemetry, statistics and updates are off where a person's own settings can turn them on."""
    defaults = json.loads(_baked("system-defaults.json"))
    assert defaults["general"]["enableAutoUpdate"] is False
    assert defaults["privacy"]["usageStatisticsEnabled"] is False
    assert defaults["telemetry"]["enabled"] is False
    managed = json.loads(_baked("settings.json"))
    assert not managed.keys() & {"general", "privacy", "telemetry"}


def test_persons_policies_stay() -> None:
    """The policy for work without a person stands beside a person's own ones and below them."""
    paths = json.loads(_baked("system-defaults.json"))["policyPaths"]
    assert paths == ["/etc/gemini-cli/pannier/headless.toml", "~/.gemini/policies"]
    (rule,) = _rules("pannier/headless.toml")
    assert (rule["interactive"], rule["decision"], rule["priority"]) == (False, "allow", 1)


def test_standing_instructions() -> None:
    """The client's file of instructions leads to the composed one."""
    link = gemini.CLIENT.skeleton[".gemini/GEMINI.md"]
    assert link == Link("/run/pannier/instructions/GEMINI.md")


@pytest.mark.parametrize("tool", ["write_file", "replace"])
@pytest.mark.parametrize(
    ("path", "decision"),
    [
        (f"{MEMORY}/index.md", "allow"),
        (f"{MEMORY}/people/ann..md", "allow"),
        (f"{MEMORY}/projekte/größe (alt).md", "allow"),
        (f"{MEMORY}/../files/a", ""),
        (f"{MEMORY}/a/../../files/a", ""),
        (f"{MEMORY}-other/a", ""),
        ("/workspace/agent/files/workspace/agent/memory/a", ""),
        ("/workspace/agent/files/GEMINI.md", ""),
        ("/home/agent/.gemini/GEMINI.md", "deny"),
        ("/home/agent/.gemini/tmp/files/memory/MEMORY.md", "deny"),
        ("/home/agent/.gemini/tmp/files/plans/a.md", ""),
    ],
)
def test_edits_without_asking(tool: str, path: str, decision: str) -> None:
    """Files of the memory are edited unasked, the client's own memory never, others as ever."""
    assert _decision(tool, file_path=path, content=f"{MEMORY}/") == decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        (f"mkdir -p {MEMORY}/people", "allow"),
        (f"mv {MEMORY}/a.md {MEMORY}/people/a.md", "allow"),
        (f"rm {MEMORY}/a.md", "allow"),
        (f"rm -rf {MEMORY}/old", "allow"),
        (f"rm -rf {MEMORY}/", ""),
        (f"rm -rf {MEMORY}", ""),
        (f"rm {MEMORY}/a.md /workspace/agent/files/b", ""),
        (f"rm {MEMORY}/../files/b", ""),
        (f"rm {MEMORY}/*", ""),
        (f"rm {MEMORY}/$(id)", ""),
        (f"rm {MEMORY}/a.md && id", ""),
        (f"mv {MEMORY}/a -t/tmp", ""),
        (f"mv --target-directory=/tmp {MEMORY}/a", ""),
        (f"rmx {MEMORY}/a", ""),
        (f"cat {MEMORY}/a", ""),
        ("rm a", ""),
    ],
)
def test_tidies_without_asking(command: str, decision: str) -> None:
    """Only commands that clearly touch nothing but the memory run unasked."""
    assert _decision("run_shell_command", command=command, description="rm") == decision


@given(st.text(), st.text())
def test_no_text_pretends_to_be_a_path(path: str, content: str) -> None:
    """What is written cannot make another path look like the memory's."""
    if not path.startswith(f"{MEMORY}/"):
        assert _decision("write_file", file_path=path, content=content) != "allow"


def test_client_takes_the_patterns() -> None:
    """The client refuses long patterns, and groups with a quantifier that are repeated."""
    for rule in _rules("policies/pannier.toml"):
        pattern = rule["argsPattern"]
        assert len(pattern) <= 2048
        assert not re.search(r"\([^)]*[*+?{].*\)[*+?{]", pattern)


@given(st.text(alphabet="ab<>&;lgt \n"))
def test_escapes_are_undone(text: str) -> None:
    """An escaped text and the text itself read the same."""
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    assert gemini.decode(escaped) == gemini.decode(text)


def _start(tmp_path: Path, client: str, **environ: str) -> subprocess.Popen[str]:
    """The starter with a shell script in the place of Node."""
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\n{client}\n")
    node.chmod(0o755)
    starter = tmp_path / "gemini"
    starter.write_text(STARTER.read_text().replace("/opt/node/bin/node", str(node)))
    return subprocess.Popen(
        [sys.executable, "-IS", str(starter), "-p", "hello"],
        env={"PATH": "/usr/bin:/bin", **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_starter_passes_on_words_and_status(tmp_path: Path) -> None:
    """Arguments reach the client, and its status comes back."""
    with _start(tmp_path, 'shift; echo "$@"; exit 41') as started:
        assert started.communicate()[0] == "-p hello\n"
    assert started.returncode == 41


def test_starter_starts_again(tmp_path: Path) -> None:
    """The client is started again as often as it asks for it."""
    mark = tmp_path / "mark"
    script = f"echo run; [ -e {mark} ] && exit 3; touch {mark}; exit 199"
    with _start(tmp_path, script) as started:
        assert started.communicate()[0] == "run\nrun\n"
    assert started.returncode == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_starter_passes_on_signals(tmp_path: Path, number: signal.Signals) -> None:
    """A signal for the container's first process reaches the client, which ends in its own way."""
    name = number.name.removeprefix("SIG")
    script = (
        f"trap 'echo got; exit 5' {name}; echo ready; while :; do read -r x < {tmp_path}/fifo; done"
    )
    os.mkfifo(tmp_path / "fifo")
    with _start(tmp_path, script) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        started.send_signal(number)
        assert started.stdout.read() == "got\n"
    assert started.returncode == 5


def test_starter_tells_of_a_killed_client(tmp_path: Path) -> None:
    """A client that a signal ended counts as 128 and the signal's number, as in a shell."""
    with _start(tmp_path, "kill -KILL $$") as started:
        started.communicate()
    assert started.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("environ", "login"),
    [
        ({}, ""),
        ({"GEMINI_API_KEY": "k"}, "gemini-api-key"),
        ({"GEMINI_API_KEY": ""}, ""),
        ({"GEMINI_API_KEY": "k", "GOOGLE_GENAI_USE_VERTEXAI": "true"}, "vertex-ai"),
        ({"GEMINI_API_KEY": "k", "GOOGLE_GENAI_USE_GCA": "true"}, "oauth-personal"),
        ({"GEMINI_API_KEY": "k", "PANNIER_GEMINI_LOGIN": "mine"}, "mine"),
    ],
)
def test_starter_answers_how_to_log_in(tmp_path: Path, environ: dict[str, str], login: str) -> None:
    """The kind of login follows from the environment, as far as it is plain there."""
    with _start(tmp_path, 'echo "$PANNIER_GEMINI_LOGIN,$SANDBOX"', **environ) as started:
        assert started.communicate()[0] == f"{login},pannier\n"

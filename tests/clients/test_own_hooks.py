"""Gemini CLI beside hooks of a person's own at the same events as ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pannier import clients
from pannier.clients.gemini import headless
from pannier.endpoint.answers import Say
from pannier.engine import Engine
from pannier.threads import intake
from pannier.threads.store import open_store, threads_file
from pannier.verify.measure import markers_in
from pannier.verify.shell import EventShell

from .living import living

CONTEXT = "The build is <red>."
REASON = "Run the linter, too."


def _hook(shell: EventShell, name: str, script: str) -> object:
    write = 'cat >"$HOME/$1" && chmod +x "$HOME/$1"'
    shell.run("sh", "-c", write, "sh", name, stdin=f"#!/bin/sh\n{script}\n")
    return [{"hooks": [{"type": "command", "command": f"/home/agent/{name}", "timeout": 9000}]}]


def _install(shell: EventShell) -> None:
    """One that adds to every prompt, and one that makes the agent go on once."""
    event = {"hookEventName": "BeforeAgent", "additionalContext": CONTEXT}
    says = json.dumps({"hookSpecificOutput": event})
    goes_on = json.dumps({"decision": "block", "reason": REASON})
    hooks = {
        "BeforeAgent": _hook(shell, "says", f"echo '{says}'"),
        "AfterAgent": _hook(shell, "goes-on", f"mkdir ~/once 2>/dev/null && echo '{goes_on}'; :"),
    }
    settings = json.dumps({"hooks": hooks})
    shell.run("sh", "-c", "cat >~/.gemini/settings.json", stdin=settings)


def test_memory_once_beside_hooks_of_ones_own(engine: Engine, folder: Path) -> None:
    """A context has it once: also where another hook adds something to each prompt, or makes a turn
    go on, which stays one turn."""
    group = living(engine, folder / "own-hooks", clients.CLIENTS["gemini"])
    with group.container() as shell:
        _install(shell)
        shell.script(Say("First."), Say("Linted."), Say("Second."))
        shell.run(*headless("one"))
        shell.run("gemini", "--resume", "latest", "-p", "two")
        requests = [request for request, _ in group.model.given]
    assert [r.holds(REASON) for r in requests] == [False, True, True]
    assert all(r.holds("The build is") for r in requests)
    assert [len(markers_in([r])) for r in requests] == [1, 1, 1]

    assert not intake.take_in(group.home, os.environ, seconds=60).problems
    with open_store(threads_file(group.home, os.environ)) as store:
        said = store.messages(store.find_thread("scout").id)
    turns = {m.text: m.turn for m in said if m.turn}
    assert turns["one"] == turns["First."] == turns[REASON] == turns["Linted."] != turns["two"]

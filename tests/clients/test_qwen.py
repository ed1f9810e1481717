"""Qwen Code in its image: what only Qwen Code does, leaves behind or lets a person change."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pannier.clients.qwen import TIDYING
from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.model import Request
from pannier.errors import VerifyError
from pannier.verify.measure import markers_in
from pannier.verify.shell import EventShell

from .conftest import Driven

MEMORY = "/workspace/agent/memory"
SESSION = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def qwen(opened: Callable[[str], Driven]) -> Driven:
    return opened("qwen")


def _own_home(shell: EventShell, name: str, settings: object) -> tuple[str, ...]:
    """A fresh HOME with a person's settings.json. Gives the words that put a command into it."""
    home = f"/home/agent/{name}"
    make = 'mkdir -p "$1/.qwen"; cat >"$1/.qwen/settings.json"'
    shell.run("sh", "-c", make, "sh", home, stdin=json.dumps(settings))
    return ("env", f"HOME={home}")


def _marker(request: Request) -> str:
    """That of the one block which a request holds."""
    [marker] = markers_in([request])
    return marker


def test_first_start_with_a_key_asks_nothing(qwen: Driven) -> None:
    """With key, address and model in the environment a terminal comes straight to its prompt."""
    with qwen.shell("key") as shell:
        terminal = shell.terminal(*_own_home(shell, "key", {}), "qwen")
        terminal.wait_for("Type your message", seconds=60)


def test_settings_of_a_person(qwen: Driven) -> None:
    """Whoever turns hooks off, or the client's own memory on, has the group's memory and no other;
    a hook of their own runs beside ours."""
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "MINE"}}
    hook = {"type": "command", "command": f"echo '{json.dumps(answer)}'"}
    settings = {
        "disableAllHooks": True,
        "memory": {"enableManagedAutoMemory": True},
        "hooks": {"SessionStart": [{"hooks": [hook]}]},
    }
    with qwen.shell("own-settings") as shell:
        shell.run(*_own_home(shell, "settings", settings), "qwen", "-p", "hello")
        [request] = [request for request in shell.requests() if request.tools]
    assert _marker(request)
    assert request.holds("MINE")
    assert not request.holds("# auto memory")


def test_a_turn_that_failed(qwen: Driven) -> None:
    """After a first turn that the model refused, the session has the memory once."""
    with qwen.shell("failed") as shell:
        shell.script(Fail(400))
        with pytest.raises(VerifyError):
            shell.run("qwen", "-p", "first", "--session-id", SESSION)
        shell.run("qwen", "-p", "second", "--resume", SESSION)
        assert [_marker(request) for request in shell.requests() if request.tools]


def test_compaction_by_itself(qwen: Driven) -> None:
    """When Qwen Code compacts unasked, that turn keeps the memory and the next one has it anew."""
    lines = ("--input-format", "stream-json", "--output-format", "stream-json")
    with qwen.shell("auto") as shell:
        dialogue = shell.dialogue("qwen", *lines)
        for text in ("one", "two", "three"):
            if text == "one":
                shell.script(Say("so far", input_tokens=170_000))
            if text == "two":
                shell.script(Say("<analysis>a</analysis><state_snapshot>s</state_snapshot>"))
            message = {"type": "user", "message": {"role": "user", "content": text}}
            dialogue.send(json.dumps(message))
            dialogue.wait_for('"type":"result"')
        asked = {t.text: r for r in shell.requests() for t in r.texts[-1:]}
        summary = [r for r in shell.requests() if r.holds("summarizes a conversation")]
    assert summary
    assert _marker(asked["one"]) == _marker(asked["two"]) != _marker(asked["three"])


def test_tidying_is_judged(qwen: Driven) -> None:
    """The client's judge of commands is told that tidying the memory up is part of the work."""
    old = qwen.group.memory / "old.md"
    with qwen.shell("judge") as shell:
        shell.run("sh", "-c", f"echo old >{MEMORY}/old.md")
        call = Call("run_shell_command", {"command": f"rm {MEMORY}/old.md", "is_background": False})
        shell.script(call, Call("respond_in_schema", {"shouldBlock": False}))
        shell.run("qwen", "-p", "remove what is old")
        assert any(request.holds(TIDYING) for request in shell.requests())
    assert not old.exists()


def test_sub_agents_have_no_memory(qwen: Driven) -> None:
    """A sub-agent gets what the agent tells it, and not the memory."""
    task = {"description": "look", "prompt": "please look", "subagent_type": "general-purpose"}
    with qwen.shell("sub-agent") as shell:
        shell.script(Call("agent", task))
        shell.run("qwen", "-y", "-p", "use an agent")
        asked = [r for r in shell.requests() if any(t.text == "please look" for t in r.texts)]
    assert asked
    assert not markers_in(asked)

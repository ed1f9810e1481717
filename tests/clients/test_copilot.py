"""Copilot CLI in its image: what only Copilot does, leaves behind or lets a person change."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable

import pytest

from pannier.clients.copilot import TYPING
from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.model import Request
from pannier.errors import VerifyError
from pannier.verify.measure import markers_in
from pannier.verify.shell import EventShell

from .conftest import Driven

MEMORY = "/workspace/agent/memory"


@pytest.fixture
def copilot(opened: Callable[[str], Driven]) -> Driven:
    return opened("copilot")


def _marker(request: Request) -> str:
    """That of the one block which a request holds."""
    [marker] = markers_in([request])
    return marker


def _own_home(shell: EventShell, name: str, file: str, data: object) -> tuple[str, ...]:
    """A fresh HOME with one file in Copilot's state. Gives the words that put a command into it."""
    home = f"/home/agent/{name}"
    make = 'mkdir -p "$(dirname "$1")"; cat >"$1"'
    shell.run("sh", "-c", make, "sh", f"{home}/.copilot/{file}", stdin=json.dumps(data))
    return ("env", f"HOME={home}")


def test_memory_does_not_depend_on_a_setting(copilot: Driven) -> None:
    """Whoever turns hooks off has the memory all the same."""
    with copilot.shell("pinned") as shell:
        own = _own_home(shell, "pinned", "settings.json", {"disableAllHooks": True})
        shell.run(*own, "copilot", "-p", "hello")
        assert [_marker(request) for request in shell.requests()]


def test_hook_of_a_person(copilot: Driven) -> None:
    """Copilot keeps the last hook's text: one of a person takes the memory's place, and is told
    of."""
    answer = json.dumps({"additionalContext": "MINE"})
    hook = {"type": "command", "bash": f"echo '{answer}'"}
    hooks = {"version": 1, "hooks": {"userPromptSubmitted": [hook]}}
    session = str(uuid.uuid4())
    with copilot.shell("own-hook") as shell:
        own = _own_home(shell, "hook", "hooks/mine.json", hooks)
        shell.run(*own, "copilot", "-p", "one", "--session-id", session)
        shell.run(*own, "copilot", "-p", "two", "--resume", session)
        assert all(request.holds("MINE") for request in shell.requests())
        reports = shell.run("sh", "-c", "cat /run/pannier/spool/new/*").stdout
        shell.run("sh", "-c", "rm /run/pannier/spool/new/*")
    assert "another hook" in reports


def test_a_turn_that_failed_keeps_the_memory(copilot: Driven) -> None:
    """A first turn that the model refused leaves the memory in the history: it comes once."""
    session = str(uuid.uuid4())
    with copilot.shell("failed") as shell:
        shell.script(Fail(400))
        with pytest.raises(VerifyError):
            shell.run("copilot", "-p", "first", "--session-id", session)
        shell.run("copilot", "-p", "second", "--resume", session)
        refused, second = (_marker(request) for request in shell.requests())
    assert refused == second


def test_compaction_by_itself(copilot: Driven) -> None:
    """When Copilot compacts unasked, the next message brings the memory again."""
    with copilot.shell("auto") as shell:
        terminal = shell.terminal("copilot")
        terminal.wait_for("/ commands", seconds=60)
        for text, answer in (
            ("Say one.", Say("First.", input_tokens=125_000)),
            ("Say two.", Say("So far.")),
            ("Say three.", Say("Third.")),
        ):
            shell.script(answer)
            terminal.send(text)
            terminal.wait_for(text)
            time.sleep(TYPING)
            terminal.send("\r")
            shell.wait_for_request(text)
            if text == "Say two.":
                terminal.wait_for("Compaction completed")
            elif text == "Say one.":
                terminal.wait_for("● First.")
        last = shell.requests()[-1]
        first = shell.requests()[0]
    assert _marker(first) != _marker(last)


def test_only_the_memory_is_changed_unasked(copilot: Driven) -> None:
    """A command that reaches further is refused without a person, and runs when all is allowed."""
    command = {"command": f"rm {MEMORY}/note.md note.md", "description": "-"}
    with copilot.shell("further") as shell:
        for words, left in (((), 2), (("--yolo",), 0)):
            shell.run("sh", "-c", f"touch {MEMORY}/note.md note.md")
            shell.script(Call("bash", command))
            shell.run("copilot", "-p", "tidy up", *words)
            listed = shell.run("sh", "-c", f"ls {MEMORY} .").stdout
            assert listed.split().count("note.md") == left


def test_memory_is_read_unasked(copilot: Driven) -> None:
    """The file tools read the memory, though it lies beside the working directory."""
    with copilot.shell("read") as shell:
        shell.script(Call("view", {"path": f"{MEMORY}/mug.md"}))
        shell.run("copilot", "-p", "which colour?")
        assert any(request.holds("The mug is") for request in shell.requests())


def test_sub_agents_have_no_memory(copilot: Driven) -> None:
    """A sub-agent gets what the agent tells it, and not the memory."""
    task = {"description": "look", "prompt": "please look", "agent_type": "explore", "name": "a"}
    with copilot.shell("sub-agent") as shell:
        shell.script(Call("task", task))
        shell.run("copilot", "-p", "use an agent")
        asked = [r for r in shell.requests() if "\n\nplease look" in r.texts[-1].text]
    assert asked
    assert not markers_in(asked)

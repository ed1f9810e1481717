"""OpenCode in its image: what only OpenCode asks, leaves behind or lets a person change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pannier.clients.opencode import MODEL, PROVIDER, TURN_ENDED
from pannier.endpoint.answers import Call, Say
from pannier.endpoint.model import Request
from pannier.verify.container import PORT
from pannier.verify.measure import markers_in
from pannier.verify.shell import EventShell

from .conftest import Driven

MODEL_ENDPOINT = {"provider": {PROVIDER: {"options": {"baseURL": f"http://127.0.0.1:{PORT}/v1"}}}}
WITHOUT_SETTINGS = ("env", "-u", "OPENCODE_CONFIG_CONTENT")


@pytest.fixture
def opencode(opened: Callable[[str], Driven]) -> Driven:
    return opened("opencode")


def _own_home(shell: EventShell, name: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """A fresh HOME with these files. Gives the words that put a command into it."""
    home = f"/home/agent/{name}"
    shell.run("cp", "-a", "/usr/share/pannier/skel", home)
    for path, text in files.items():
        write = 'mkdir -p "${1%/*}"; printf %s "$2" >"$1"'
        shell.run("sh", "-c", write, "sh", f"{home}/{path}", text)
    return (*WITHOUT_SETTINGS, f"HOME={home}")


def _marker(request: Request) -> str:
    """That of the one block which a request holds."""
    [marker] = markers_in([request])
    return marker


def _ask(shell: EventShell, url: str, data: object) -> Any:
    options = ("-fsS", "-H", "Content-Type: application/json", "-d", json.dumps(data))
    return json.loads(shell.run("curl", *options, url).stdout)


def _text(text: str) -> dict[str, object]:
    return {"parts": [{"type": "text", "text": text}]}


def test_first_start_with_a_key_asks_nothing(opencode: Driven) -> None:
    """With a key and nothing else, a terminal comes straight to an answer."""
    with opencode.shell("key") as shell:
        settings = {".config/opencode/opencode.json": json.dumps(MODEL_ENDPOINT)}
        own = _own_home(shell, "key", settings)
        shell.terminal(*own, "ANTHROPIC_API_KEY=made-up", "opencode", "--prompt", "what-now")
        shell.wait_for_request("what-now")


def test_a_login_is_kept(opencode: Driven) -> None:
    """A login lies in HOME and serves the next start, without a key around."""
    login = json.dumps({PROVIDER: {"type": "api", "key": "made-up"}})
    with opencode.shell("login") as shell:
        files = {
            ".config/opencode/opencode.json": json.dumps(MODEL_ENDPOINT),
            ".local/share/opencode/auth.json": login,
        }
        shell.run(*_own_home(shell, "login", files), "opencode", "run", "logged-in")
        shell.wait_for_request("logged-in", seconds=1)


def test_without_login_or_key_it_asks(opencode: Driven) -> None:
    """It asks for a provider, and takes none of its makers' models by itself."""
    with opencode.shell("nobody") as shell:
        own = _own_home(shell, "nobody", {})
        assert shell.run(*own, "opencode", "models").stdout.strip() == ""
        shell.terminal(*own, "opencode").wait_for("Connect a provider", seconds=60)


def test_only_the_agents_own_requests_have_memory(opencode: Driven) -> None:
    """Requests for titles and summaries go without it."""
    asked = [r for requests in opencode.requests.values() for r in requests]
    small = [r for r in asked if not r.tools]
    assert any(r.holds("title") for r in small)
    assert any(r.holds("summary") for r in small)
    assert not markers_in(small)


def test_sub_agents_and_tool_calls(opencode: Driven) -> None:
    """A turn's requests have the memory in the same words; its sub-agent's have none."""
    with opencode.shell("task") as shell:
        task = {"description": "d", "prompt": "count to three", "subagent_type": "general"}
        shell.script(Call("glob", {"pattern": "*"}), Call("task", task))
        shell.run("opencode", "run", "work")
        asked = [r for r in shell.requests() if r.tools]
    [sub] = [r for r in asked if r.texts[-1].text == "count to three"]
    assert not markers_in([sub])
    others = [_marker(r) for r in asked if r is not sub]
    assert len(others) == 3
    assert len(set(others)) == 1


def test_compaction_in_the_middle_of_a_turn(opencode: Driven) -> None:
    """When OpenCode compacts within a turn, the rest of that turn has the memory anew."""
    with opencode.shell("middle") as shell:
        glob = {"pattern": "*"}
        shell.script(Call("glob", glob, input_tokens=5_000_000), Say("so far"), Call("glob", glob))
        shell.run("opencode", "run", "--title", "work", "work")
        first, after, last = (_marker(r) for r in shell.requests() if r.tools)
    assert first != after == last


def test_an_undone_first_prompt(opencode: Driven) -> None:
    """Going back before the first prompt begins a context anew; later ones keep theirs."""
    with opencode.shell("undo") as shell:
        said = shell.dialogue("opencode", "serve").wait_for("listening on")
        found = re.search(r"http://\S+", said)
        assert found is not None
        made = _ask(shell, f"{found[0]}/session", {"title": "undo"})
        session = f"{found[0]}/session/{made['id']}"
        messages = [_ask(shell, f"{session}/message", _text(t)) for t in ("one", "two")]
        for text, undone in (("other two", messages[1]), ("other one", messages[0])):
            _ask(shell, f"{session}/revert", {"messageID": undone["info"]["parentID"]})
            _ask(shell, f"{session}/message", _text(text))
        one, two, other_two, other_one = (_marker(r) for r in shell.requests() if r.tools)
    assert one == two == other_two != other_one


def test_nobody_is_asked_about_paths(opencode: Driven) -> None:
    """Without a person, paths outside of the working directory do not end the turn."""
    with opencode.shell("paths") as shell:
        command = {"command": "cp /etc/hostname /var/tmp/name", "description": "copy"}
        shell.script(Call("bash", command), Call("read", {"filePath": "/var/tmp/name"}))
        shell.run("opencode", "run", "copy")
        assert any(r.texts[-1].where.endswith("(tool result)") for r in shell.requests())
        shell.run("cmp", "/etc/hostname", "/var/tmp/name")
        assert len([r for r in shell.requests() if r.tools]) == 3


def test_a_project_keeps_the_memory(opencode: Driven) -> None:
    """A project's settings add to the image's: the plugin stays, and so do the instructions."""
    (opencode.group.instructions / "AGENTS.md").write_text("Speak like a pirate.\n")
    with opencode.shell("project") as shell:
        theirs = json.dumps({"plugin": [], "instructions": ["RULES.md"]})
        shell.run("sh", "-c", 'printf %s "$1" >opencode.json; echo Tabs. >RULES.md', "sh", theirs)
        try:
            shell.run("opencode", "run", "hello")
        finally:
            shell.run("rm", "opencode.json", "RULES.md")
        [asked] = [r for r in shell.requests() if r.tools]
    assert _marker(asked)
    assert asked.holds("Speak like a pirate.")
    assert asked.holds("Tabs.")


def test_plugins_of_a_person_find_their_library(opencode: Driven) -> None:
    """A person's own plugin is loaded without a network, and its tool is there."""
    own = """
import { tool } from "@opencode-ai/plugin"
const execute = async () => "tea"
const brew = tool({ description: "Brews.", args: { of: tool.schema.string() }, execute })
export default async () => ({ tool: { brew } })
"""
    with opencode.shell("plugin") as shell:
        home = _own_home(shell, "plugin", {".config/opencode/plugin/brew.ts": own})
        settings = shell.run("printenv", "OPENCODE_CONFIG_CONTENT").stdout.strip()
        shell.run(*home, f"OPENCODE_CONFIG_CONTENT={settings}", "opencode", "run", "tea")
        [asked] = [r for r in shell.requests() if r.tools]
    assert "brew" in asked.tools
    assert _marker(asked)


def test_an_unwritable_home(opencode: Driven) -> None:
    """OpenCode does not start without memory in silence: it says what it cannot write."""
    with opencode.shell("unwritable") as shell:
        ended = shell.run("sh", "-c", "HOME=/etc opencode run hello; echo status $?")
        assert "/etc" in ended.stderr
        assert ended.stdout.strip() == "status 1"


def test_a_terminal_compacts(opencode: Driven) -> None:
    """`/compact` in a terminal begins a context anew, as the server's does."""
    with opencode.shell("terminal") as shell:
        terminal = shell.terminal("opencode", "--prompt", "before")
        terminal.wait_for(TURN_ENDED, seconds=60)
        terminal.send("/compact")
        terminal.wait_for("Compact session")
        terminal.send("\r")
        terminal.wait_for("Compaction ·")
        terminal.send("afterwards")
        terminal.wait_for("afterwards")
        terminal.send("\r")
        shell.wait_for_request("afterwards")
        asked = [r for r in shell.requests() if r.tools]
    assert _marker(asked[0]) != _marker(asked[-1])
    assert asked[-1].body["model"] == MODEL


def test_old_results_are_shortened_in_what_is_sent(opencode: Driven) -> None:
    """A large result that the model saw some calls ago gives way to a note, for good: it is the
    same in later requests, in another process, too. What OpenCode stores stays."""
    command = "head -c 45000 /dev/zero | tr '\\0' {}"
    with opencode.shell("prune") as shell:
        shell.script(
            *(Call("bash", {"command": command.format(n), "description": "-"}) for n in range(6))
        )
        said = shell.run("opencode", "run", "--title", "t", "--format", "json", "print").stdout
        session = json.loads(said.splitlines()[0])["sessionID"]
        shell.run("opencode", "run", "--session", session, "again")
        requests = [_results(r) for r in shell.requests() if r.tools]
        stored = shell.run("opencode", "export", session).stdout
    sizes = [[len(text) for text in results] for results in requests]
    assert sizes[4] == [45_000] * 4
    assert max(sizes[5][:2]) < 300
    assert sizes[5][2:] == [45_000] * 3
    assert requests[-1][:2] == requests[5][:2]
    assert all("run the call again" in text for text in requests[5][:2])
    assert "0" * 45_000 in stored


def _results(request: Request) -> list[str]:
    return [text.text for text in request.texts if text.where.endswith("(tool result)")]

"""What happens in a thread: each client is driven through two turns with tool calls, a new
container, a resume, a compaction, and then what can go wrong or sideways.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from pannier.clients import codex, gemini
from pannier.clients.client import Dialogue, Terminal
from pannier.endpoint.answers import Call, Fail, Late, Say
from pannier.errors import VerifyError
from pannier.verify.shell import EventShell

from .habits import HABITS
from .living import Living

ONE = "Please do the first thing."
TWO = "Please do the second thing."
THREE = "Please do the third thing, in a new container."
COMPACTED = "Please go on after the compaction."
FAILING = "Please try what fails."
SLOW = "Please do something slow."
AFTERWARDS = "Please go on after all of that."
ANOTHER_WAY = "Please do it in another way."
FORKED = "Please do something beside it."
DELEGATED = "Please let somebody else count."
CLEARED = "Please begin anew."
PROMPTS = (
    ONE,
    TWO,
    THREE,
    COMPACTED,
    FAILING,
    SLOW,
    AFTERWARDS,
    ANOTHER_WAY,
    FORKED,
    DELEGATED,
    CLEARED,
)
COUNT = "Count the mugs on the shelf."

SUMMARY = "They did two things, and then a third one."
COUNTED = "There are three mugs."

ECHO = "echo the-kettle-is-on"
MEMORY = "/workspace/agent/memory"
Story = Callable[[Living], None]


def _fails(shell: EventShell, *argv: str) -> None:
    try:
        shell.run(*argv)
    except VerifyError:
        return
    raise AssertionError(f"{argv} should have failed")


def claude(living: Living) -> None:
    session = str(uuid.uuid4())
    resume = ("--resume", session)
    living.model.on = {
        FAILING: Fail(400),
        "create a detailed summary": Say(SUMMARY),
        "Async agent launched": Say("Somebody counts."),
        "<task-notification>": Say("Now I know."),
        COUNT: Say(COUNTED),
    }
    with living.container() as shell:
        shell.script(
            Call("Bash", {"command": ECHO, "description": "kettle"}),
            Call("Read", {"file_path": "/workspace/agent/files/missing.txt"}),
            Say("The first thing is done."),
        )
        shell.run("claude", "-p", ONE, "--session-id", session)
        shell.script(Call("Bash", {"command": "false"}), Say("The second thing is done."))
        shell.run("claude", "-p", TWO, *resume)
    with living.container() as shell:
        shell.script(Call("Bash", {"command": ECHO}), Say("The third thing is done."))
        shell.run("claude", "-p", THREE, *resume)
        shell.run("claude", "-p", "/compact", *resume)
        shell.script(Say("It goes on."))
        shell.run("claude", "-p", COMPACTED, *resume)
        _fails(shell, "claude", "-p", FAILING, *resume)
        _interrupted_claude(shell, session)
        at = _last_of_claude(living, session, "It goes on.")
        shell.script(Say("In another way, then."))
        shell.run("claude", "-p", ANOTHER_WAY, *resume, "--resume-session-at", at)
        shell.script(Say("Beside it."))
        shell.run("claude", "-p", FORKED, *resume, "--fork-session")
        task = {"description": "count", "prompt": COUNT, "subagent_type": "general-purpose"}
        shell.script(Call("Agent", task))
        shell.run("claude", "-p", DELEGATED, *resume)
        dialogue = _claude_in_lines(shell, session)
        dialogue.send(_said("/clear"))
        dialogue.wait_for('"type":"result"')
        shell.script(Say("Anew."))
        dialogue.send(_said(CLEARED))
        dialogue.wait_for('"type":"result"')
        dialogue.close()


def _claude_in_lines(shell: EventShell, session: str) -> Dialogue:
    words = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    return shell.dialogue("claude", "-p", *words, "--resume", session)


def _interrupted_claude(shell: EventShell, session: str) -> None:
    dialogue = _claude_in_lines(shell, session)
    shell.script(Late(20, Say("Too late.")))
    asked = len(shell.requests())
    dialogue.send(_said(SLOW))
    _until(lambda: len(shell.requests()) > asked)
    request = {"subtype": "interrupt"}
    dialogue.send(json.dumps({"type": "control_request", "request_id": "1", "request": request}))
    dialogue.wait_for('"type":"result"')
    shell.script(Say("After all of that."))
    dialogue.send(_said(AFTERWARDS))
    dialogue.wait_for('"type":"result"')
    dialogue.close()


def _said(text: str) -> str:
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}})


def _last_of_claude(living: Living, session: str, text: str) -> str:
    [log] = living.state.rglob(f"{session}.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    [found] = [r["uuid"] for r in records if r["type"] == "assistant" and text in json.dumps(r)]
    return str(found)


def codex_(living: Living) -> None:
    living.model.on = {FAILING: Fail(400)}
    with living.container() as shell:
        shell.script(
            Call("exec", f'text(await tools.exec_command({{cmd: "{ECHO}"}}))'),
            Call("exec", 'text(await tools.exec_command({cmd: "false"}))'),
            Say("The first thing is done."),
        )
        said = shell.run("codex", "exec", ONE).output
        found = re.search(r"^session id: (\S+)$", said, re.MULTILINE)
        assert found is not None
        session = found[1]
        shell.script(Call("exec", "throw new Error('no')"), Say("The second thing is done."))
        shell.run("codex", "exec", "resume", session, TWO)
    with living.container() as shell:
        shell.script(
            Call("exec", f'text(await tools.exec_command({{cmd: "{ECHO}"}}))'),
            Say("The third thing is done."),
        )
        shell.run("codex", "exec", "resume", session, THREE)
        _codex_server(shell, session)
        shell.script(Say("Beside it."))
        shell.run("codex", "exec", "fork", session, FORKED)


def _codex_server(shell: EventShell, session: str) -> None:
    server = shell.dialogue("codex", "app-server")
    ask = _Asking(server)
    about = {"name": "pannier", "version": "0"}
    ask("initialize", clientInfo=about, capabilities={"experimentalApi": True})
    server.send(json.dumps({"method": "initialized"}))
    ask("thread/resume", threadId=session)
    shell.script(Say(SUMMARY))
    ask("thread/compact/start", threadId=session)
    ask.turn_ends()
    shell.script(Say("It goes on."))
    ask.say(session, COMPACTED)
    ask.say(session, FAILING)
    shell.script(Late(20, Say("Too late.")))
    asked = len(shell.requests())
    turn = ask.begin(session, SLOW)
    _until(lambda: len(shell.requests()) > asked)
    ask("turn/interrupt", threadId=session, turnId=turn)
    ask.turn_ends()
    shell.script(Say("After all of that."))
    last = ask.say(session, AFTERWARDS)
    ask("thread/revert", threadId=session, beforeTurnId=last)
    shell.script(Say("In another way, then."))
    ask.say(session, ANOTHER_WAY)
    server.close()


class _Asking:
    """Codex's protocol, one request after the other."""

    def __init__(self, server: Dialogue) -> None:
        self._server = server
        self._number = 0

    def __call__(self, method: str, **parameters: object) -> Any:
        self._number += 1
        return codex._ask(self._server, self._number, method, **parameters)

    def begin(self, session: str, text: str) -> str:
        given = [{"type": "text", "text": text}]
        return str(self("turn/start", threadId=session, input=given)["turn"]["id"])

    def say(self, session: str, text: str) -> str:
        turn = self.begin(session, text)
        self.turn_ends()
        return turn

    def turn_ends(self) -> None:
        self._server.wait_for('"method":"turn/completed"')


def gemini_(living: Living) -> None:
    living.model.on = {FAILING: Fail(400), "state_snapshot": Say(SUMMARY)}
    resume = ("gemini", "--resume", "latest", "-p")
    with living.container() as shell:
        shell.script(
            Call("run_shell_command", {"command": ECHO, "description": "kettle"}),
            Call("read_file", {"file_path": "missing.txt"}),
            Say("The first thing is done."),
        )
        shell.run(*gemini.headless(ONE))
        shell.script(
            Call("run_shell_command", {"command": "false", "description": "fail"}),
            Say("The second thing is done."),
        )
        shell.run(*resume, TWO)
    with living.container() as shell:
        shell.script(
            Call("run_shell_command", {"command": ECHO, "description": "kettle"}),
            Say("The third thing is done."),
        )
        shell.run(*resume, THREE)
        _fails(shell, *resume, FAILING)
        _gemini_terminal(shell)


def _gemini_terminal(shell: EventShell) -> None:
    terminal = shell.terminal("gemini", "--resume", "latest")
    _enter(terminal, "/compress", "compressed from", shown="Compresses the context")
    shell.script(Say("It goes on."))
    _enter(terminal, COMPACTED, "It goes on.")
    shell.script(Late(20, Say("Too late.")))
    _enter(terminal, SLOW, "esc to cancel")
    _until(lambda: any(r.holds(SLOW) for r in shell.requests()))
    terminal.send("\x1b")
    terminal.wait_for("Request cancelled")
    shell.script(Say("After all of that."))
    _enter(terminal, AFTERWARDS, "After all of that.")
    _enter(terminal, "/quit", "Agent powering down")


def _enter(terminal: Terminal, line: str, until: str, *, shown: str = "") -> None:
    """Type a line. A return that comes while the client draws a long conversation is lost."""
    gemini._submit(terminal, line, shown=shown)
    for _ in range(10):
        try:
            terminal.wait_for(until, seconds=3)
        except VerifyError:
            terminal.send("\r")
        else:
            return
    raise VerifyError(f"not on its screen: {until!r}", terminal.screen())


def plain(living: Living) -> None:
    """For the clients of whom only events tell: a turn with tool calls, and one that fails."""
    habits = HABITS[living.client.name]
    living.model.on = {FAILING: Fail(400)}
    with living.container() as shell:
        shell.script(
            *habits.create(f"{MEMORY}/tea/tea.md", "No sugar.\n"),
            habits.change(f"{MEMORY}/missing.md", "one", "other")[0],
            Say("The first thing is done."),
        )
        shell.run(*living.client.headless(ONE))
        _fails(shell, *living.client.headless(FAILING))


def _until(done: Callable[[], bool], *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


STORIES: dict[str, Story] = {"claude": claude, "codex": codex_, "gemini": gemini_}
PLAIN_STORIES = dict.fromkeys(("qwen", "copilot", "opencode"), plain)

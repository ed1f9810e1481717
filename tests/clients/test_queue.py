"""Messages of the queue reach each real agent: at the end of its turn, or with its next prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pannier import clients, sending
from pannier.endpoint.answers import Answer, Late, Say
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.sending import Letter
from pannier.threads import inbox
from pannier.threads.queue import Waiting, open_queue, queue_file
from pannier_hook.events import Event, decode

from .living import Listening, Living, living
from .stories import _enter, _until

WORK = "Begin with the work."
"""The prompt of the turn in which a message comes."""


TOLD = ('It failed: "--help"  is\n--no option', "It's mended.")
"""Words that a command line could change on their way."""
ONLY_AT_PROMPTS = {"copilot", "opencode"}
"""Clients that nothing makes go on at the end of a turn."""

FORGETS = "qwen"
"""A resumed session of Qwen Code has nothing of what a turn went on with."""


class Interrupting(Listening):
    """A model during whose first answer something happens."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def next_answer(self, request: Request) -> Answer:
        if self.meanwhile is not None and request.holds(WORK):
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().next_answer(request)


@pytest.mark.parametrize("name", [n for n, client in clients.CLIENTS.items() if client.resume])
def test_a_message_is_told_once(engine: Engine, folder: Path, name: str) -> None:
    """One that comes while the agent works reaches it at the end of its turn, and it goes on with
    it once and stops, or else with its next prompt. One that comes later is told with the next
    prompt. Started with messages as its prompt, the client goes on with its session, in which each
    is there once."""
    group = living(engine, folder / f"queue-{name}", clients.CLIENTS[name])
    model = Interrupting()
    group.model = model
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    at_stop = [] if name in ONLY_AT_PROMPTS else ["It failed."]
    at_prompt = ["It failed."] if name in ONLY_AT_PROMPTS else []
    with group.container() as shell:
        model.meanwhile = lambda: send(group, "It failed.")
        shell.run(*turn(WORK))
        rounds = [told(request) for request in requests(model, WORK)]
        assert rounds == [[], *([at_stop] if at_stop else [])]
        assert len(waiting(group)) == len(at_prompt)

        send(group, "It is mended.")
        shell.run(*turn("What is new?"))
        [asked] = requests(model, "What is new?")
        assert told(asked) == [*at_prompt, "It is mended."]
        assert waiting(group) == []

        with open_queue(queue_file(group.home, {})) as queue:
            rows = [queue.put("scout", text, sender="ci", thread="other") for text in TOLD]
        shell.run(*resume(inbox.prompt_of(rows), session_of(group, WORK)))
        *_, asked = requests(model, WORK)
        assert told(asked) == [*([] if name == FORGETS else at_stop), *TOLD]


def test_a_cancelled_turn_takes_no_message(engine: Engine, folder: Path) -> None:
    """Gemini CLI asks its hooks after Esc, too: the message waits for the next prompt."""
    group = living(engine, folder / "queue-cancelled", clients.CLIENTS["gemini"])
    with group.container() as shell:
        terminal = shell.terminal("gemini")
        shell.script(Late(60, Say("Too late.")))
        _enter(terminal, WORK, "esc to cancel")
        _until(lambda: any(request.holds(WORK) for request in shell.requests()))
        send(group, "It failed.")
        terminal.send("\x1b")
        terminal.wait_for("Request cancelled")
        _until(lambda: "stop" in [event.kind for event in events(group)])
        assert [row.message.text for row in waiting(group)] == ["It failed."]

        shell.run(*group.client.headless("What is new?"))
        [asked, *_] = requests(group.model, "What is new?")
        assert told(asked) == ["It failed."]
        assert waiting(group) == []


def events(group: Living) -> list[Event]:
    """What the sidecar was told so far."""
    spool = group.home.group("scout").spool / "new"
    return [decode(file.read_bytes()) for file in sorted(spool.iterdir())]


def session_of(group: Living, prompt: str) -> str:
    """The session of this prompt, as the sidecar learns it. A client may have others at work on
    the side, for titles."""
    [session] = {e.session for e in events(group) if prompt in e.details.get("prompt", "")}
    return session


def requests(model: Listening, prompt: str) -> list[Request]:
    """Those of the agent itself: a client asks on the side, too, for titles, without tools."""
    return [request for request in model.requests if request.holds(prompt) and request.tools]


def send(group: Living, text: str) -> None:
    assert not sending.send(group.home, {}, Letter("scout", text, sender="ci")).problem


def waiting(group: Living) -> list[Waiting]:
    """What the queue still holds, once it has seen what the hook did."""
    with open_queue(queue_file(group.home, {})) as queue:
        inbox.settle(queue, group.home.group("scout"))
        return queue.waiting()


def told(request: Request) -> list[str]:
    """The messages that a request holds, in its words, each with its sender."""
    found = []
    for text in request.texts:
        for part in text.text.split("-----BEGIN PANNIER MESSAGE ")[1:]:
            id, _, block = part.partition("-----\n")
            block = block.partition(f"\n-----END PANNIER MESSAGE {id}-----")[0]
            assert f"[{id}] from: ci" in block
            found.append("\n".join(x for x in block.split("\n") if not x.startswith(f"[{id}]")))
    return found

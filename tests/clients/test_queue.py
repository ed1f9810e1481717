"""Messages of the queue reach each real agent: at the end of its turn, or with its next prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pannier import clients, sending
from pannier.endpoint.answers import Answer
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.sending import Letter
from pannier.threads import inbox
from pannier.threads.queue import Waiting, open_queue, queue_file
from pannier_hook.events import Event, decode

from .living import Listening, Living, living

WORK = "Begin with the work."
"""The prompt of the turn in which a message comes."""


TOLD = ('It failed: "--help"  is\n--no option', "It's mended.")
"""Words that a command line could change on their way."""
ONLY_AT_PROMPTS = {"copilot", "opencode"}
"""Clients that nothing makes go on at the end of a turn."""


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


@pytest.mark.parametrize("name", [n for n, client in clients.CLIENTS.items() if client.events])
def test_a_message_is_told_once(engine: Engine, folder: Path, name: str) -> None:
    """One that comes while the agent works reaches it at the end of its turn, and it goes on with
    it once and stops, or else with its next prompt; one that comes later is told with the next
    prompt; none is told again."""
    group = living(engine, folder / f"queue-{name}", clients.CLIENTS[name])
    model = Interrupting()
    group.model = model
    turn = group.client.headless
    goes_on = name not in ONLY_AT_PROMPTS
    with group.container() as shell:
        model.meanwhile = lambda: send(group, "It failed.")
        shell.run(*turn(WORK))
        asked = requests(model, WORK)
        assert [told(request) for request in asked] == ([[], ["It failed."]] if goes_on else [[]])
        assert len(waiting(group)) == (0 if goes_on else 1)

        send(group, "It is mended.")
        shell.run(*turn("What is new?"))
        [asked_next] = requests(model, "What is new?")
        later = [] if goes_on else ["It failed."]
        assert told(asked_next) == [*later, "It is mended."]
        assert waiting(group) == []

        shell.run(*turn("And now?"))
        assert [told(request) for request in requests(model, "And now?")] == [[]]


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


@pytest.mark.parametrize("name", [n for n, client in clients.CLIENTS.items() if client.resume])
def test_a_session_goes_on_with_messages(engine: Engine, folder: Path, name: str) -> None:
    """Started with messages as its prompt, the client goes on with the session of that id."""
    group = living(engine, folder / f"goes-on-{name}", clients.CLIENTS[name])
    assert group.client.resume is not None
    with open_queue(queue_file(group.home, {})) as queue:
        rows = [queue.put("scout", text, sender="ci") for text in TOLD]
    with group.container() as shell:
        shell.run(*group.client.headless("Remember the number 7123."))
        # As the sidecar learns it. A client may have others at work on the side, for titles.
        [session] = {
            event.session for event in events_of(group) if "7123" in event.details.get("prompt", "")
        }
        shell.run(*group.client.resume(inbox.prompt_of(rows), session))
        asked = [request for request in group.model.requests if TOLD[0] in told(request)]
    assert [told(request) for request in asked] == [list(TOLD)]
    assert asked[0].holds("7123")


def events_of(group: Living) -> list[Event]:
    spool = group.home.group("scout").spool / "new"
    return [decode(file.read_bytes()) for file in sorted(spool.iterdir())]

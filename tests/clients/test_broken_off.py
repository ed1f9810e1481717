"""A real client that is killed in the middle of its turn: what it said is kept, once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import Answer, Late, Say
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.errors import VerifyError
from pannier.threads import intake
from pannier.threads.rows import MessageRow, TurnRow
from pannier.threads.store import open_store, threads_file
from pannier.verify.shell import EventShell
from pannier_hook.clients import CLIENTS

from .habits import HABITS
from .living import Listening, Living, living

KILLED = [row.name for row in CLIENTS.values() if row.transcript]
"""The clients whose transcripts are read."""
PRECIOUS = "Please write down the precious words."
FRESH = "Please begin anew."
AGAIN = "Please go on with that."
NOTE = "files/note.txt"

KILL = """
import os, sys
words = sys.argv[1][::-1].encode()
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        if words in open(f"/proc/{name}/cmdline", "rb").read():
            os.kill(int(name), 9)
    except OSError:
        pass
"""
"""Kills who has these words on the command line; they come backwards, so that it is not this."""


class Deadly(Listening):
    """A model whose late answer the client does not live to see."""

    def __init__(self) -> None:
        super().__init__()
        self.kill: Callable[[], object] = lambda: None

    def next_answer(self, request: Request) -> Answer:
        answer = super().next_answer(request)
        if isinstance(answer, Late):
            threading.Thread(target=self.kill).start()
        return answer


@pytest.mark.parametrize("name", KILLED)
def test_a_killed_turn(engine: Engine, folder: Path, name: str) -> None:
    """The next session brings the prompt, the call and its result of a turn that was killed, which
    counts as interrupted. The killed session goes on when it is resumed, and nothing doubles."""
    group = living(engine, folder / f"killed-{name}", clients.get(name))
    group.model = model = Deadly()
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    with group.container() as shell:
        model.kill = lambda: shell.run("python3", "-IS", "-c", KILL, PRECIOUS[::-1])
        [call] = HABITS[name].create(f"/workspace/agent/{NOTE}", "precious\n")
        shell.script(call, Late(2, Say("Never heard.")))
        with suppress(VerifyError):
            shell.run(*turn(PRECIOUS))
        shell.script(Say("Anew."))
        shell.run(*turn(FRESH))
        said, turns = _stored(group)
        assert _texts(said) == [PRECIOUS, FRESH, "Anew."]
        done = [m.kind for m in said if m.role in ("agent", "tool") and not m.inner]
        assert done == ["call", "result", "text"]
        assert [(t.outcome, t.reason) for t in turns if t.counts] == [
            ("interrupted", "broken off"),
            ("succeeded", ""),
        ]
        [killed] = {m.session for m in said if m.text == PRECIOUS}
        _go_on(group, shell, resume(AGAIN, _name_of(group, killed)))
        again, turns = _stored(group)
        assert _texts(again) == [PRECIOUS, FRESH, "Anew.", AGAIN, "It goes on."]
        assert again[: len(said)] == said
        # How a turn without an answer counts that a next one follows is each client's own.
        first, *others = [t.outcome for t in turns if t.counts]
        assert first in ("interrupted", "failed")
        assert others == ["succeeded", "succeeded"]
    noted = group.home.group("scout").spool / "sessions"
    assert not [*noted.iterdir()], "a session that ended is not looked for"


@pytest.mark.parametrize("name", KILLED)
def test_a_killed_container(engine: Engine, folder: Path, name: str) -> None:
    """The next container's start brings it, before any session begins."""
    group = living(engine, folder / f"gone-{name}", clients.get(name))
    group.model = model = Deadly()
    gone = threading.Event()
    with group.container() as shell:
        model.kill = gone.set
        shell.script(Late(1, Say("Never heard.")))
        shell.terminal(*group.client.headless(PRECIOUS))
        assert gone.wait(60)
        shell.run("python3", "-IS", "-c", KILL, PRECIOUS[::-1])
    with group.container():
        until = time.monotonic() + 20
        while not (texts := _texts(_stored(group)[0])) and time.monotonic() < until:
            time.sleep(0.05)
    assert texts == [PRECIOUS]


def _go_on(group: Living, shell: EventShell, argv: tuple[str, ...]) -> None:
    shell.script(Say("It goes on."))
    shell.run(*argv)


def _name_of(group: Living, session: int) -> str:
    """The client's own name of a session of the store."""
    with open_store(threads_file(group.home, os.environ)) as store:
        [found] = [s for s in store.sessions(1) if s.id == session]
        return found.session


def _stored(group: Living) -> tuple[tuple[MessageRow, ...], tuple[TurnRow, ...]]:
    """All messages in the order in which they came, and all turns."""
    taken = intake.take_in(group.home, os.environ, seconds=60)
    assert not taken.problems
    assert not taken.rejected
    with open_store(threads_file(group.home, os.environ)) as store:
        return store.messages(1, branch=False), store.turns(1)


def _texts(said: tuple[MessageRow, ...]) -> list[str]:
    return [m.text for m in said if m.role in ("person", "agent") and m.kind == "text"]

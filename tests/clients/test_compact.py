"""The daemon has each real client that can compact an idle thread without a person."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import Fail, Say
from pannier.engine import Engine
from pannier.errors import VerifyError
from pannier.paths import Home
from pannier.serve.daemon import Daemon, RealClock
from pannier.serve.log import Event
from pannier.serve.machine import _World
from pannier.serve.state import new_report, take_place
from pannier.threads.rows import MessageRow
from pannier.threads.store import open_store, threads_file
from pannier.verify.shell import EventShell

from .living import Living, living
from .stories import _until

SUMMARY = "They spoke of kettles."
HOUR = 3600.0
ASKED = "create a detailed summary"
"""Words of the request for a summary."""
LONG = pytest.mark.long
"""Of what is the same with each client, Codex's is for every day: it is quick."""


class MovedClock(RealClock):
    """The machine's time, and `ahead` seconds."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def time(self) -> float:
        return super().time() + self.ahead


class Served:
    """A daemon of which the test makes each round."""

    def __init__(self, home: Home, clock: MovedClock, world: _World) -> None:
        self.clock = clock
        self.said: list[Event] = []
        self._daemon = Daemon(world, clock, self.said.append, new_report("now", 5.0))
        self._home = home

    def after(self, hours: float) -> list[str]:
        """What it says of compaction when so much time has passed."""
        self.clock.ahead += hours * HOUR
        self.said.clear()
        self._daemon.round()
        if "compaction.started" in self.events():
            _until(self._is_over)
        return self.events()

    def events(self) -> list[str]:
        return [one.event for one in self.said if one.event.startswith("compaction")]

    def _is_over(self) -> bool:
        self._daemon.round()
        return self.events()[-1] != "compaction.started"


@contextmanager
def served(home: Home, hours: float = 0.0) -> Iterator[Served]:
    """One that begins so late."""
    clock = MovedClock()
    clock.ahead = hours * HOUR
    with take_place(home) as place:
        world = _World(home, dict(os.environ), clock, place)
        try:
            yield Served(home, clock, world)
        finally:
            world.close()


@pytest.fixture
def group(engine: Engine, folder: Path, request: pytest.FixtureRequest) -> Living:
    client = getattr(request, "param", "claude")
    found = living(engine, folder / request.node.name, clients.CLIENTS[client])
    wish = "context: {compaction: {idle_after: 12h, min_messages: 4}}\n"
    with found.home.group("scout").settings.open("a") as settings:
        settings.write(wish)
    return found


@LONG
def test_an_idle_thread_is_compacted_once(group: Living) -> None:
    """Nothing happens before its time, then the model is asked for a summary, which is in the
    thread and in the next turn, with the memory anew; and not again before something is said."""
    group.model.on = {ASKED: Say(SUMMARY)}
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    with group.container("up") as shell, served(group.home) as daemon:
        shell.run(*turn("The kettle is on."))
        daemon.after(hours=0)
        shell.run(*resume("It boils.", session(group)))
        asked = len(group.model.requests)
        assert daemon.after(hours=11) == []
        assert daemon.after(hours=2) == ["compaction.started", "compaction.done"]
        assert any(r.holds(ASKED) and r.holds("It boils.") for r in group.model.requests[asked:])
        [summary] = [m for m in messages(group) if m.kind == "compaction"]
        assert SUMMARY in summary.text
        asks = [m.text for m in messages(group) if m.role == "person"]
        assert asks == ["The kettle is on.", "It boils."]
        asked = len(group.model.requests)
        assert daemon.after(hours=13) == []
        assert len(group.model.requests) == asked

        shell.run(*resume("Is it still hot?", session(group)))
        last = group.model.requests[-1]
        assert last.holds(SUMMARY)
        assert last.holds("BEGIN PANNIER MEMORY")
        assert not last.holds("It boils.")


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_an_idle_thread_of_codex_s_is_compacted_once(group: Living) -> None:
    """By the protocol of its terminal. What a person said stays in its context word for word."""
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    with group.container("up") as shell, served(group.home) as daemon:
        shell.run(*turn("The kettle is on."))
        daemon.after(hours=0)
        shell.run(*resume("It boils.", session(group)))
        group.model.script(Say(SUMMARY))
        asked = len(group.model.requests)
        assert daemon.after(hours=13) == ["compaction.started", "compaction.done"]
        [request] = group.model.since(asked)
        assert request.body["input"][-1]["type"] == "compaction_trigger"
        assert [m.kind for m in messages(group)].count("compaction") == 1
        assert daemon.after(hours=13) == []

        shell.run(*resume("Is it still hot?", session(group)))
        last = group.model.requests[-1]
        assert SUMMARY in [item.get("encrypted_content") for item in last.body["input"]]
        assert last.holds("BEGIN PANNIER MEMORY")
        assert last.holds("It boils.")


@LONG
@pytest.mark.parametrize("group", ["gemini", "opencode", "qwen", "langchain"], indirect=True)
def test_an_idle_thread_of_others_is_compacted_once(group: Living) -> None:
    """By a command that the client knows, or that we gave it."""
    settings = group.home.group("scout").settings
    small = "window: 20000, compaction: {reserve_tokens: 2000, keep_recent_tokens: 100, "
    settings.write_text(settings.read_text().replace("compaction: {", small))
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    with group.container("up") as shell, served(group.home) as daemon:
        shell.run(*turn("The kettle is on. " * 300))
        daemon.after(hours=0)
        for text in ("It boils. ", "It whistles. ", "It is poured. "):
            shell.run(*resume(text * 300, session(group)))
        said = Say(f"<state_snapshot>{SUMMARY}</state_snapshot>")
        # Gemini CLI has its model look at the summary once more.
        group.model.script(*[said] * (2 if group.client.name == "gemini" else 1))
        assert daemon.after(hours=13) == ["compaction.started", "compaction.done"]
        [summary] = [m for m in messages(group) if m.kind == "compaction"]
        assert SUMMARY in summary.text
        asked = len(group.model.requests)
        assert daemon.after(hours=13) == []
        assert len(group.model.requests) == asked

        shell.run(*resume("Is it still hot?", session(group)))
        last = [r for r in group.model.requests if r.holds("Is it still hot?")][-1]
        assert last.holds(SUMMARY)
        assert last.holds("BEGIN PANNIER MEMORY")
        assert not last.holds("It boils.")


@pytest.mark.parametrize("group", ["langchain"], indirect=True)
def test_too_little_is_no_failure(group: Living) -> None:
    """The agent says so; nobody is warned, and nothing is tried again."""
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    with group.container("up") as shell, served(group.home) as daemon:
        shell.run(*turn("The kettle is on."))
        daemon.after(hours=0)
        shell.run(*resume("It boils.", session(group)))
        assert daemon.after(hours=13) == ["compaction.started", "compaction.needless"]
        assert daemon.after(hours=13) == []


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_codex_that_cannot_compact_says_why(group: Living) -> None:
    """A session that is not there, and a model that refuses: status 1, and the reason."""
    with group.container() as shell:
        _refused(shell, "no rollout", "01a22a72-0000-7000-8000-000000000000")
        shell.run(*group.client.headless("The kettle is on."))
        logs = sorted(group.state.glob(".codex/sessions/*/*/*/rollout-*.jsonl"))
        group.model.on = {"The kettle is on.": Fail(400, "no summary today")}
        _refused(shell, "no summary today", logs[-1].stem[-36:])


def _refused(shell: EventShell, why: str, session: str) -> None:
    with pytest.raises(VerifyError) as refused:
        shell.run("codex-compact", session)
    assert "codex-compact: " in refused.value.hint
    assert why in refused.value.hint


@LONG
def test_a_summary_that_fails_is_tried_three_times(group: Living) -> None:
    """Claude Code ends with status 0 all the same: the store tells. A failure is said with its
    reason, each try comes later, and after the last one the thread is left alone."""
    group.model.on = {ASKED: Fail(400), "ToolSearch is no longer available": Fail(400)}
    turn, resume = group.client.headless, group.client.resume
    assert resume is not None
    with group.container("up") as shell, served(group.home) as daemon:
        shell.run(*turn("The kettle is on."))
        daemon.after(hours=0)
        shell.run(*resume("It boils.", session(group)))
        tried = ["compaction.started", "compaction.failed"]
        assert daemon.after(hours=13) == tried
        assert "API Error: 400" in daemon.said[-1].message
        assert daemon.after(hours=0.1) == []
        assert daemon.after(hours=1) == tried
    with group.container("up"), served(group.home, hours=15) as daemon:
        assert daemon.after(hours=24) == tried
        assert daemon.after(hours=24) == []


def session(group: Living) -> str:
    """The thread's latest one."""
    with open_store(threads_file(group.home, {})) as store:
        return store.sessions(store.find_thread("scout").id)[-1].session


def messages(group: Living) -> tuple[MessageRow, ...]:
    with open_store(threads_file(group.home, {})) as store:
        return store.messages(store.find_thread("scout").id)

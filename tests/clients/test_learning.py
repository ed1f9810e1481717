"""What is said in one thread is known in another, with the real clients: the story of a rule."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pannier import clients, groups
from pannier.endpoint.answers import Say
from pannier.endpoint.model import ScriptedModel
from pannier.endpoint.server import on_loopback
from pannier.engine import Engine
from pannier.errors import VerifyError
from pannier.learned.drawing import draw
from pannier.learned.overview import overviews
from pannier.learning.work.telling import Told
from pannier.serve.daemon import Daemon, RealClock
from pannier.serve.log import Event
from pannier.serve.machine import _World
from pannier.serve.state import new_report, take_place
from pannier.settings import GroupSettings
from pannier.threads.store import open_store, threads_file
from pannier.verify.shell import EventShell
from tests.learner import is_extraction, learning

from .living import Listening, Living, living
from .stories import _until

HOUR = 3_600.0
SAID = "From now on anything over $40k needs my sign-off, whoever the quote is for."
RULE = "Quotes of anything over $40k need sign-off."
"""The lesson, not just as it was said: so it is seen where it is known."""
MEMORY = "/workspace/agent/agent-memory"
SUMMARY = "They spoke of quotes and kettles."
KEY = "LEARNER_KEY"
FILLED = " The kettle is on." * 300
"""Enough that a conversation is worth a summary."""


@dataclass
class Story:
    """A group that learns."""

    group: Living
    learner: ScriptedModel

    @property
    def learned(self) -> Path:
        return self.group.home.group(self.group.folder).learned

    def memory(self) -> str:
        file = self.learned / "MEMORY.md"
        return file.read_text() if file.exists() else ""

    def session(self, thread: str) -> str:
        """The thread's latest one."""
        home, ref = self.group.home, f"{self.group.folder}/{thread}"
        with open_store(threads_file(home, os.environ)) as store:
            return store.sessions(store.find_thread(ref).id)[-1].session

    def turn(self, shell: EventShell, prompt: str, thread: str = "main", *, new: bool) -> None:
        """A person says something in a thread: in a new conversation, or in the one there is."""
        client = self.group.client
        assert client.resume is not None
        argv = client.headless(prompt) if new else client.resume(prompt, self.session(thread))
        shell.run("env", f"PANNIER_THREAD={thread}", *argv)

    def knows(self, prompt: str) -> bool:
        """Whether the model that got this prompt last was told the rule."""
        return [r for r in self.group.model.requests if r.holds(prompt)][-1].holds(RULE)

    def learn(self, hours: float) -> list[Told]:
        """What a worker draws when so much time has passed."""
        told: list[Told] = []
        assert draw(
            self.group.home, dict(os.environ), told.append, now=lambda: time.time() + hours * HOUR
        ).ended
        return told


@pytest.fixture
def story(
    engine: Engine,
    folder: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Story]:
    """The group scout, its model, and a model that learns."""
    monkeypatch.setenv(KEY, "none")
    found = living(engine, folder / request.node.name, clients.CLIENTS[request.param])
    small = "{window: 20000, compaction: {reserve_tokens: 2000, keep_recent_tokens: 100}}"
    with found.home.group("scout").settings.open("a") as settings:
        settings.write(f"context: {small}\n")
    learner = ScriptedModel(learning(lambda said: RULE if SAID in said else ""))
    with on_loopback(learner) as url:
        found.home.settings.write_text(
            f"learning: {{model: 'openai:gpt-5', base_url: '{url}/v1', key_from: {KEY}}}\n"
        )
        yield Story(found, learner)


@contextmanager
def daemon(story: Story) -> Iterator[Callable[[], list[Event]]]:
    """One of which each call makes a round, and gives what it said until then."""
    clock, said = RealClock(), list[Event]()
    with take_place(story.group.home) as place:
        world = _World(story.group.home, dict(os.environ), clock, place)
        serving = Daemon(world, clock, said.append, new_report("now", 5.0))

        def once() -> list[Event]:
            serving.round()
            return said

        try:
            yield once
        finally:
            world.close()


def refused(shell: EventShell, *argv: str) -> bool:
    try:
        shell.run(*argv)
    except VerifyError:
        return True
    return False


@pytest.mark.parametrize("story", ["claude", "langchain"], indirect=True)
def test_a_rule_of_one_thread_is_known_in_another(story: Story) -> None:
    """A person says a rule; after five turns in two threads and six hours it stands in MEMORY.md.
    A new conversation in a third thread gets the note, a running one not until it compacts, another
    group never; and nothing in the container can write there."""
    group = story.group
    group.model.on = {"create a detailed summary": Say(SUMMARY)}
    with group.container("up") as shell, daemon(story) as round_:
        story.turn(shell, SAID, new=True)
        round_()
        story.turn(shell, f"Second turn.{FILLED}", new=False)
        story.turn(shell, f"Third turn.{FILLED}", new=False)
        story.turn(shell, "Fourth turn.", "review", new=True)
        round_()
        [before] = overviews(group.home, os.environ, ["scout"], time.time())
        assert (before.standing.turns, len(story.learner.requests)) == (4, 0)
        assert not any(story.learned.iterdir())

        story.turn(shell, "Fifth turn.", "review", new=False)
        _until(lambda: "learning.done" in [one.event for one in round_()], seconds=120)
        assert [is_extraction(one) for one in story.learner.requests] == [True, True]
        assert not (story.learned / "MEMORY.md").exists()

    assert story.learn(hours=5.9) == []
    [merged] = story.learn(hours=6.1)
    assert merged.work == "consolidate"
    assert f"- {RULE} ^" in story.memory()
    assert len(list((story.learned / "session_summaries").iterdir())) == 2
    asked = len(story.learner.requests)
    assert story.learn(hours=24) == []
    assert len(story.learner.requests) == asked

    with group.container("up") as shell:
        story.turn(shell, "Sixth turn, in a third thread.", "planning", new=True)
        assert story.knows("Sixth turn")
        story.turn(shell, "Seventh turn, where it was said.", new=False)
        assert not story.knows("Seventh turn")
        _compact(story, shell)
        story.turn(shell, "Eighth turn, after the summary.", new=False)
        assert story.knows("Eighth turn")

        assert RULE in shell.run("cat", f"{MEMORY}/MEMORY.md").stdout
        for file in ("MEMORY.md", "summary.md", "session_summaries/own.md"):
            assert refused(shell, "sh", "-c", f"echo mine > {MEMORY}/{file}")
        assert refused(shell, "rm", f"{MEMORY}/MEMORY.md")

    groups.add(group.home, "other", GroupSettings(client=group.client.name))
    other = replace(story, group=replace(group, folder="other", model=Listening()))
    with other.group.container("up") as shell:
        other.turn(shell, "Ninth turn, of another agent.", new=True)
        assert not other.knows("Ninth turn")
        assert shell.run("ls", "-A", MEMORY).stdout.strip() == ""


def _compact(story: Story, shell: EventShell) -> None:
    compact = story.group.client.compact
    assert compact is not None
    if story.group.client.name != "claude":
        shell.script(Say(SUMMARY))
    shell.run("env", "PANNIER_THREAD=main", *compact(story.session("main")))

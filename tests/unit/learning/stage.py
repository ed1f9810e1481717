"""A home in which agents are spoken with, a clock that is moved, and a model that tests script."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pannier.clients.transcript import Message, Reading, TurnBegins, TurnEnds
from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import Asker, Question, Reply
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.work.means import Means
from pannier.learning.work.telling import Told
from pannier.learning.work.worker import work
from pannier.paths import Home
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event

START = 1_790_000_000.0
"""Seconds since 1970."""
HOUR = 3_600.0
Answer = Callable[[Question], Mapping[str, Any]]


@dataclass
class Scripted:
    """A model that answers as a function says, and counts how often it was asked."""

    answer: Answer
    name: str = "scripted"
    window: int = 32_000
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        return Reply(dict(self.answer(question)), 100, 10, "scripted")

    def of(self, answer: type) -> list[Question]:
        """Questions of one kind."""
        return [one for one in self.asked if one.answer is answer]


def numbers(question: Question, who: str) -> list[int]:
    """The messages that somebody said, as the question shows them."""
    return [int(n) for n in re.findall(rf"^\[\w+ m(\d+) {who} ", question.data, re.MULTILINE)]


def shown(question: Question, number: int) -> str:
    """The text of a message, as the question shows it."""
    found = re.search(rf"^\[\w+ m{number} .*\]\n(.*)$", question.data, re.MULTILINE)
    assert found is not None
    return found[1]


def learns(question: Question) -> dict[str, Any]:
    """Each thing that a person said is a lesson; every candidate becomes one."""
    if question.answer is ExtractionAnswer:
        said = numbers(question, "person")
        candidates = [
            {"kind": "preference", "text": shown(question, n), "topic": "rules", "evidence": [n]}
            for n in said
        ]
        return {"summary": "They talk.", "candidates": candidates}
    found = re.findall(r"^\[\w+ (c[0-9a-f]{8}) [^\]]*\] (.*)$", question.data, re.MULTILINE)
    return {"add": [{"section": "Rules", "text": text, "candidates": [c]} for c, text in found]}


@dataclass
class Clock:
    """Time that does not pass by itself; the worker's own waits are real ones."""

    at: float = START
    ending: bool = False
    passed: float = 0.0

    def time(self) -> float:
        return self.at

    def now(self) -> float:
        return self.passed

    def wait(self, seconds: float) -> None:
        self.passed += seconds


class Stage:
    """A home, and what happens in it."""

    def __init__(self, root: Path, *groups: str, answer: Answer = learns) -> None:
        self.home = Home(root)
        root.mkdir(exist_ok=True)
        (root / "pannier.yaml").touch()
        self.settings = {grp: LearningSettings(model="scripted:m") for grp in groups or ("scout",)}
        for grp in self.settings:
            for folder in ("memory", "agent-memory"):
                (root / "groups" / grp / folder).mkdir(parents=True, exist_ok=True)
        self.clock = Clock()
        self.model = Scripted(answer)
        self.turns = 0
        self.url: str | None = None
        """Of PostgreSQL."""

    def asker_for(self, grp: str) -> Asker:
        return self.model

    @property
    def means(self) -> Means:
        return Means(
            self.home,
            {},
            self.clock.time,
            lambda: self.settings,
            self.asker_for,
            lambda grp: 200_000,
        )

    def say(
        self, text: str = "", grp: str = "scout", thread: str = "main", reply: str = "I see."
    ) -> None:
        """A turn: a person says it, the agent answers."""
        self.turns += 1
        self.clock.at += 1
        at, key = int(self.clock.at * 10**9), f"{grp} {thread} {self.turns}"
        event = Event(
            "stop", id=f"{self.turns:016x}", at=at, client="claude", session=f"{grp}-{thread}",
            thread=thread,
        )  # fmt: skip
        turn = (
            TurnBegins(key, at),
            Message(key, "person", "text", text or f"Rule number {self.turns} holds here.", at),
            Message(f"{key} a", "agent", "text", reply, at),
            TurnEnds("succeeded", at),
        )
        with open_store(threads_file(self.home, {}), write=True) as store:
            store.apply(grp, event, Reading(turn))

    def work(self) -> list[Told]:
        """A worker, until nothing is due."""
        told: list[Told] = []
        work(self.means, self.clock, told.append, url=self.url)
        return told

    def learning(self) -> Learning:
        return open_learning(learning_file(self.home, {}), write=True)

    def texts(self, grp: str = "scout") -> list[str]:
        with self.learning() as learning:
            return [one.text for one in learning.candidates(grp)]

    def memory(self, grp: str = "scout") -> str:
        file = self.home.group(grp).learned / "MEMORY.md"
        return file.read_text() if file.exists() else ""

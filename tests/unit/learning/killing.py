"""A worker that is killed again and again while lessons are drawn and merged."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pannier.learning.files.memoryfile import parse
from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import Question
from pannier.learning.store.steps import FILE

from .stage import HOUR, Scripted, Stage, learns, numbers

GROUPS = ("scout", "other")
SECONDS = 60.0


def about(question: Question) -> str:
    """What a question is about, whatever its random mark."""
    if question.answer is ExtractionAnswer:
        return f"messages {numbers(question, 'person')}"
    text = re.sub(r"\b[0-9a-f]{8}(?= )", "", question.data.replace("[", ""))
    return f"candidates {sorted(re.findall(r'c[0-9a-f]{8}', question.data))} {hash(text)}"


class Slaughter:
    """Kills workers, and looks after each what they left."""

    def __init__(self, root: Path, seed: str) -> None:
        self.stage = Stage(root, *GROUPS)
        self.stage.model = Scripted(self.answer)
        self.paid = root / "paid"
        self.paid.touch()
        self.chance = random.Random(seed)
        self.kills = 0
        self.said: dict[str, list[str]] = {grp: [] for grp in GROUPS}
        self.recorded: dict[str, int] = {}
        """What those questions were about whose answers were recorded, and how often each was paid
        by then."""

    def answer(self, question: Question) -> Mapping[str, Any]:
        """Runs in the worker: paid, and known to the test, before it is recorded."""
        with self.paid.open("a") as file:
            file.write(f"{about(question)}\n")
        return {**learns(question), "summary": f"They talk. {about(question)}"}

    def run(self, kills: int) -> None:
        """Rounds of turns, each until all of it is remembered."""
        while self.kills < kills:
            self.speak()
            while not self.live(kills):
                self.look()
            self.look()
        self.end()

    def speak(self) -> None:
        for grp in GROUPS:
            for n in range(6):
                text = f"Rule number {self.stage.turns + 1} holds in {grp}."
                self.stage.say(text, grp=grp, thread=f"t{n % 3}")
                self.said[grp].append(text)

    def live(self, kills: int) -> bool:
        """A worker; it is killed somewhere, as long as there are kills left. Whether it ended by
        itself, and nothing is left to do."""
        deadly = self.kills < kills
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.stage.work()
                self.stage.clock.at += 7 * HOUR
                self.stage.work()
                status = 0
            finally:
                os._exit(status)
        until = time.monotonic() + (self.chance.uniform(0.1, 2.5) if deadly else SECONDS)
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                assert status == 0, "the worker failed"
                return self.is_done()
            time.sleep(0.005)
        assert deadly, "the worker does not end"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.kills += 1
        return False

    def is_done(self) -> bool:
        return all(
            len(self.stage.texts(grp)) == len(said)
            and all(text in self.stage.memory(grp) for text in said)
            for grp, said in self.said.items()
        )

    def look(self) -> None:
        """Whatever was going on: files are whole, and what was recorded was not paid again."""
        paid = Counter(self.paid.read_text().splitlines())
        for what, number in self.recorded.items():
            assert paid[what] == number, f"paid again: {what}"
        for what in self.answers():
            self.recorded.setdefault(what, paid[what])
        for grp in GROUPS:
            texts = [line.text for line in parse(self.stage.memory(grp)).lessons.values()]
            assert len(texts) == len(set(texts)), "a lesson stands there twice"
            assert set(texts) <= set(self.said[grp]), "half a lesson"
            for file in self.stage.home.group(grp).learned.rglob("*.md"):
                assert file.read_text().endswith("\n"), f"{file} is not whole"

    def answers(self) -> list[str]:
        """What those questions were about whose answers are recorded now."""
        file = self.stage.home.state / FILE
        if not file.exists():
            return []
        with sqlite3.connect(file, timeout=10) as db:
            there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'operation_outputs'")
            if not there.fetchone():
                return []
            found = db.execute("SELECT output FROM operation_outputs WHERE output IS NOT NULL")
            replies = [json.loads(output).get("reply") for (output,) in found]
        summaries = [reply["data"]["summary"] for reply in replies if reply]
        return [summary.removeprefix("They talk. ") for summary in summaries]

    def end(self) -> None:
        """Nothing is lost, nothing double, and nothing lies about."""
        for grp, said in self.said.items():
            with self.stage.learning() as learning:
                candidates = learning.candidates(grp)
                lessons = learning.lessons(grp)
                assert learning.staged() == ()
                assert learning.books.tries() == ()
            assert Counter(c.text for c in candidates) == Counter(said)
            assert {c.state for c in candidates} == {"merged"}
            assert Counter(lesson.text for lesson in lessons) == Counter(said)
            memory = parse(self.stage.memory(grp))
            assert {x.id for x in lessons} == set(memory.lessons)
            learned = self.stage.home.group(grp).learned
            there = {file.name for file in learned.iterdir()}
            assert there == {"MEMORY.md", "summary.md", "session_summaries"}
            assert len(list((learned / "session_summaries").iterdir())) == 3

"""What it costs to learn: calls of a model, a daemon with many groups, bytes that change."""

from __future__ import annotations

import json
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threads import Words

from pannier.clients.transcript import Message, Reading, TurnBegins, TurnEnds
from pannier.endpoint.answers import Answer, Fill
from pannier.endpoint.model import Request, ScriptedModel
from pannier.endpoint.server import on_loopback
from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import Question, Reply
from pannier.learning.store import learning_file, open_learning
from pannier.learning.work.consolidating import consolidate
from pannier.learning.work.extracting import extract
from pannier.learning.work.means import Json, Means
from pannier.learning.work.schedule import due
from pannier.learning.work.standing import standings
from pannier.paths import Home
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file
from pannier_hook.estimate import estimate
from pannier_hook.events import Event
from pannier_hook.spool import put

GRP = "scout"
TURNS = 1_000
THREADS = 20
_A_DAY = 50
"""Turns, before the agent is left alone for the night."""
_TAUGHT = 10
"""Every so many turns a person says something that lasts."""
_SAID = re.compile(r"^\[\w+ m(\d+) person [^\]]*\]\n(.*)$", re.MULTILINE)
_CANDIDATE = re.compile(r"^\[\w+ (c[0-9a-f]{8}) [^\]]*\] (.*)$", re.MULTILINE)
_RULE = "Always write rule"


def answer(question: str, *, extraction: bool) -> dict[str, Any]:
    """As a model would: each rule that a person named is a lesson."""
    if extraction:
        candidates = [
            {"kind": "preference", "text": said, "topic": "rules", "evidence": [int(number)]}
            for number, said in _SAID.findall(question)
            if said.startswith(_RULE)
        ]
        return {"summary": "They talk of this and that. " * 20, "candidates": candidates}
    found = _CANDIDATE.findall(question)
    return {"add": [{"section": "Rules", "text": text, "candidates": [c]} for c, text in found]}


@dataclass
class Counting:
    """A model that counts what it is asked."""

    name: str = "bench"
    window: int = 200_000
    calls: int = 0
    tokens: int = 0

    def ask(self, question: Question) -> Reply:
        data = answer(question.data, extraction=question.answer is ExtractionAnswer)
        read, made = estimate(question.instructions + question.data), estimate(json.dumps(data))
        self.calls += 1
        self.tokens += read + made
        return Reply(data, read, made)


@dataclass
class Agent:
    """One group, spoken with; time is moved."""

    home: Home
    extract_after: int = 5
    at: float = 1_790_000_000.0
    model: Counting = field(default_factory=Counting)
    turns: int = 0
    visits: int = 8
    """Turns in a thread, in the mean, before another thread has its turn."""
    thread: str = "t0"
    words: Words = field(default_factory=Words)

    def __post_init__(self) -> None:
        self.home.group(GRP).learned.mkdir(parents=True)
        self.home.settings.touch()

    @property
    def means(self) -> Means:
        settings = LearningSettings(model="bench:m", extract_after=self.extract_after)
        return Means(
            self.home,
            {},
            lambda: self.at,
            lambda: {GRP: settings},
            lambda _grp: self.model,
            lambda _grp: 200_000,
        )

    def say(self, text: str = "") -> None:
        """A turn with a call of a tool."""
        self.turns += 1
        self.at += 60
        at, key = int(self.at * 1e9), str(self.turns)
        if self.words.chance.random() < 1 / self.visits:
            others = {f"t{number}" for number in range(THREADS)} - {self.thread}
            self.thread = self.words.chance.choice(sorted(others))
        rule = f"{_RULE} {self.turns} of {self.words.text()[:60]}."
        said = text or (rule if self.turns % _TAUGHT == 0 else self.words.text())
        turn = (
            TurnBegins(key, at),
            Message(key, "person", "text", said, at),
            Message(f"{key}c", "agent", "call", "{}", at, tool="Bash", call=key),
            Message(f"{key}r", "tool", "result", self.words.text(), at, call=key),
            Message(f"{key}a", "agent", "text", self.words.text(), at),
            TurnEnds("succeeded", at),
        )
        event = Event(
            "stop",
            id=f"{self.turns:016x}",
            at=at,
            client="claude",
            session=self.thread,
            thread=self.thread,
        )
        with open_store(threads_file(self.home, {}), write=True) as store:
            store.apply(GRP, event, Reading(turn))

    def learn(self) -> None:
        """All that is due."""
        works = {"extract": extract, "consolidate": consolidate}
        while (work := self._due()) is not None:
            works[work](self.means, GRP, lambda _name, take: take())

    def _due(self) -> str | None:
        means = self.means
        with means.threads() as store, means.learning() as learning:
            return due(standings(store, learning, means.groups())[GRP], self.at).work


def used(folder: Path, extract_after: int, visits: int) -> Counting:
    """What a thousand turns of twenty threads cost, learned from after so many turns each."""
    agent = Agent(Home(folder), extract_after, visits=visits)
    for turn in range(TURNS):
        agent.say()
        agent.learn()
        if turn % _A_DAY == _A_DAY - 1:
            agent.at += 12 * 3_600
            agent.learn()
    return agent.model


def changed(folder: Path) -> tuple[int, int]:
    """Bytes of MEMORY.md that change when one lesson is added to a hundred; bytes of it all."""
    agent = Agent(Home(folder))
    for number in range(100):
        agent.say(f"{_RULE} {number} in the ledger {agent.words.text()[:60]}.")
        agent.learn()
    agent.at += 7 * 3_600
    agent.learn()
    file = agent.home.group(GRP).learned / "MEMORY.md"
    before = file.read_bytes()
    for number in range(5):
        agent.say(f"{_RULE} 100 in the green ledger." if not number else "Go on.")
    agent.learn()
    agent.at += 7 * 3_600
    agent.learn()
    after = file.read_bytes()
    assert after.count(b"\n- ") == before.count(b"\n- ") + 1 == 101
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    return len(after) - head - tail, len(after)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


# ------------------------------------------------------------------------------------- the daemon


@dataclass(frozen=True)
class Daemon:
    """How one went."""

    cpu: float
    """Share of a processor while nothing happens."""
    memory: int
    """Bytes that are its alone, or shared (PSS)."""
    starts: float
    """Seconds from the end of the fifth turn to the question that is asked about it."""


def daemon(folder: Path, groups: int, active: int, quiet: float) -> Daemon:
    """A daemon with so many groups, all of which have a past; in so many of them there is a fifth
    turn. `quiet`: seconds for which it is watched while nothing happens."""
    asked: dict[str, float] = {}

    def ask(request: Request) -> Answer:
        text = "\n".join(one.text for one in request.texts)
        for grp in re.findall(r"of the group (g\d+)\.", text):
            asked.setdefault(grp, time.monotonic())
        properties = request.form.schema["properties"] if request.form else {}
        return Fill(answer(text, extraction="summary" in properties))

    home = Home(folder)
    with on_loopback(ScriptedModel(ask)) as url:
        _make(home, groups, url)
        with _served(home) as process:
            _settle(process)
            cpu = _cpu(process, quiet)
            memory = _memory(process)
            told = {}
            for number in range(active):
                for turn in range(5):
                    _hand_over(home, f"g{number}", turn)
                told[f"g{number}"] = time.monotonic()
            until = time.monotonic() + 120
            while len(asked) < active:
                if time.monotonic() > until:
                    sys.exit(f"bench: only {len(asked)} of {active} groups were learned from")
                time.sleep(0.02)
    waits = sorted(asked[grp] - told[grp] for grp in told)
    return Daemon(cpu, memory, waits[len(waits) // 2])


def _make(home: Home, groups: int, url: str) -> None:
    pannier = [sys.executable, "-m", "pannier"]
    subprocess.run(
        [*pannier, "init", str(home.root)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    home.settings.write_text(
        f"learning: {{model: 'openai:bench', base_url: '{url}/v1', key_from: BENCH_KEY}}\n"
    )
    subprocess.run(
        [*pannier, "--home", str(home.root), "group", "add", "g0", "--client", "custom"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    template = home.group("g0").settings.read_text()
    for number in range(1, groups):
        paths = home.group(f"g{number}")
        for made in (paths.memory, paths.learned, paths.spool / "new", paths.spool / "tmp"):
            made.mkdir(parents=True)
        paths.settings.write_text(template)
    now = time.time_ns() - 3_600 * 10**9
    with open_store(threads_file(home, {}), write=True) as store, store.transaction():
        for number in range(groups):
            turn = (
                TurnBegins("past", now),
                Message("past", "person", "text", "Good morning.", now),
                Message("pasta", "agent", "text", "Good morning.", now),
                TurnEnds("failed", now),
            )
            event = Event("stop", id="0" * 16, at=now, client="custom", session="s", thread="main")
            store.apply(f"g{number}", event, Reading(turn))
    with open_learning(learning_file(home, {}), write=True):
        pass


def _hand_over(home: Home, grp: str, turn: int) -> None:
    spool = str(home.group(grp).spool)
    text = f"{_RULE} {turn} of the group {grp}."
    for kind, details in (("user-prompt", {"prompt": text}), ("stop", {"last": "I see."})):
        values: Mapping[str, Any] = {"id": secrets.token_hex(8), "at": time.time_ns()}
        event = Event(kind, client="custom", session="s", details=details, **values)
        put(spool, event)


@contextmanager
def _served(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-m", "pannier", "--home", str(home.root), "serve"]
    with (home.root / "log").open("wb") as log:
        process = subprocess.Popen(
            argv, stdout=log, stderr=log, env={**os.environ, "BENCH_KEY": "k"}
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _settle(process: subprocess.Popen[bytes]) -> None:
    """Until its start is over."""
    while _cpu(process, 5.0) > 0.5:
        pass
    time.sleep(5)


def _cpu(process: subprocess.Popen[bytes], seconds: float) -> float:
    before = _ticks(process)
    time.sleep(seconds)
    return (_ticks(process) - before) / os.sysconf("SC_CLK_TCK") / seconds


def _ticks(process: subprocess.Popen[bytes]) -> int:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _memory(process: subprocess.Popen[bytes]) -> int:
    found = re.search(
        r"^Pss:\s+(\d+) kB", Path(f"/proc/{process.pid}/smaps_rollup").read_text(), re.MULTILINE
    )
    return int(found[1]) * 1024 if found else resource.getpagesize()


__all__ = ["Json", "changed", "daemon", "used"]

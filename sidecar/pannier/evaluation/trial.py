"""A trial: conversations are held in a home of their own, and lessons are drawn from them, by the
code that does it everywhere. The clock is moved, nothing is waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pannier.clients.transcript import Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.errors import PannierError
from pannier.evaluation.material import Exchange, Line, Material
from pannier.evaluation.scoring import MEMORY, Outcome
from pannier.learning.files.memoryfile import parse
from pannier.learning.models.asking import Asker, AskError, Question, Reply
from pannier.learning.store import learning_file, open_learning
from pannier.learning.work.consolidating import consolidate
from pannier.learning.work.extracting import extract
from pannier.learning.work.means import Json, Means
from pannier.paths import Home
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event

GROUP = "trial"
_BEGIN = 1_790_000_000.0
"""Seconds since 1970."""
_TURN = 120.0
_IDLE = 7 * 3_600.0
_MOST_ROUNDS = 20
_MOST_TRIES = 3
"""How often a model may answer with what cannot be used, in a row."""

Tell = Callable[[str], None]


@dataclass
class _Counting:
    """A model, and what it was asked."""

    asker: Asker
    questions: list[Question] = field(default_factory=list)
    input: int = 0
    output: int = 0

    @property
    def name(self) -> str:
        return self.asker.name

    @property
    def window(self) -> int:
        return self.asker.window

    def ask(self, question: Question) -> Reply:
        self.questions.append(question)
        reply = self.asker.ask(question)
        self.input += reply.input
        self.output += reply.output
        return reply


def _silent(_line: str) -> None:
    """Nobody looks on."""


class Trial:
    """One group in a home of its own, in an empty folder."""

    def __init__(self, root: Path, asker: Asker, tell: Tell = _silent) -> None:
        self.home = Home(root)
        self.tell = tell
        self.asker = _Counting(asker)
        self.at = _BEGIN
        self.said = 0
        self.dropped: list[str] = []
        settings = LearningSettings(model=asker.name, extract_after=1)
        self.means = Means(
            self.home,
            {},
            lambda: self.at,
            lambda: {GROUP: settings},
            lambda _grp: self.asker,
            lambda _grp: asker.window,
        )
        (root / "pannier.yaml").touch()
        for folder in ("memory", "agent-memory"):
            (root / "groups" / GROUP / folder).mkdir(parents=True)

    def run(self, material: Material) -> Outcome:
        """All phases. Raises PannierError: a model that does not answer."""
        for number, phase in enumerate(material.phases, 1):
            self.tell(f"part {number} of {len(material.phases)}: {len(phase)} exchanges")
            for exchange in phase:
                self.hold(exchange)
            self.learn()
        return self.outcome()

    def hold(self, exchange: Exchange) -> None:
        """It is said, turn by turn."""
        turns: list[list[Line]] = []
        for line in exchange.lines:
            if line.who == "person" or not turns:
                turns.append([])
            turns[-1].append(line)
        for turn in turns:
            self._turn(exchange.thread, turn)

    def learn(self) -> None:
        """Lessons are drawn and merged, as after some hours without a turn."""
        self._step("extract", lambda: extract(self.means, GROUP, _at_once))
        self.at += _IDLE
        for _ in range(_MOST_ROUNDS):
            before = self._waiting()
            if not before:
                return
            self._step("consolidate", lambda: consolidate(self.means, GROUP, _at_once))
            if self._waiting() == before:
                return

    def outcome(self) -> Outcome:
        """What there is now."""
        folder = self.home.group(GROUP).learned
        files = {
            str(path.relative_to(folder)): path.read_text("utf-8")
            for path in sorted(folder.rglob("*.md"))
        }
        with open_learning(learning_file(self.home, {}), write=False) as learning:
            held = tuple(one.text for one in learning.candidates(GROUP, ("held",)))
        memory = parse(files.get(MEMORY, ""))
        return Outcome(
            lessons=tuple(line.text for line in memory.lessons.values()),
            held=held,
            files=files,
            asked=tuple(f"{q.instructions}\n{q.data}" for q in self.asker.questions),
            calls=len(self.asker.questions),
            input=self.asker.input,
            output=self.asker.output,
            dropped=tuple(self.dropped),
        )

    # ----------------------------------------------------------------------------------------------

    def _turn(self, thread: str, lines: list[Line]) -> None:
        self.said += 1
        self.at += _TURN
        at = int(self.at * 10**9)
        key = f"turn {self.said}"
        messages: list[Message] = []
        for number, line in enumerate(lines):
            name = f"{key} {number}"
            if line.who != "tool":
                messages.append(Message(name, line.who, "text", line.text, at))
                continue
            call = Message(f"{name} call", "agent", "call", line.call, at, call=name, tool="shell")
            messages += [call, replace(call, key=name, role="tool", kind="result", text=line.text)]
        event = Event(
            "stop", id=f"{self.said:016x}", at=at, client="claude", session=thread, thread=thread
        )
        told: tuple[Entry, ...] = (
            TurnBegins(messages[0].key, at),
            *messages,
            TurnEnds("succeeded", at),
        )
        with open_store(threads_file(self.home, {}), write=True) as store:
            store.apply(GROUP, event, Reading(told))

    def _step(self, name: str, work: Callable[[], Json]) -> None:
        for attempt in range(_MOST_TRIES):
            self.at += 13 * 3_600 if attempt else 1
            calls = len(self.asker.questions)
            result = work()
            self.tell(f"{name}: {len(self.asker.questions) - calls} calls of the model")
            self.dropped += [f"{text}: {why}" for text, why in result.get("dropped", ())]
            self.dropped += result.get("notes", ())
            trouble = result.get("trouble")
            if trouble is None:
                return
            if trouble["kind"] != "answer":
                raise PannierError(trouble["why"])
            self.tell(f"{name}: {trouble['why']}")
        raise AskError("answer", f"{self.asker.name} gave no answer that can be used")

    def _waiting(self) -> set[tuple[str, str]]:
        with open_learning(learning_file(self.home, {}), write=False) as learning:
            return {(one.id, one.why) for one in learning.candidates(GROUP, ("waiting",))}


def _at_once(_name: str, step: Callable[[], Json]) -> Json:
    return step()

"""What a run would read and send. Asks no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pannier import groups
from pannier.learned.equipping import equipped
from pannier.learning.consolidation.question import question as merging
from pannier.learning.extraction.pieces import plan, rows_of
from pannier.learning.extraction.question import question as reading
from pannier.learning.files.folder import memory_text
from pannier.learning.models.asking import Asker, AskError, Question
from pannier.learning.work.means import Means
from pannier.paths import Home
from pannier_hook.estimate import estimate


@dataclass(frozen=True)
class Part:
    """A thread that would be read."""

    thread: str
    messages: int
    calls: int
    tokens: int
    """Estimated, of all its questions together; the answers come on top."""


@dataclass(frozen=True)
class Preview:
    """Of one group."""

    group: str
    model: str
    """For people; "": there is none."""
    why: str
    """Why there is none."""
    parts: tuple[Part, ...]
    waiting: int
    """Candidates that wait already, and would be merged."""
    merging: int
    """Tokens of the first question about those, estimated; 0: none waits."""

    @property
    def calls(self) -> int:
        """At least: candidates that are found now are merged, too."""
        return sum(part.calls for part in self.parts) + bool(self.parts or self.waiting)

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts) + self.merging

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "group": self.group,
            "model": self.model or None,
            "why": self.why or None,
            "threads": [asdict(part) for part in self.parts],
            "waiting": self.waiting,
            "calls": self.calls,
            "tokens": self.tokens,
        }


def preview(home: Home, environ: Mapping[str, str], folder: str) -> Preview:
    """What a run of the group would read and send. Raises PannierError."""
    groups.get(home, folder)
    made = equipped(home, environ)
    asker, why = _asker(made, folder)
    budget = made.budget(folder, asker)
    with made.threads() as store, made.learning() as learning:
        found: dict[str, Part] = {}
        for piece in plan(store, learning, folder, budget):
            rows = rows_of(store, piece)
            question = reading(rows, piece)
            before = found.get(piece.name, Part(piece.name, 0, 0, 0))
            found[piece.name] = Part(
                piece.name,
                before.messages + len(rows),
                before.calls + (question is not None),
                before.tokens + _tokens(question),
            )
        waiting = learning.candidates(folder, ("waiting",))
        lessons = learning.lessons(folder)
        asked = merging(memory_text(home, folder), lessons, waiting, budget)[0] if waiting else None
    name = asker.name if asker else ""
    return Preview(folder, name, why, tuple(found.values()), len(waiting), _tokens(asked))


def _asker(made: Means, folder: str) -> tuple[Asker | None, str]:
    try:
        return made.asker_for(folder), ""
    except AskError as error:
        return None, error.message


def _tokens(question: Question | None) -> int:
    return estimate(question.instructions) + estimate(question.data) if question else 0

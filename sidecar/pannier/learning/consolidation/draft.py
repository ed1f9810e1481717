"""A new memory while it is decided on: what stands in it, and what became of what. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pannier.learning.consolidation import grounds
from pannier.learning.consolidation.adopting import DELETED, adopt
from pannier.learning.consolidation.grounds import OLDER, WEAKER, Refused
from pannier.learning.files import share, summaryfile
from pannier.learning.files.memoryedits import remove
from pannier.learning.files.memoryfile import FRESH, Memory, digest, parse
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.merge import ONCE_MORE, Change, Merge, Taken
from pannier.shown import brief
from pannier_hook.estimate import estimate

UNMENTIONED = "the model said nothing of it"
NO_ROOM = "there was no room for it"
_NO_LESSON = "there is no such lesson"
_DELETED = 0.8
"""Share of the words of a line, or of a candidate, by which that line says so."""
_FOR_GOOD = (OLDER, WEAKER, DELETED)
"""What another round would change nothing about."""


@dataclass(frozen=True)
class Situation:
    """What a consolidation starts from."""

    memory: str
    """The text of MEMORY.md; "" where there is none."""
    lessons: tuple[Lesson, ...]
    """As they stood when it was written last."""
    past: tuple[Lesson, ...]
    """Those that had left it before."""
    edited: int
    """When the file was changed last, in nanoseconds since 1970."""
    now: float
    """Seconds since 1970."""
    share: int
    """Tokens that the memory may have."""
    deleted: Mapping[str, float] = field(default_factory=dict)
    """When a person deleted which of the past ones, by id, in seconds since 1970."""


@dataclass
class Draft:
    """The memory as it becomes, edit by edit."""

    situation: Situation
    candidates: dict[str, Candidate]
    """Those that were shown, by id."""
    memory: Memory = field(init=False)
    lessons: dict[str, Lesson] = field(init=False)
    """Those that stand in it, by id."""
    deleted: list[tuple[Lesson, int]] = field(init=False)
    """Those whose lines a person deleted, and when."""
    changes: dict[str, Change] = field(init=False)
    """One for each lesson, by id."""
    taken: dict[str, Taken] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """Why, by candidate."""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        s = self.situation
        self.memory = parse(s.memory or FRESH)
        adopted = adopt(self.memory, s.lessons, s.past, s.edited, s.now)
        self.lessons = adopted.lessons
        self.deleted = [(lesson, s.edited) for lesson in adopted.deleted]
        past = (x for x in s.past if x.id in s.deleted and x.id not in self.lessons)
        self.deleted += [(x, int(s.deleted[x.id] * 1e9)) for x in past]
        self.changes = {change.lesson.id: change for change in adopted.changes}
        self.refuse([c for c in self.candidates.values() if self._was_deleted(c)], DELETED)

    def known(self, ids: Iterable[str]) -> list[Candidate]:
        """Those of the candidates that were shown, each once, but for what a person deleted."""
        found = (self.candidates.get(id.strip()) for id in dict.fromkeys(ids))
        return [c for c in found if c is not None and self.refused.get(c.id) != DELETED]

    def _was_deleted(self, candidate: Candidate) -> bool:
        """Whether a person deleted the line that says so after it was said. What the agent or its
        tools say later may be that line, which they read before."""
        if candidate.approved:
            return False
        echoed = grounds.speaker(candidate) in ("agent", "tool")
        return any(
            (echoed or candidate.said <= at)
            and grounds.related(gone.text, [candidate.text], least=_DELETED)
            for gone, at in self.deleted
        )

    def lesson(self, id: str) -> Lesson:
        """Raises Refused for one that does not stand there."""
        lesson = self.lessons.get(id)
        if lesson is None:
            raise Refused(_NO_LESSON)
        return lesson

    def is_taken(self, id: str) -> bool:
        """Whether the id is another lesson's, or was."""
        s = self.situation
        return id in self.memory.text or any(id == x.id for x in (*s.lessons, *s.past))

    def drop(self, lesson: Lesson, why: str, candidates: tuple[str, ...]) -> None:
        """Remove a lesson."""
        self.memory = remove(self.memory, [lesson.id])
        self.record(Change("remove", lesson, candidates=candidates, why=why))

    def record(self, change: Change) -> None:
        """One change for each lesson, whatever was done to it."""
        id = change.lesson.id
        if old := self.changes.get(id):
            candidates = joined(old.candidates, change.candidates)
            what = change.what
            if what in ("revise", "confirm") and old.what in ("add", "revise"):
                what = old.what
            before, why = old.before or change.before, change.why or old.why
            change = Change(what, change.lesson, before, candidates, why)
        self.changes[id] = change
        if change.what in ("remove", "drop"):
            self.lessons.pop(id, None)
        else:
            self.lessons[id] = change.lesson

    def merged(self, found: Sequence[Candidate], lesson: str) -> None:
        """The lesson holds them now; or it is gone for them, if nothing else holds them."""
        for c in found:
            if self.taken.get(c.id, _NOTHING).state != "merged" or lesson in self.lessons:
                self.taken[c.id] = Taken(c.id, "merged", lesson)

    def hold(self, found: Sequence[Candidate], reason: str) -> None:
        """They wait for a person, whatever their evidence, but for those that one approved of."""
        for c in found:
            if not c.approved:
                self.taken.setdefault(c.id, Taken(c.id, "held", why=reason))

    def refuse(self, found: Sequence[Candidate], why: str) -> None:
        """They wait once more, unless something else takes them."""
        for c in found:
            self.refused.setdefault(c.id, why)

    def merge(self) -> Merge:
        """All of it."""
        s = self.situation
        before = self.memory.sections
        self.memory, dropped = share.fit(self.memory, self.lessons, s.share)
        for id in dropped:
            lesson = self.lessons[id]
            self.record(Change("drop", lesson, why=NO_ROOM))
            self.notes.append(f"dropped for want of room: ^{id} {brief(lesson.text, 120)}")
        gone = [name for name in before if name not in self.memory.sections]
        self.notes += [f"dropped with its last lesson: the section {name}" for name in gone]
        if (tokens := estimate(self.memory.text)) > s.share:
            self.notes.append(
                f"MEMORY.md has about {tokens:,} tokens for which {s.share:,} are meant; what is "
                "left in it is a person's"
            )
        text = "" if self.memory.text == FRESH else self.memory.text
        summary = summaryfile.summary(self.memory, self.lessons)
        taken = tuple(self._what_becomes_of(c) for c in self.candidates.values())
        notes = tuple(self.notes)
        return Merge(digest(s.memory), text, summary, tuple(self.changes.values()), taken, notes)

    def _what_becomes_of(self, c: Candidate) -> Taken:
        if found := self.taken.get(c.id):
            return found
        why = self.refused.get(c.id, UNMENTIONED)
        if c.why.startswith(ONCE_MORE) or why in _FOR_GOOD:
            return Taken(c.id, "left", why=why)
        return Taken(c.id, "waiting", why=ONCE_MORE + why)


_NOTHING = Taken("", "left")


def joined(*ids: Iterable[str]) -> tuple[str, ...]:
    """All of them in order, each once."""
    return tuple(dict.fromkeys(id for some in ids for id in some))

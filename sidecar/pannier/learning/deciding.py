"""From a model's answer to a new memory: what of its edits is done. Pure.

Each edit is held to its grounds (`grounds`). What is refused is told, and its candidates wait for
one more round: a careless answer loses no lesson and makes up none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from pannier import redaction
from pannier.errors import PannierError
from pannier.learning import grounds, index, share
from pannier.learning.adopting import DELETED, adopt
from pannier.learning.answers import Add, Confirm, ConsolidationAnswer, Remove, Revise
from pannier.learning.asking import AskError, Reply
from pannier.learning.grounds import OLDER, UNRELATED, UNSAID, WEAKER, Refused
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.memoryedits import add, remove, revise
from pannier.learning.memoryfile import FRESH, Memory, digest, parse, plain, text_of
from pannier.learning.merge import ONCE_MORE, Change, Merge, Taken
from pannier.learning.naming import lesson_id, section_name
from pannier.shown import brief
from pannier_hook.estimate import estimate

UNMENTIONED = "the model said nothing of it"
NO_ROOM = "there was no room for it"
DISPROVED = "a later conversation disproved it"
_UNKNOWN = "it names no candidate that was shown"
_NO_LESSON = "there is no such lesson"
_TWICE = "it was changed already"
_A_PERSONS = "a person wrote it"
_NOT_HELD = "the other lesson does not hold it"
_TOO_MUCH = "one candidate does not disprove so many lessons"
_FOR_GOOD = (OLDER, WEAKER, DELETED)
"""What another round would change nothing about."""
_MOST_REMOVED = 3
"""Lessons that one candidate may disprove."""
_REASON = 200
"""Code points of a model's reason for leaving a candidate."""

_Edit = Add | Revise | Confirm | Remove


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


def decide(situation: Situation, shown: Sequence[Candidate], reply: Reply) -> Merge:
    """What becomes of the memory, and of the candidates that the model was shown.

    The same answer gives the same. Raises AskError for an answer that does not fit the schema.
    """
    try:
        answer = ConsolidationAnswer.model_validate(reply.data)
    except ValidationError as error:
        raise AskError("answer", f"the answer does not fit: {error.error_count()} errors") from None
    work = _Work(situation, {c.id: replace(c, text=_line(c.text)) for c in shown})
    work.take(answer)
    return work.merge()


def refresh(situation: Situation) -> Merge:
    """What becomes of the memory without a model: a person's edits are taken up, and the index is
    made anew."""
    return _Work(situation, {}).merge()


@dataclass
class _Work:
    """One consolidation while it is decided."""

    situation: Situation
    candidates: dict[str, Candidate]
    memory: Memory = field(init=False)
    lessons: dict[str, Lesson] = field(init=False)
    deleted: tuple[Lesson, ...] = field(init=False)
    changes: dict[str, Change] = field(init=False)
    absorbed: dict[str, list[Lesson]] = field(default_factory=dict)
    """Lessons that go, by the one that is to hold them."""
    revised: set[str] = field(default_factory=set)
    taken: dict[str, Taken] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """Why, by candidate."""
    removals: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        s = self.situation
        self.memory = parse(s.memory or FRESH)
        adopted = adopt(self.memory, s.lessons, s.past, s.edited, s.now)
        self.lessons = adopted.lessons
        self.deleted = adopted.deleted
        self.changes = {change.lesson.id: change for change in adopted.changes}

    def take(self, answer: ConsolidationAnswer) -> None:
        """Edit by edit. Additions last: by then it is known what stands there already."""
        for gone in answer.remove:
            if gone.into and (lesson := self.lessons.get(_id(gone.lesson))):
                self.absorbed.setdefault(_id(gone.into), []).append(lesson)
        edits: list[_Edit] = [*answer.revise, *answer.confirm, *answer.remove, *answer.add]
        for edit in edits:
            self._try(edit)
        for left in answer.leave:
            found = self._known([left.candidate])
            if found and found[0].id not in self.taken and not found[0].approved:
                why = brief(redaction.mask(left.why), _REASON)
                self.taken[found[0].id] = Taken(found[0].id, "left", why=why)
        # A person let these pass: they are taken up, whatever the model thought of them.
        for c in self.candidates.values():
            if c.approved and c.id not in self.taken:
                self._try(Add(section=c.topic, text=c.text, candidates=[c.id]))

    def _try(self, edit: _Edit) -> None:
        found = self._known(edit.candidates)
        try:
            match edit:
                case Revise():
                    self._revise(edit, found)
                case Confirm():
                    self._confirm(self._lesson(edit.lesson), found)
                case Remove():
                    self._remove(edit, found)
                case Add():
                    self._add(edit, found)
        except (Refused, PannierError) as why:
            about = "" if isinstance(edit, Add) else f" ^{_id(edit.lesson)}"
            self.notes.append(f"not done: {type(edit).__name__.lower()}{about}: {why}")
            self._refuse(found, str(why))

    # ----------------------------------------------------------------------------------- the edits

    def _revise(self, edit: Revise, found: Sequence[Candidate]) -> None:
        lesson, text = self._lesson(edit.lesson), _text(edit.text)
        also = self.absorbed.get(lesson.id, [])
        if lesson.id in self.revised:
            raise Refused(_TWICE)
        if found and grounds.same(text, lesson.text):
            self._confirm(lesson, found)
            return
        why = grounds.objection(lesson, found, text) if found else _shortened(lesson, text)
        if why == UNRELATED:
            self._add(Add(section=lesson.section, text=text, candidates=edit.candidates), found)
            return
        if why:
            raise Refused(why)
        rests_on: list[Lesson | Candidate] = [lesson, *found, *also]
        source = grounds.revised_source(lesson, text, rests_on)
        if reason := grounds.widening(text, rests_on):
            self._hold(found, reason)
            return
        new = replace(
            lesson,
            text=text,
            source=source,
            kind=grounds.revised_kind(lesson, found, source),
            said=max(lesson.said, grounds.said_of(found, source)),
            changed=self.situation.now,
            confirmed=self.situation.now if found else lesson.confirmed,
            by="pannier",
            candidates=_joined(lesson.candidates, *(x.candidates for x in also), _ids(found)),
        )
        self.memory = revise(self.memory, lesson.id, text_of(new))
        self.revised.add(lesson.id)
        self._record(Change("revise", new, lesson.text, _ids(found)))
        self._merged(found, lesson.id)

    def _confirm(self, lesson: Lesson, found: Sequence[Candidate]) -> None:
        if not found:
            raise Refused(_UNKNOWN)
        same = [c for c in found if grounds.repeats(lesson, c)]
        self._refuse([c for c in found if c not in same], UNRELATED)
        if not same:
            raise Refused(UNRELATED)
        # What the agent or its tools say again may be the memory itself, which it read.
        heard = [c for c in same if grounds.speaker(c) in ("person", "message")]
        new = replace(
            grounds.vouched_for(lesson, heard),
            confirmed=self.situation.now if heard else lesson.confirmed,
            confirmations=lesson.confirmations + len(heard),
            said=max([lesson.said, *(c.said for c in heard)]),
            candidates=_joined(lesson.candidates, _ids(same)),
        )
        if text_of(new) != text_of(lesson):
            self.memory = revise(self.memory, lesson.id, text_of(new))
        self._record(Change("confirm", new, lesson.text, _ids(same)))
        self._merged(same, lesson.id)

    def _remove(self, edit: Remove, found: Sequence[Candidate]) -> None:
        lesson = self._lesson(edit.lesson)
        if edit.into:
            self._join(lesson, self._lesson(edit.into), found)
            return
        if not found:
            raise Refused(_UNKNOWN)
        if why := grounds.objection(lesson, found):
            raise Refused(why)
        if all(self.removals.get(c.id, 0) >= _MOST_REMOVED for c in found):
            raise Refused(_TOO_MUCH)
        for c in found:
            self.removals[c.id] = self.removals.get(c.id, 0) + 1
        self._drop(lesson, DISPROVED, _ids(found))
        self._merged(found, lesson.id)

    def _join(self, lesson: Lesson, other: Lesson, found: Sequence[Candidate]) -> None:
        """Another lesson holds what this one says."""
        if lesson.id == other.id:
            raise Refused(_NO_LESSON)
        if lesson.by == "person":
            raise Refused(_A_PERSONS)
        if not grounds.holds(other, lesson):
            raise Refused(_NOT_HELD)
        self._drop(lesson, f"^{other.id} holds it now", _ids(found))
        new = replace(
            other,
            candidates=_joined(other.candidates, lesson.candidates, _ids(found)),
            confirmations=other.confirmations + lesson.confirmations,
            said=max(other.said, lesson.said),
        )
        self._record(Change("confirm", new, other.text, _ids(found)))
        self._merged(found, other.id)

    def _add(self, edit: Add, found: Sequence[Candidate]) -> None:
        if not found:
            raise Refused(_UNKNOWN)
        text, source, said_so = grounds.worded(_text(edit.text), found)
        self._refuse([c for c in found if c not in said_so], UNSAID)
        if self._was_deleted(text, said_so):
            raise Refused(DELETED)
        for lesson in self.lessons.values():
            if grounds.same(lesson.text, text):
                self._confirm(lesson, said_so)
                return
        if reason := grounds.widening(text, said_so):
            self._hold(said_so, reason)
            return
        section = section_name(self.memory, edit.section, said_so[0].topic)
        id = lesson_id(text, _ids(said_so), self._is_taken)
        now = self.situation.now
        heard = sum(grounds.speaker(c) in ("person", "message") for c in said_so)
        new = Lesson(
            id, section, text, grounds.kind_of(said_so, source), source, now, now, now,
            grounds.said_of(said_so, source), max(heard - 1, 0), "pannier", _ids(said_so),
        )  # fmt: skip
        self.memory = add(self.memory, id, text_of(new), section)
        self._record(Change("add", new, candidates=_ids(said_so)))
        self._merged(said_so, id)

    # ------------------------------------------------------------------------------- what they need

    def _known(self, ids: Iterable[str]) -> list[Candidate]:
        found = (self.candidates.get(id.strip()) for id in dict.fromkeys(ids))
        return [c for c in found if c is not None]

    def _lesson(self, id: str) -> Lesson:
        lesson = self.lessons.get(_id(id))
        if lesson is None:
            raise Refused(_NO_LESSON)
        return lesson

    def _is_taken(self, id: str) -> bool:
        s = self.situation
        return id in self.memory.text or any(id == x.id for x in (*s.lessons, *s.past))

    def _was_deleted(self, text: str, found: Sequence[Candidate]) -> bool:
        """A person deleted that line after it was said: it does not come back by itself."""
        return max(c.said for c in found) <= self.situation.edited and any(
            grounds.related(gone.text, [text], least=0.8) for gone in self.deleted
        )

    def _drop(self, lesson: Lesson, why: str, candidates: tuple[str, ...]) -> None:
        self.memory = remove(self.memory, [lesson.id])
        self._record(Change("remove", lesson, candidates=candidates, why=why))

    def _record(self, change: Change) -> None:
        """One change for each lesson, whatever was done to it."""
        id = change.lesson.id
        if old := self.changes.get(id):
            candidates = _joined(old.candidates, change.candidates)
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

    def _merged(self, found: Sequence[Candidate], lesson: str) -> None:
        for c in found:
            if self.taken.get(c.id, _NOTHING).state != "merged" or lesson in self.lessons:
                self.taken[c.id] = Taken(c.id, "merged", lesson)

    def _hold(self, found: Sequence[Candidate], reason: str) -> None:
        """What lets the agent do more waits for a person, whatever its evidence."""
        ours = [c for c in found if grounds.widening(c.text, [])]
        if not ours:
            raise Refused(f"{UNSAID}, and it {reason}")
        for c in ours:
            self.taken.setdefault(c.id, Taken(c.id, "held", why=reason))
        self._refuse([c for c in found if c not in ours], f"beside it: it {reason}")

    def _refuse(self, found: Sequence[Candidate], why: str) -> None:
        for c in found:
            self.refused.setdefault(c.id, why)

    # ------------------------------------------------------------------------------- what comes out

    def merge(self) -> Merge:
        """All of it."""
        s = self.situation
        before = self.memory.sections
        self.memory, dropped = share.fit(self.memory, self.lessons, s.share)
        for id in dropped:
            lesson = self.lessons[id]
            self._record(Change("drop", lesson, why=NO_ROOM))
            self.notes.append(f"dropped for want of room: ^{id} {brief(lesson.text, 120)}")
        gone = [name for name in before if name not in self.memory.sections]
        self.notes += [f"dropped with its last lesson: the section {name}" for name in gone]
        if (tokens := estimate(self.memory.text)) > s.share:
            self.notes.append(
                f"MEMORY.md has about {tokens:,} tokens for which {s.share:,} are meant; what is "
                "left in it is a person's"
            )
        text = "" if self.memory.text == FRESH else self.memory.text
        summary = index.summary(self.memory, self.lessons)
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


def _id(name: str) -> str:
    return name.strip().lstrip("^")


def _ids(found: Iterable[Candidate]) -> tuple[str, ...]:
    return tuple(c.id for c in found)


def _joined(*ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for some in ids for id in some))


def _text(text: str) -> str:
    """A lesson's text, of a model. Raises Refused where it says nothing."""
    line = _line(text)
    if not any(map(str.isalnum, line)):
        raise Refused("it says nothing")
    return line


def _line(text: str) -> str:
    return plain(redaction.mask(text))


def _shortened(lesson: Lesson, text: str) -> str:
    """Why a lesson cannot be reworded without any candidate; "": it can."""
    if lesson.by == "person":
        return _A_PERSONS
    return "" if grounds.still_says(text, lesson) else UNSAID

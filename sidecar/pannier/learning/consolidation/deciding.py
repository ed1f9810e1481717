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
from pannier.learning.consolidation import grounds
from pannier.learning.consolidation.draft import Draft, Situation, joined
from pannier.learning.consolidation.grounds import UNRELATED, UNSAID, Refused
from pannier.learning.consolidation.naming import lesson_id, section_name
from pannier.learning.files.memoryedits import add, revise
from pannier.learning.files.memoryfile import escaped, text_of
from pannier.learning.guards.restrictions import TAKES_BACK, loosens, restricts
from pannier.learning.guards.senses import TURNED, UNLIMITED
from pannier.learning.guards.wording import same, strange
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.merge import ONCE_MORE, Change, Merge, Taken
from pannier.learning.models.answers import Add, Confirm, ConsolidationAnswer, Remove, Revise
from pannier.learning.models.asking import AskError, Reply
from pannier.shown import brief

DISPROVED = "a later conversation disproved it"
_UNKNOWN = "it names no candidate that was shown"
_NO_LESSON = "it is the same lesson"
_TWICE = "it was changed already"
_A_PERSONS = "a person wrote it"
_NOT_HELD = "the other lesson does not hold it"
_TOO_MUCH = "one candidate does not disprove so many lessons"
_MOST_REMOVED = 3
"""Lessons that one candidate may disprove."""
_REASON = 200
"""Code points of a model's reason for leaving a candidate."""

_OF_THE_MODEL = (UNSAID, UNRELATED, TURNED, UNLIMITED)
"""Begin why an edit was refused through no fault of its candidates."""

_Edit = Add | Revise | Confirm | Remove


def decide(situation: Situation, shown: Sequence[Candidate], reply: Reply) -> Merge:
    """What becomes of the memory, and of the candidates that the model was shown.

    The same answer gives the same. Raises AskError for an answer that does not fit the schema.
    """
    try:
        answer = ConsolidationAnswer.model_validate(reply.data)
    except ValidationError as error:
        raise AskError("answer", f"the answer does not fit: {error.error_count()} errors") from None
    draft = Draft(situation, {c.id: replace(c, text=_line(c.text)) for c in shown})
    _Editor(draft).take(answer)
    return draft.merge()


def refresh(situation: Situation) -> Merge:
    """What becomes of the memory without a model: a person's edits are taken up, and the index is
    made anew."""
    return Draft(situation, {}).merge()


@dataclass
class _Editor:
    """Does the edits of an answer, each if it may be done."""

    draft: Draft
    absorbed: dict[str, list[Lesson]] = field(default_factory=dict)
    """Lessons that go, by the one that is to hold them."""
    revised: set[str] = field(default_factory=set)
    removals: dict[str, int] = field(default_factory=dict)
    """By candidate."""

    def take(self, answer: ConsolidationAnswer) -> None:
        """Edit by edit. Additions last: by then it is known what stands there already."""
        for gone in answer.remove:
            if gone.into and (lesson := self.draft.lessons.get(_id(gone.lesson))):
                self.absorbed.setdefault(_id(gone.into), []).append(lesson)
        edits: list[_Edit] = [*answer.revise, *answer.confirm, *answer.remove, *answer.add]
        for edit in edits:
            self._try(edit)
        for left in answer.leave:
            found = self.draft.known([left.candidate])
            if found and found[0].id not in self.draft.taken and not found[0].approved:
                why = brief(redaction.mask(left.why), _REASON)
                self.draft.taken[found[0].id] = Taken(found[0].id, "left", why=why)
        for c in self.draft.candidates.values():
            if c.id not in self.draft.taken and self._is_due(c):
                self._try(Add(section=c.topic, text=c.text, candidates=[c.id]))

    def _try(self, edit: _Edit) -> None:
        found = self.draft.known(edit.candidates)
        try:
            match edit:
                case Revise():
                    self._revise(edit, found)
                case Confirm():
                    self._confirm(self.draft.lesson(_id(edit.lesson)), found)
                case Remove():
                    self._remove(edit, found)
                case Add():
                    self._add(edit, found)
        except (Refused, PannierError) as why:
            about = "" if isinstance(edit, Add) else f" ^{_id(edit.lesson)}"
            self.draft.notes.append(f"not done: {type(edit).__name__.lower()}{about}: {why}")
            self.draft.refuse(found, str(why))

    # ----------------------------------------------------------------------------------- the edits

    def _revise(self, edit: Revise, found: Sequence[Candidate]) -> None:
        lesson, text = self.draft.lesson(_id(edit.lesson)), _text(edit.text)
        also = self.absorbed.get(lesson.id, [])
        if lesson.id in self.revised:
            raise Refused(_TWICE)
        if found and same(text, lesson.text):
            self._confirm(lesson, found)
            return
        why = grounds.objection(lesson, found, text) if found else _shortened(lesson, text)
        if why == UNRELATED:
            self._add(Add(section=lesson.section, text=text, candidates=edit.candidates), found)
            return
        if why:
            raise Refused(why)
        text, source, said_so = grounds.reworded(lesson, text, found, also)
        self.draft.refuse([c for c in found if c not in said_so], UNSAID)
        found = said_so
        if reason := grounds.widening(text, [lesson, *also, *found]):
            self._hold(found, reason)
            return
        if _is_rule(lesson) and loosens(lesson.text, text) and not _are_approved(found):
            self.draft.hold(found, TAKES_BACK)
            return
        new = replace(
            lesson,
            text=text,
            source=source,
            kind=grounds.revised_kind(lesson, found, source),
            said=max(lesson.said, grounds.said_of(found, source)),
            changed=self.draft.situation.now,
            confirmed=self.draft.situation.now if found else lesson.confirmed,
            by="pannier",
            candidates=joined(lesson.candidates, *(x.candidates for x in also), _ids(found)),
        )
        self.draft.memory = revise(self.draft.memory, lesson.id, text_of(new))
        self.revised.add(lesson.id)
        self.draft.record(Change("revise", new, lesson.text, _ids(found)))
        self.draft.merged(found, lesson.id)

    def _confirm(self, lesson: Lesson, found: Sequence[Candidate]) -> None:
        if not found:
            raise Refused(_UNKNOWN)
        same = [c for c in found if grounds.repeats(lesson, c)]
        self.draft.refuse([c for c in found if c not in same], UNRELATED)
        if not same:
            raise Refused(UNRELATED)
        # What the agent or its tools say again may be the memory itself, which it read.
        heard = [c for c in same if grounds.speaker(c) in ("person", "message")]
        new = replace(
            grounds.vouched_for(lesson, heard),
            confirmed=self.draft.situation.now if heard else lesson.confirmed,
            confirmations=lesson.confirmations + len(heard),
            said=max([lesson.said, *(c.said for c in heard)]),
            candidates=joined(lesson.candidates, _ids(same)),
        )
        if text_of(new) != text_of(lesson):
            self.draft.memory = revise(self.draft.memory, lesson.id, text_of(new))
        self.draft.record(Change("confirm", new, lesson.text, _ids(same)))
        self.draft.merged(same, lesson.id)

    def _remove(self, edit: Remove, found: Sequence[Candidate]) -> None:
        lesson = self.draft.lesson(_id(edit.lesson))
        if edit.into:
            self._join(lesson, self.draft.lesson(_id(edit.into)), found)
            return
        if not found:
            raise Refused(_UNKNOWN)
        if why := grounds.objection(lesson, found):
            raise Refused(why)
        if _is_rule(lesson) and restricts(lesson.text) and not _are_approved(found):
            self.draft.hold(found, TAKES_BACK)
            return
        if all(self.removals.get(c.id, 0) >= _MOST_REMOVED for c in found):
            raise Refused(_TOO_MUCH)
        for c in found:
            self.removals[c.id] = self.removals.get(c.id, 0) + 1
        self.draft.drop(lesson, DISPROVED, _ids(found))
        self.draft.merged(found, lesson.id)

    def _join(self, lesson: Lesson, other: Lesson, found: Sequence[Candidate]) -> None:
        """Another lesson holds what this one says."""
        if lesson.id == other.id:
            raise Refused(_NO_LESSON)
        if lesson.by == "person":
            raise Refused(_A_PERSONS)
        if not grounds.holds(other, lesson):
            raise Refused(_NOT_HELD)
        self.draft.drop(lesson, f"^{other.id} holds it now", _ids(found))
        new = replace(
            other,
            candidates=joined(other.candidates, lesson.candidates, _ids(found)),
            confirmations=other.confirmations + lesson.confirmations,
            said=max(other.said, lesson.said),
        )
        self.draft.record(Change("confirm", new, other.text, _ids(found)))
        self.draft.merged(found, other.id)

    def _add(self, edit: Add, found: Sequence[Candidate]) -> None:
        if not found:
            raise Refused(_UNKNOWN)
        text, source, said_so = grounds.worded(_text(edit.text), found)
        self.draft.refuse([c for c in found if c not in said_so], UNSAID)
        # What the agent or its tools say again in the memory's words, they read there.
        echoed = source in ("agent", "tool")
        for lesson in self.draft.lessons.values():
            if same(lesson.text, text) or (echoed and not strange(text, [lesson.text])):
                self._confirm(lesson, said_so)
                return
        if reason := grounds.widening(text, said_so):
            self._hold(said_so, reason)
            return
        section = section_name(self.draft.memory, edit.section, said_so)
        id = lesson_id(text, _ids(said_so), self.draft.is_taken)
        now = self.draft.situation.now
        heard = sum(grounds.speaker(c) in ("person", "message") for c in said_so)
        new = Lesson(
            id, section, text, grounds.kind_of(said_so, source), source, now, now, now,
            grounds.said_of(said_so, source), max(heard - 1, 0), "pannier", _ids(said_so),
        )  # fmt: skip
        self.draft.memory = add(self.draft.memory, id, text_of(new), section)
        self.draft.record(Change("add", new, candidates=_ids(said_so)))
        self.draft.merged(said_so, id)

    def _hold(self, found: Sequence[Candidate], reason: str) -> None:
        """Of candidates whose text lets the agent do more, those that do so themselves wait for a
        person. Raises Refused where it does so in the model's words alone."""
        ours = [c for c in found if not c.approved and grounds.widening(c.text, [])]
        if not ours:
            raise Refused(f"{UNSAID}, and it {reason}")
        self.draft.hold(ours, reason)
        self.draft.refuse(found, f"beside it: it {reason}")

    def _is_due(self, candidate: Candidate) -> bool:
        """Whether it is taken up in its own words, whatever the model makes of it: a person let it
        pass; or a person said it, and twice now the model made something else of it."""
        if candidate.approved:
            return True
        again = candidate.why.startswith(ONCE_MORE) and candidate.source == "person"
        return again and self.draft.refused.get(candidate.id, "").startswith(_OF_THE_MODEL)


def _id(name: str) -> str:
    return name.strip().lstrip("^")


def _ids(found: Iterable[Candidate]) -> tuple[str, ...]:
    return tuple(c.id for c in found)


def _text(text: str) -> str:
    """A lesson's text, of a model. Raises Refused where it says nothing."""
    line = _line(text)
    if not any(map(str.isalnum, line)):
        raise Refused("it says nothing")
    return line


def _line(text: str) -> str:
    return escaped(redaction.mask(text))


def _shortened(lesson: Lesson, text: str) -> str:
    """Why a lesson cannot be reworded without any candidate; "": it can."""
    if lesson.by == "person":
        return _A_PERSONS
    if not grounds.still_says(text, lesson):
        return UNSAID
    return TAKES_BACK if loosens(lesson.text, text) else ""


def _is_rule(lesson: Lesson) -> bool:
    """Whether somebody may have set it as one: it is no fact that the agent found out by itself."""
    found_out = lesson.kind in ("environment", "failure") and lesson.source in ("agent", "tool")
    return not found_out or lesson.by == "person"


def _are_approved(found: Iterable[Candidate]) -> bool:
    return all(c.approved for c in found)

"""Whether an edit of the memory rests on its candidates: on their words, on who speaks, and when.

A model that merges may be careless, or led astray by what it reads. So it is held to what the
candidates and the old text say, and to who may undo what. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pannier.learning.guards.planting import coverage, is_planted
from pannier.learning.guards.widening import widens
from pannier.learning.guards.words import addresses, figures, words
from pannier.learning.lessons import (
    FROM_PERSONS,
    STRONGEST_FIRST,
    Candidate,
    Kind,
    Lesson,
    Source,
)

OLDER = "it is older than what the lesson rests on"
WEAKER = "who says it does not speak as strongly as who said the lesson"
UNRELATED = "it is about something else than the lesson"
UNSAID = "its words are not those of its candidates"

_COVERED = 0.6
"""Share of a sentence's words that must be said somewhere."""
_KEPT = 0.8
"""Share of a lesson's words that stand in a text which only adds to it."""
_RELATED = 0.25
_SAME = 0.9
_SHORTENED = 0.5
"""Share of a lesson's words that a shorter text has to keep."""
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_NOT_BY_AGENTS: frozenset[Kind] = FROM_PERSONS | {"decision"}

Said = Lesson | Candidate


class Refused(Exception):
    """Why an edit is not done."""


def spoken_by(text: str, grounds: Iterable[Said]) -> Source | None:
    """The weakest speaker whom a text needs: with those from the strongest to this one, all of it
    is said. None: it says what nobody said."""
    found = tuple(grounds)
    for last, source in enumerate(STRONGEST_FIRST):
        among = STRONGEST_FIRST[: last + 1]
        texts = [one.text for one in found if speaker(one) in among]
        if texts and _says(text, texts):
            return "tool" if source != "tool" and _planted(text, found) else source
    return None


def speaker(one: Said) -> Source:
    """Who speaks for it. For what a person approved, that person; what tools say stays theirs."""
    if isinstance(one, Candidate) and one.approved and one.source != "tool":
        return "person"
    return one.source


def _says(text: str, sources: Sequence[str]) -> bool:
    """Sentence by sentence roughly in these words, and with no number and no address that is not
    there."""
    return (
        all(coverage(sentence, sources) >= _COVERED for sentence in _SENTENCE_END.split(text))
        and figures(text) <= frozenset().union(*map(figures, sources))
        and addresses(text) <= frozenset().union(*map(addresses, sources))
    )


def _planted(text: str, grounds: Sequence[Said]) -> bool:
    tools = [one.text for one in grounds if one.source == "tool"]
    return is_planted(text, [one.text for one in grounds if one.source != "tool"], tools)


def widening(text: str, grounds: Iterable[Said]) -> str:
    """How a text lets the agent do more than before, unless it stood there already or a person
    approved of a candidate that does; "": it does not."""
    reason = widens(text)
    if reason:
        for one in grounds:
            passed = one.approved if isinstance(one, Candidate) else True
            if passed and (widens(one.text) == reason or coverage(text, one.text) >= _SAME):
                return ""
    return reason


def objection(lesson: Lesson, candidates: Sequence[Candidate], text: str | None = None) -> str:
    """Why these candidates cannot change a lesson into `text` (None: remove it); "" : they can.

    The newest word holds, and a weaker speaker does not undo what a stronger one said. What keeps
    all that a lesson says, and adds to it, may be older, unless a person worded the lesson.
    """
    strong = [c for c in candidates if _may_undo(c, lesson)]
    if not strong:
        return WEAKER
    if max(c.said for c in strong) < lesson.said:
        adds = text is not None and coverage(lesson.text, text) >= _KEPT
        if not adds or lesson.by == "person":
            return OLDER
    near = [*(c.text for c in strong), *([text] if text else [])]
    corrected = any(c.kind == "correction" for c in strong)
    if not related(lesson.text, near, least=0.01 if corrected else _RELATED):
        return UNRELATED
    return ""


def _may_undo(candidate: Candidate, lesson: Lesson) -> bool:
    by = speaker(candidate)
    if by == "tool":
        return lesson.source == "tool" or (
            lesson.source == "agent" and lesson.kind == "environment" and lesson.by != "person"
        )
    if lesson.kind in _NOT_BY_AGENTS or lesson.by == "person":
        return STRONGEST_FIRST.index(by) <= STRONGEST_FIRST.index(lesson.source)
    return True


def related(text: str, others: Iterable[str], *, least: float = _RELATED) -> bool:
    """Whether a text and one of the others are about the same, as far as words tell."""
    return any(max(coverage(text, other), coverage(other, text)) >= least for other in others)


def repeats(lesson: Lesson, candidate: Candidate) -> bool:
    """Whether a candidate may be what a lesson says already. A correction with another number is
    not."""
    if candidate.kind == "correction" and not figures(candidate.text) <= figures(lesson.text):
        return False
    return related(lesson.text, [candidate.text])


def same(one: str, other: str) -> bool:
    """Whether two texts have the same words that matter, in the same order."""
    return words(one) == words(other)


def worded(text: str, candidates: Sequence[Candidate]) -> tuple[str, Source, list[Candidate]]:
    """A new lesson's text, who speaks for it, and those of its candidates that say so.

    What a model worded too freely, or into which it mixed what a tool says, gives way to the words
    of the candidate that speaks most strongly, the newest of several. Raises Refused for what is
    about something else.
    """
    first = min(candidates, key=lambda c: (STRONGEST_FIRST.index(speaker(c)), -c.said, c.id))
    source = spoken_by(text, candidates)
    mixed = source != speaker(first) and (source == "tool" or first.kind in FROM_PERSONS)
    lets_more = widens(text) and not any(widens(c.text) for c in candidates)
    if source is None or mixed or lets_more:
        if not related(text, [first.text]):
            raise Refused(UNSAID)
        text, source = first.text, speaker(first)
    return text, source, [c for c in candidates if c is first or related(text, [c.text])]


def revised_source(lesson: Lesson, text: str, rests_on: Sequence[Said]) -> Source:
    """Who speaks for a lesson's new text. Raises Refused: nobody does who may."""
    source = spoken_by(text, rests_on)
    if source is None:
        raise Refused(UNSAID)
    weaker = STRONGEST_FIRST.index(source) > STRONGEST_FIRST.index(lesson.source)
    if weaker and (source == "tool" or lesson.kind in FROM_PERSONS):
        raise Refused(UNSAID)
    return source


def revised_kind(lesson: Lesson, candidates: Sequence[Candidate], source: Source) -> Kind:
    """A fact of a tool's that a person takes up may be more than that now."""
    if source == "tool":
        return "environment"
    return kind_of(candidates, source) if lesson.source == "tool" and candidates else lesson.kind


def vouched_for(lesson: Lesson, heard: Sequence[Candidate]) -> Lesson:
    """The lesson, with a stronger speaker where one says all of it."""
    source = spoken_by(lesson.text, heard)
    if source is None or STRONGEST_FIRST.index(source) >= STRONGEST_FIRST.index(lesson.source):
        return lesson
    return replace(lesson, source=source, kind=revised_kind(lesson, heard, source))


def holds(lesson: Lesson, other: Lesson) -> bool:
    """Whether a lesson says what another one says, and who speaks for it does so as strongly."""
    return (
        STRONGEST_FIRST.index(lesson.source) <= STRONGEST_FIRST.index(other.source)
        and coverage(other.text, lesson.text) >= _COVERED
        and figures(other.text) <= figures(lesson.text)
        and addresses(other.text) <= addresses(lesson.text)
    )


def still_says(text: str, lesson: Lesson) -> bool:
    """Whether a shorter text is a lesson's all the same."""
    return coverage(lesson.text, text) >= _SHORTENED and figures(lesson.text) <= figures(text)


def kind_of(candidates: Sequence[Candidate], source: Source) -> Kind:
    """That of a lesson for which `source` speaks: the newest one's that is strong enough."""
    if source == "tool":
        return "environment"
    newest_first = sorted(
        candidates, key=lambda c: (STRONGEST_FIRST.index(speaker(c)), -c.said, c.id)
    )
    fitting = (
        c.kind
        for c in newest_first
        if source in ("person", "message") or c.kind not in FROM_PERSONS
    )
    return next(fitting, "environment")


def said_of(candidates: Iterable[Candidate], source: Source) -> int:
    """When the newest of those spoke that are as strong as `source`; 0: none of them is."""
    among = STRONGEST_FIRST[: STRONGEST_FIRST.index(source) + 1]
    return max((c.said for c in candidates if speaker(c) in among), default=0)

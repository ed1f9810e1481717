"""Whether an edit of the memory rests on its candidates: on their words, on who speaks, and when.

A model that merges may be careless, or led astray by what it reads. So it is held to what the
candidates and the old text say, and to who may undo what. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pannier.learning.guards.planting import coverage, is_planted
from pannier.learning.guards.senses import TURNED, turned
from pannier.learning.guards.widening import widens
from pannier.learning.guards.wording import (
    common,
    counting,
    leaves_out,
    repeated,
    says,
    strange,
)
from pannier.learning.guards.words import addresses, figures
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

_RELATED = 0.25
_SHORTENED = 0.5
"""Share of a lesson's words that a shorter text has to keep."""
_REPLACED = 0.8
"""Share of a lesson's words in a candidate that may take its place as it is."""
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
        if texts and says(text, texts):
            return "tool" if source != "tool" and _planted(text, found) else source
    return None


def speaker(one: Said) -> Source:
    """Who speaks for it. For what a person approved, that person; what tools say stays theirs."""
    if isinstance(one, Candidate) and one.approved and one.source != "tool":
        return "person"
    return one.source


def _planted(text: str, grounds: Sequence[Said]) -> bool:
    tools = [one.text for one in grounds if one.source == "tool"]
    return is_planted(text, [one.text for one in grounds if one.source != "tool"], tools)


def widening(text: str, grounds: Iterable[Said]) -> str:
    """How a text lets the agent do more than before, unless it stood there already, or a person
    approved of it, in nearly these words and without one of its own; "": it does not."""
    passed = (one for one in grounds if isinstance(one, Lesson) or one.approved)
    reason = widens(text)
    return "" if reason and any(repeated(text, one.text) for one in passed) else reason


def objection(lesson: Lesson, candidates: Sequence[Candidate], text: str | None = None) -> str:
    """Why these candidates cannot change a lesson into `text` (None: remove it); "" : they can.

    The newest word holds, and a weaker speaker does not undo what a stronger one said. What keeps
    all that a lesson says, and adds to it, may be older, unless a person worded the lesson. What
    removes one has to be about it.
    """
    strong = [c for c in candidates if _may_undo(c, lesson)]
    if not strong:
        return WEAKER
    if max(c.said for c in strong) < lesson.said:
        adds = text is not None and keeps(lesson.text, text)
        if not adds or lesson.by == "person":
            return OLDER
    if text is None:
        near = any(_is_about(c, lesson) for c in strong)
    else:
        corrected = any(c.kind == "correction" for c in strong)
        texts = [*(c.text for c in strong), text]
        near = related(lesson.text, texts, least=0.01 if corrected else _RELATED)
    return "" if near else UNRELATED


def _is_about(candidate: Candidate, lesson: Lesson) -> bool:
    """Two words that count, or a third of the lesson's."""
    shared = len(common(lesson.text, candidate.text))
    return shared >= 2 or 0 < len(counting(lesson.text)) <= 3 * shared


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
    not, nor what says the contrary."""
    if turned(candidate.text, [lesson.text]) == TURNED:
        return False
    if candidate.kind == "correction" and not figures(candidate.text) <= figures(lesson.text):
        return False
    return related(lesson.text, [candidate.text])


def keeps(text: str, other: str) -> bool:
    """Whether another text has all the words that count in this one, and denies what it denies."""
    return (
        not strange(text, [other])
        and addresses(text) <= addresses(other)
        and not turned(other, [text])
    )


def contrary(text: str, grounds: Iterable[Said]) -> str:
    """Why a text does not say what its grounds say, though in their words; "": it may well do."""
    return turned(text, [one.text for one in sorted(grounds, key=lambda one: one.said)])


def worded(text: str, candidates: Sequence[Candidate]) -> tuple[str, Source, list[Candidate]]:
    """A new lesson's text, who speaks for it, and those of its candidates that say so.

    What a model worded too freely, or turned into the contrary, or into which it mixed what a tool
    says, gives way to the words of the candidate that speaks most strongly, the newest of several.
    Raises Refused for what is about something else.
    """
    first = strongest(candidates)
    source = spoken_by(text, candidates)
    mixed = source != speaker(first) and (source == "tool" or first.kind in FROM_PERSONS)
    lets_more = widens(text) and not any(repeated(text, c.text) for c in candidates)
    if source is None or mixed or lets_more or contrary(text, candidates):
        if not related(text, [first.text]):
            raise Refused(UNSAID)
        text, source = first.text, speaker(first)
    return text, source, [c for c in candidates if c is first or related(text, [c.text])]


def strongest(candidates: Iterable[Candidate]) -> Candidate:
    """The one that speaks most strongly, the newest of several."""
    return min(candidates, key=lambda c: (STRONGEST_FIRST.index(speaker(c)), -c.said, c.id))


def reworded(
    lesson: Lesson, text: str, found: Sequence[Candidate], also: Sequence[Lesson]
) -> tuple[str, Source, list[Candidate]]:
    """A lesson's new text, who speaks for it, and those of its candidates that say so.

    `also`: lessons that it is to hold, too. What a model worded too freely gives way to the
    candidate's own words, where they say enough to take the lesson's place. Raises Refused.
    """
    rests_on: list[Said] = [lesson, *also, *found]
    try:
        return text, revised_source(lesson, text, rests_on), list(found)
    except Refused:
        first = strongest(found) if found else None
        if first is None or coverage(lesson.text, first.text) < _REPLACED:
            raise
        if objection(lesson, [first], first.text):
            raise
        source = revised_source(lesson, first.text, [first])
        return first.text, source, [first]


def revised_source(lesson: Lesson, text: str, rests_on: Sequence[Said]) -> Source:
    """Who speaks for a lesson's new text. Raises Refused: nobody does who may."""
    source = spoken_by(text, rests_on)
    if source is None:
        raise Refused(UNSAID)
    stands = [one for one in rests_on if isinstance(one, Lesson)]
    heard = [one for one in rests_on if isinstance(one, Candidate)]
    if (why := contrary(text, stands)) and (not heard or contrary(text, heard)):
        raise Refused(why)
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
    """Whether a lesson says all that another one says, and its speaker is as strong."""
    as_strong = STRONGEST_FIRST.index(lesson.source) <= STRONGEST_FIRST.index(other.source)
    return as_strong and keeps(other.text, lesson.text)


def still_says(text: str, lesson: Lesson) -> bool:
    """Whether a shorter text is a lesson's all the same: words are left out, no more."""
    return coverage(lesson.text, text) >= _SHORTENED and leaves_out(text, lesson.text)


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

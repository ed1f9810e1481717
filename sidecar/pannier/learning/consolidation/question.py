"""What a model is asked about the memory and what was found since. Pure, but for a random mark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pannier import redaction
from pannier.learning.consolidation.grounds import speaker
from pannier.learning.files.memoryfile import FRESH, Line, Memory, parse, text_of
from pannier.learning.files.share import newest, worth
from pannier.learning.guards.visible import visible
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.models.answers import ConsolidationAnswer
from pannier.learning.models.asking import Question
from pannier.learning.models.marker import BROADEST, Marker, instructions, marker_for
from pannier.threads.times import moment
from pannier_hook.estimate import estimate

_OWN = 400
"""Code points that are shown of each paragraph that a person wrote."""
_FULL = 0.8
"""Share of its room from which on the memory is to be shortened."""
_LEAST_ANSWER, _MOST_ANSWER = 2_000, 16_000
"""Tokens of an answer."""
_PER_CANDIDATE = 200


def share_of(budget: int) -> int:
    """Tokens that the memory may have: half of a step."""
    return budget // 2


def question(
    memory_text: str, lessons: Iterable[Lesson], candidates: Sequence[Candidate], budget: int
) -> tuple[Question, tuple[Candidate, ...]]:
    """What to ask, and the candidates that it shows: those that were said first, as many as fit.

    `budget`: tokens of instructions and data together, half of the window. One candidate, at
    least, is shown. `lessons`: what is known of those in the memory, as the file has them.
    """
    memory = parse(memory_text or FRESH)
    ordered = sorted(candidates, key=lambda c: (c.said, c.id))
    frame = _lines([], _room(memory, budget), [], BROADEST)
    room = budget - _tokens(instructions("consolidation", BROADEST), *frame)
    first = _tokens(_candidate(ordered[0], BROADEST)) if ordered else 0
    known = {lesson.id: lesson for lesson in lessons}
    rows = _memory(memory, known, min(share_of(budget), room - first))
    room -= _tokens(*(BROADEST.line(what) + text for what, text in rows))
    shown: list[Candidate] = []
    for candidate in ordered:
        room -= _tokens(_candidate(candidate, BROADEST))
        if room < 0 and shown:
            break
        shown.append(candidate)
    mark = marker_for([*(text for _, text in rows), *(_candidate(c, BROADEST) for c in shown)])
    data = "\n".join(_lines(rows, _room(memory, budget), shown, mark))
    most = min(_MOST_ANSWER, budget, _LEAST_ANSWER + _PER_CANDIDATE * len(shown))
    asked = Question(instructions("consolidation", mark), data, ConsolidationAnswer, most)
    return asked, tuple(shown)


def _lines(
    rows: Sequence[tuple[str, str]], room: str, shown: Sequence[Candidate], mark: Marker
) -> list[str]:
    return [
        mark.line("memory"),
        *(mark.line(what) + text for what, text in rows),
        *([mark.line(room)] if room else []),
        mark.line("candidates"),
        *(_candidate(c, mark) for c in shown),
        mark.line("end"),
    ]


def _tokens(*lines: str) -> int:
    """Of lines with their ends. Rounded up: they are many."""
    return sum(estimate(f"{line}\n") + 1 for line in lines)


def _memory(memory: Memory, lessons: Mapping[str, Lesson], tokens: int) -> list[tuple[str, str]]:
    """What stands in the memory, each as a line's label and its text, in the order of the file.

    Where a person made it longer than it may be, the most useful lessons are shown.
    """
    last = newest(lessons.values())
    rows: list[tuple[float, int, str, str]] = []
    for line in memory.lessons.values():
        lesson = lessons.get(line.id)
        label = f"{line.id} {_about(lesson, line)}"
        rows.append((-worth(lesson, last), line.first, label, f" {_one_line(line.text)}"))
    for own in memory.own:
        text = _one_line(own.text)
        rows.append((0.0, own.first, "fixed", f" {text[:_OWN]}{'…' * (len(text) > _OWN)}"))
    chosen = []
    for _, place, label, text in sorted(rows):
        tokens -= _tokens(BROADEST.line(label) + text)
        if tokens >= 0:
            chosen.append((place, label, text))
    places = {place: (label, text) for place, label, text in chosen}
    used = {line.section for line in memory.lessons.values()}
    for h in memory.headings:
        row = ("section", f" {_one_line(h.text)}")
        tokens -= _tokens(BROADEST.line(row[0]) + row[1])
        # The file's title is no section, unless something stands there.
        if tokens >= 0 and (h.level > 1 or h.text in used):
            places[h.first] = row
    return [places[place] for place in sorted(places)]


def _about(lesson: Lesson | None, line: Line) -> str:
    """What the model is told of a lesson. Of a line that a person wrote or changed, little is
    known yet."""
    if lesson is None:
        return "person's own words"
    if lesson.by == "person" or line.text != text_of(lesson):
        return f"{lesson.kind}, person's own words, {moment(lesson.said)}"
    return f"{lesson.kind}, {lesson.source}, {moment(lesson.said)}"


def _candidate(candidate: Candidate, mark: Marker) -> str:
    topic = f", about {_one_line(candidate.topic)}" if candidate.topic else ""
    label = f"{candidate.id} {candidate.kind}, {speaker(candidate)}, {moment(candidate.said)}"
    return f"{mark.line(label + topic)} {_one_line(candidate.text)}"


def _room(memory: Memory, budget: int) -> str:
    tokens, share = estimate(memory.text), share_of(budget)
    if tokens < _FULL * share:
        return ""
    return f"room: the memory has about {tokens} tokens of {share}"


def _one_line(text: str) -> str:
    return " ".join(redaction.mask(visible(text)).split())

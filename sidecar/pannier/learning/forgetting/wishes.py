"""What a person wants forgotten, and what that comes to in what a group learned. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pannier.errors import UsageError
from pannier.learning.files.memoryfile import NOWHERE
from pannier.learning.guards import forgotten
from pannier.learning.guards.forgotten import Tombstone, holds, is_near, is_same
from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.learning.store.rows import Report, ThreadMark, Try

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True)
class Wish:
    """One of these."""

    lesson: str = ""
    """Its id."""
    text: str = ""
    """All that says this, or nearly this."""
    thread: str = ""
    """All that was learned from the thread with this key."""
    upto: int = 0
    """The last message of the thread."""
    begin: int = 0
    """All that was said in this time, from here …"""
    end: int = 0
    """… up to before here, in nanoseconds since 1970; 0: nothing is forgotten by time."""

    def covers(self, proof: Evidence) -> bool:
        """Whether it is about this message, by thread or time."""
        return proof.thread == self.thread or self.begin <= proof.at < self.end


@dataclass(frozen=True)
class Known:
    """What a group learned, and what is told of it."""

    lessons: tuple[Lesson, ...]
    """Also those that left the memory."""
    candidates: tuple[Candidate, ...]
    threads: Mapping[str, ThreadMark]
    reports: tuple[Report, ...]
    tries: tuple[Try, ...]
    lines: Mapping[str, str]
    """Lessons as they stand in MEMORY.md, by id: a person may have edited them."""
    own: tuple[str, ...]
    """What else stands there: a person's words."""
    headings: tuple[str, ...] = ()
    """Those of MEMORY.md."""


@dataclass(frozen=True)
class Plan:
    """What goes."""

    lessons: tuple[Lesson, ...] = ()
    lines: tuple[str, ...] = ()
    """Ids of lines in MEMORY.md."""
    candidates: tuple[Candidate, ...] = ()
    released: tuple[str, ...] = ()
    """Candidates of lessons that go, and are not forgotten themselves: they wait again."""
    summaries: tuple[ThreadMark, ...] = ()
    """Threads whose summary goes: it may tell of it."""
    sections: tuple[str, ...] = ()
    """Headings of lessons that say so: they are called otherwise then."""
    topics: tuple[str, ...] = ()
    """Ids of candidates whose topic says so: they lose it."""
    reports: tuple[int, ...] = ()
    tries: tuple[Try, ...] = ()
    own: tuple[str, ...] = ()
    """A person's words in MEMORY.md that say so: they stay."""
    alike: tuple[Lesson, ...] = ()
    """Other lessons in the memory that say so: they stay, too."""
    tombstones: tuple[Tombstone, ...] = ()
    """By which it does not come back."""
    lingers: bool = False
    """It may be read from what the database freed until another process has ended."""

    @property
    def is_empty(self) -> bool:
        """There is nothing to forget that is known already."""
        found = (self.lessons, self.lines, self.candidates, self.summaries, self.sections)
        return not any(found) and not self.topics


def plan(known: Known, wish: Wish, now: float) -> Plan:
    """What goes. Raises UsageError for a lesson that is not known, a text without words."""
    by_words = bool(wish.lesson or wish.text)
    lessons, candidates = _by_words(known, wish) if by_words else _by_place(known, wish)
    gone = {lesson.id for lesson in lessons}
    out = {candidate.id for candidate in candidates}
    texts = _texts(known, wish, lessons, candidates)
    says = _says(texts, [*gone, *out]) if by_words else _says_nothing
    strange = known.lines.keys() - {lesson.id for lesson in known.lessons}
    kept = [x.text for x in known.lessons if x.id not in gone]
    hidden = texts if by_words else [t for t in texts if not any(is_near(t, k) for k in kept)]
    messages = {proof.message for c in candidates for proof in c.evidence}
    tombstones = forgotten.tombstones(hidden, sorted(messages), now)
    tombstones += _of_wish(wish, now)
    named = {x.section for x in known.lessons} - {"", NOWHERE}
    titles = [name for name in known.headings if name not in named]
    return Plan(
        lessons=lessons,
        lines=tuple(
            id for id, text in known.lines.items() if id in gone or (id in strange and says(text))
        ),
        candidates=candidates,
        released=tuple(c.id for c in known.candidates if c.lesson in gone and c.id not in out),
        summaries=tuple(_summaries(known, wish, candidates, says)),
        sections=tuple(sorted(filter(says, named))),
        topics=tuple(c.id for c in known.candidates if c.id not in out and says(c.topic)),
        # By thread or time it would be too many words to look for.
        reports=tuple(
            r.id for r in known.reports if not by_words or any(map(says, _strings(r.body)))
        ),
        tries=tuple(t for t in known.tries if says(t.why)),
        own=tuple(text for text in (*titles, *known.own) if any(map(says, _sentences(text)))),
        alike=tuple(
            x for x in known.lessons if x.id in known.lines and x.id not in gone and says(x.text)
        ),
        tombstones=tombstones,
    )


def _by_words(known: Known, wish: Wish) -> tuple[tuple[Lesson, ...], tuple[Candidate, ...]]:
    """A lesson of another wording is another lesson; a candidate of another wording is not."""
    if wish.lesson:
        found = next((x for x in known.lessons if x.id == wish.lesson), None)
        if found is None:
            raise UsageError(f"there is no lesson {wish.lesson}")
        now = known.lines.get(found.id, found.text)
        lessons = tuple(
            x
            for x in known.lessons
            if x is found or is_same(x.text, found.text) or is_same(x.text, now)
        )
        texts = [found.text, now]
    else:
        if not forgotten.has_words(wish.text):
            raise UsageError("there are no words in the text that is to be forgotten")
        texts = [wish.text]
        lessons = tuple(
            x
            for x in known.lessons
            if holds(x.text, wish.text)
            or holds(known.lines.get(x.id, ""), wish.text)
            or is_near(wish.text, x.text)
        )
    gone = {lesson.id for lesson in lessons}
    elsewhere = {lesson.id for lesson in known.lessons} - gone
    candidates = tuple(
        c
        for c in known.candidates
        if c.lesson in gone
        or any(holds(c.text, text) for text in texts)
        or (c.lesson not in elsewhere and any(is_near(text, c.text) for text in texts))
    )
    return lessons, candidates


def _by_place(known: Known, wish: Wish) -> tuple[tuple[Lesson, ...], tuple[Candidate, ...]]:
    """A lesson stays when somebody else says it as well, or when the words are a person's own."""
    candidates = tuple(c for c in known.candidates if any(map(wish.covers, c.evidence)))
    out = {candidate.id for candidate in candidates}
    left: dict[str, list[str]] = {}
    for c in known.candidates:
        if c.lesson and c.id not in out:
            left.setdefault(c.lesson, []).append(c.text)
    touched = {c.lesson for c in candidates if c.lesson}
    touched |= {x.id for x in known.lessons if not x.candidates and wish.begin <= x.said < wish.end}
    lessons = tuple(
        x
        for x in known.lessons
        if x.id in touched
        and x.by != "person"
        and not any(is_near(x.text, text) for text in left.get(x.id, ()))
    )
    return lessons, candidates


def _texts(
    known: Known, wish: Wish, lessons: Iterable[Lesson], candidates: Iterable[Candidate]
) -> list[str]:
    """All wordings of what is forgotten."""
    found = [wish.text] if wish.text else []
    for lesson in lessons:
        found += [lesson.text, known.lines.get(lesson.id, "")]
    found += (candidate.text for candidate in candidates)
    return [text for text in dict.fromkeys(found) if forgotten.has_words(text)]


def _says(texts: Iterable[str], ids: Iterable[str]) -> Callable[[str], bool]:
    """Whether something told is about one of these."""
    wordings, names = tuple(texts), tuple(ids)

    def says(told: str) -> bool:
        return any(name in told for name in names) or any(
            holds(told, text) or is_near(text, told) for text in wordings
        )

    return says


def _says_nothing(_: str) -> bool:
    return False


def _summaries(
    known: Known, wish: Wish, candidates: Iterable[Candidate], says: Callable[[str], bool]
) -> Iterator[ThreadMark]:
    """Of a thread that proves it, all is dropped: it may be told there in other words."""
    threads = {proof.thread for c in candidates for proof in c.evidence} | {wish.thread}
    for mark in known.threads.values():
        if mark.summary and (
            mark.thread in threads
            or (wish.end and mark.active >= wish.begin)
            or any(map(says, _sentences(mark.summary)))
        ):
            yield mark


def _of_wish(wish: Wish, now: float) -> tuple[Tombstone, ...]:
    if wish.text:
        return (forgotten.phrase_tombstone(wish.text, now),)
    if wish.thread:
        return (forgotten.thread_tombstone(wish.thread, wish.upto, now),)
    if wish.end:
        return (forgotten.time_tombstone(wish.begin, wish.end, now),)
    return ()


def retells(report: Report, texts: Iterable[str], ids: Iterable[str]) -> bool:
    """Whether a report quotes one of these texts, or names one of these ids."""
    return any(map(_says(texts, ids), _strings(report.body)))


def _sentences(text: str) -> list[str]:
    return [text, *(part for part in _SENTENCE.split(text) if part)]


def _strings(body: str) -> Iterator[str]:
    """Every text in a report, which is JSON."""
    try:
        waiting: list[Any] = [json.loads(body)]
    except ValueError:
        waiting = [body]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield from _sentences(found)
        elif isinstance(found, dict):
            waiting += [*found, *found.values()]
        elif isinstance(found, list):
            waiting += found

"""`summary.md`: what a fresh context is told of the memory. Pure, and without a model.

So a person's edit of `MEMORY.md` reaches it at once, and nothing gets into it that is not there.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pannier import redaction
from pannier.learning.files.memoryfile import Memory
from pannier.learning.files.share import newest, worth
from pannier.learning.guards.visible import unframed
from pannier.learning.lessons import Lesson
from pannier_hook.textrules import clean

LONGEST = 4_000
"""Code points: what the hook delivers of the file."""
_LINE = 400
"""Code points of a lesson here; its beginning."""
_NAME = 60
"""Of a section's name."""
_REST = 300
"""Kept free for what is said of the rest."""
_HEAD = """\
---
type: Learned memory index
---

{what} All of it: agent-memory/MEMORY.md. A summary of each conversation: \
agent-memory/session_summaries/.
"""
_NOT_SAID = ("```", "~~~", "<!-")
_WHOLE = "Lessons from past conversations."
_PART = "Lessons from past conversations, the most useful of them."


@dataclass(frozen=True)
class _Entry:
    place: int
    heading: int
    """Which one it stands below: a name may occur twice."""
    section: str
    text: str
    worth: float


def summary(memory: Memory, lessons: Mapping[str, Lesson]) -> str:
    """The file's text, at most LONGEST code points; "" for a memory without a lesson.

    All lessons where there is room, else the most useful, in the order and under the headings of
    the memory, and which sections hold more. `lessons`: what is known of them, by id.
    """
    entries = _entries(memory, lessons)
    if not entries:
        return ""
    whole = _HEAD.format(what=_WHOLE) + _body(entries)
    if len(whole) <= LONGEST and all(len(e.text) <= _LINE for e in entries):
        return whole
    head = _HEAD.format(what=_PART)
    shown = _fitting(entries, LONGEST - len(head) - _REST)
    body = head + _body(shown)
    places = {e.place for e in shown}
    left = [e for e in entries if e.place not in places]
    return body + _more(left, LONGEST - len(body))


def _entries(memory: Memory, lessons: Mapping[str, Lesson]) -> list[_Entry]:
    """Lessons, and what a person wrote beside them; code and comments are left to the file."""
    last = newest(lessons.values())
    found = [
        (line.first, _one_line(line.text), worth(lessons.get(line.id), last))
        for line in memory.lessons.values()
    ]
    for own in memory.own:
        text = _one_line(own.text).lstrip("-*+> ")
        if own.text.lstrip()[:3] not in _NOT_SAID and any(map(str.isalnum, text)):
            found.append((own.first, text, worth(None, last)))
    headings = [h.first for h in memory.headings]
    entries = []
    for place, text, value in sorted(found):
        at = bisect(headings, place) - 1
        section = _short(_one_line(memory.headings[at].text), _NAME) if at >= 0 else ""
        entries.append(_Entry(place, at, section, text, value))
    return entries


def _one_line(text: str) -> str:
    return " ".join(redaction.mask(clean(unframed(text))).split())


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _body(entries: Sequence[_Entry]) -> str:
    lines: list[str] = []
    heading = -1
    for entry in entries:
        if entry.heading != heading:
            heading = entry.heading
            lines += ["", f"## {entry.section}", ""]
        elif not lines:
            lines.append("")
        lines.append(f"- {_short(entry.text, _LINE)}")
    return "".join(f"{line}\n" for line in lines)


def _fitting(entries: Sequence[_Entry], room: int) -> list[_Entry]:
    """The most useful ones for which there is room, in their order."""
    chosen: list[_Entry] = []
    begun: set[int] = set()
    for entry in _most_useful_first(entries):
        cost = len(_short(entry.text, _LINE)) + 3
        if entry.heading not in begun:
            cost += len(entry.section) + 6
        if cost <= room:
            room -= cost
            chosen.append(entry)
            begun.add(entry.heading)
    return sorted(chosen, key=lambda e: e.place)


def _most_useful_first(entries: Sequence[_Entry]) -> list[_Entry]:
    """Of those that are worth the same, one of each section, then the second of each, …"""
    seen: Counter[tuple[int, float]] = Counter()
    order = []
    for entry in entries:
        seen[entry.heading, entry.worth] += 1
        order.append((-entry.worth, seen[entry.heading, entry.worth], entry.place, entry))
    return [entry for *_, entry in sorted(order, key=lambda o: o[:3])]


def _more(left: Sequence[_Entry], room: int) -> str:
    """Which sections hold how many more, in one line."""
    if not left:
        return ""
    counts: dict[str, int] = {}
    for entry in left:
        counts[entry.section] = counts.get(entry.section, 0) + 1
    named = [f"{name or 'without a heading'} ({n})" for name, n in counts.items()]
    for shown in range(len(named), -1, -1):
        rest = len(named) - shown
        others = [f"{rest} more section{'s' * (rest > 1)}"] if rest else []
        line = f"\nMore in MEMORY.md: {', '.join(named[:shown] + others)}.\n"
        if len(line) <= room:
            return line
    return ""

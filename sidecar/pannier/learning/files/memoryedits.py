"""Edits of `MEMORY.md`: one changes the lines of its lesson and no other byte. Pure.

Whatever stands around them: line endings, a byte order mark, no newline at the end. After each
edit the text is read anew: unless it says just what it said before, but for the edit, the next way
of writing it is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from pannier.errors import PannierError
from pannier.learning.files.memoryfile import BOM, Heading, Line, Memory, blank, heading_for, parse

_REMOVED = "…"
"""In the place of a lesson that goes, where a person wrote something below it."""

_MOST_TRIED = 500
"""Lines before which a new section is tried, in a file that leaves no better place for it."""

_T = TypeVar("_T")


def add(memory: Memory, id: str, text: str, section: str) -> Memory:
    """With one lesson more, at the end of its section, which is made where it is missing.

    `text` is one that `escaped` gave. Raises PannierError where the file leaves no place for it.
    """
    section = heading_for(memory, section)
    wanted = (id, text, section)
    new_ones = [] if section in memory.sections else [section]
    # What is indented by two or three would belong to an item above it that has a narrow bullet.
    words = f"{text} ^{id}"
    both = (_places(memory, section, words, bullet) for bullet in ("- ", "-   "))
    for at, lines in chain.from_iterable(both):
        new = parse(_inserted(memory, at, lines))
        if _without(_facts(new), [wanted]) == _facts(memory) and (
            _without(_titles(new), new_ones) == _titles(memory)
        ):
            return new
    raise PannierError(
        f"MEMORY.md: there is no place for a lesson in the section {section}",
        "Look for a code block or a comment in it that is not closed.",
    )


def revise(memory: Memory, id: str, text: str) -> Memory:
    """With another text for a lesson. A copy of it, with the same id, changes too.

    Raises KeyError for an id that is not there, PannierError where it cannot be changed.
    """
    lines = list(memory.lines)
    copies = _copies(memory, id)
    for line in reversed(copies):
        ending = _ending(lines[line.last - 1])
        lines[line.first : line.last] = [f"{line.bullet}{text} ^{id}{ending}"]
    new = parse("".join(lines))
    facts = [(x.id, text if x in copies else x.text, x.section) for x in memory.marked]
    if _facts(new) != facts or _titles(new) != _titles(memory):
        raise PannierError(f"MEMORY.md: the lesson {id} cannot be changed in its place")
    return new


def remove(memory: Memory, ids: Iterable[str]) -> Memory:
    """Without these lessons, and without a section that held nothing else.

    What a person wrote below a lesson stays, as does a copy that they changed. Ids that are
    not there are passed over. Raises PannierError where one cannot be removed.
    """
    gone = [x for id in dict.fromkeys(ids) if id in memory.lessons for x in _copies(memory, id)]
    facts = [_fact(x) for x in memory.marked if x not in gone]
    empty = _emptied(memory, gone)
    for without in (empty, []):
        for instead in ("", "\n", _REMOVED):
            new = parse(_cut(memory, gone, without, instead))
            titles = [h.text for h in memory.headings if h not in without]
            if _facts(new) == facts and _titles(new) == titles:
                return new
    raise PannierError("MEMORY.md: a lesson cannot be removed", "Remove its line by hand.")


def rename(memory: Memory, sections: Iterable[str], name: str) -> Memory:
    """With this heading in the place of those.

    Raises PannierError where one cannot be changed.
    """
    wanted = set(sections)
    lines = list(memory.lines)
    for h in reversed(memory.headings):
        if h.text in wanted:
            lines[h.first : h.last] = [f"{'#' * h.level} {name}{_ending(lines[h.last - 1])}"]
    new = parse("".join(lines))
    facts = [(x.id, x.text, name if x.section in wanted else x.section) for x in memory.marked]
    if _facts(new) != facts:
        raise PannierError("MEMORY.md: a heading cannot be changed", "Change it by hand.")
    return new


def _copies(memory: Memory, id: str) -> list[Line]:
    """A lesson's line, and what is the same elsewhere."""
    text = memory.lessons[id].text
    return [line for line in memory.marked if line.id == id and line.text == text]


def _places(
    memory: Memory, section: str, words: str, bullet: str
) -> Iterator[tuple[int, list[str]]]:
    """Where it could go, the best place first: before which line, and the lines."""
    here = [h for h in memory.headings if h.text == section]
    item = bullet + words
    if not here:
        yield from _new_section(memory, section, item)
        return
    beside = [x for x in memory.marked if x.section == section and not x.nested]
    if beside:
        last = beside[-1]
        like = last.bullet.strip() in ("-", "*", "+")
        line = f"{last.bullet}{words}" if like else item
        yield last.end, [line]
        yield last.end, [line, ""]
        yield last.end, ["", line, ""]
    for heading in here:
        end = _end_of(memory, heading)
        goes_on = end < len(memory.lines) and not blank(memory.lines[end])
        yield end, [""] * (end - 1 not in memory.items) + [item] + [""] * goes_on
        yield end, ["", item, ""]
        yield heading.last, ["", item, ""]


def _new_section(memory: Memory, section: str, item: str) -> Iterator[tuple[int, list[str]]]:
    lines = [f"## {section}", "", item]
    open_end = bool(memory.lines) and not blank(memory.lines[-1])
    yield len(memory.lines), [""] * open_end + lines
    # At its end something is open, such as a code block: then further up, between other things.
    borders = {h.first for h in memory.headings if h.level > 1}
    borders |= {h.last for h in memory.headings} | {x.end for x in memory.marked}
    anywhere = range(len(memory.lines), memory.start, -1)[:_MOST_TRIED]
    for at in (*sorted(borders, reverse=True), memory.start, *anywhere):
        yield at, ["", *lines, ""]


def _end_of(memory: Memory, heading: Heading) -> int:
    """The line behind the last one of a section in which something stands."""
    end = _next(memory, heading)
    while end > heading.last and blank(memory.lines[end - 1]):
        end -= 1
    return end


def _next(memory: Memory, heading: Heading) -> int:
    later = (h.first for h in memory.headings if h.first > heading.first)
    return next(later, len(memory.lines))


def _emptied(memory: Memory, gone: Sequence[Line]) -> list[Heading]:
    """Headings below which nothing is left without these lessons."""
    left = {n for n, line in enumerate(memory.lines) if not blank(line)}
    left -= {n for x in gone if x.alone for n in range(x.first, x.last)}
    touched = {x.first for x in gone}
    return [
        h
        for h in memory.headings
        if h.level > 1
        and any(n in touched for n in range(h.last, _next(memory, h)))
        and not any(n in left for n in range(h.last, _next(memory, h)))
        and not any(x.first == _next(memory, h) and x.level > h.level for x in memory.headings)
    ]


def _cut(memory: Memory, gone: Sequence[Line], empty: Sequence[Heading], instead: str) -> str:
    """The text without these lessons and headings; `instead` stands in the place of a lesson."""
    lines: list[str] = list(memory.lines)
    for x in gone:
        ending = _ending(lines[x.last - 1])
        put = f"{x.bullet}{_REMOVED}{ending}" if instead == _REMOVED or not x.alone else ""
        rest = [""] * (x.last - x.first - 1)
        lines[x.first : x.last] = [put or (ending if instead else ""), *rest]
    for h in empty:
        first, behind = h.first, _next(memory, h)
        if behind == len(lines):
            while first > memory.start and blank(lines[first - 1]):
                first -= 1
        lines[first:behind] = [""] * (behind - first)
    text = "".join(lines)
    return BOM + text if memory.text.startswith(BOM) and not text.startswith(BOM) else text


def _inserted(memory: Memory, at: int, lines: Sequence[str]) -> str:
    newline = next((e for x in memory.lines if (e := _ending(x))), "\n")
    before, behind = "".join(memory.lines[:at]), "".join(memory.lines[at:])
    if not at and behind.startswith(BOM):
        before, behind = BOM, behind.removeprefix(BOM)
    if at and not _ending(memory.lines[at - 1]):
        return before + "".join(newline + line for line in lines) + behind
    return before + "".join(line + newline for line in lines) + behind


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


_Fact = tuple[str, str, str]


def _fact(line: Line) -> _Fact:
    return line.id, line.text, line.section


def _facts(memory: Memory) -> list[_Fact]:
    """What the file says: an edit changes this and nothing more of it."""
    return [_fact(line) for line in memory.marked]


def _titles(memory: Memory) -> list[str]:
    return [h.text for h in memory.headings]


def _without(found: Sequence[_T], new: Sequence[_T]) -> list[_T] | None:
    """What was found without what is new; None if that is not there."""
    left = list(found)
    for one in new:
        if one not in left:
            return None
        left.remove(one)
    return left

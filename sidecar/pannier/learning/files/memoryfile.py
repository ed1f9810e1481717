"""`MEMORY.md`: sections with lessons, each a list item that ends in an id. Pure.

    ## Quotes

    - Anything over $40k needs sign-off. ^3f9a1c2

Everything else in the file is a person's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pannier.errors import PannierError
from pannier.learning.guards.visible import unframed, unlabelled
from pannier.learning.lessons import Lesson
from pannier_hook.textrules import one_line

FRESH = """\
---
type: Learned memory
title: Learned memory
description: Lessons from past conversations, by topic. A line that ends in an id is kept up to \
date by pannier; every other line stays as a person wrote it.
---

# Learned memory
"""
"""What the file begins with. No times: a lesson more changes only its own line."""
NOWHERE = "General"
"""The section of what belongs to no other."""
FROM_TOOL = " (seen in tool output)"
"""Behind the text of a lesson that nobody but a tool speaks for."""
LONGEST_SECTION = 80
"""Code points of a heading that we write."""
_LONGEST_LESSON = 2_000

BOM = "\ufeff"
"""Byte order mark; some editors put one at the beginning."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_ID = re.compile(r"(?=\d*[a-f])[0-9a-f]{7}")


@dataclass(frozen=True)
class Line:
    """A lesson as it stands in the file. Lines count from 0."""

    id: str
    text: str
    """In one line, with single spaces."""
    section: str
    """The text of the heading above; "" where there is none."""
    bullet: str
    """What stands before its text, in its first line."""
    first: int
    last: int
    """The first line behind its text."""
    end: int
    """The first line behind what belongs to its list item."""
    nested: bool
    """It stands in another list item."""

    @property
    def alone(self) -> bool:
        """Nobody wrote anything below it."""
        return self.end == self.last


@dataclass(frozen=True)
class Heading:
    """A heading of any level."""

    text: str
    level: int
    first: int
    last: int
    """The first line behind it."""


@dataclass(frozen=True)
class Own:
    """A person's words: a paragraph, a list item, whatever stands between blank lines."""

    text: str
    """As it stands there, lines and all."""
    section: str
    first: int


@dataclass(frozen=True)
class Memory:
    """The file, understood."""

    text: str
    lines: tuple[str, ...]
    """With their endings."""
    start: int
    """The first line behind the frontmatter."""
    headings: tuple[Heading, ...]
    marked: tuple[Line, ...]
    """All list items with an id, in order; an id that was copied stands there more than once."""
    items: frozenset[int]
    """Lines at which a list item begins."""

    @cached_property
    def lessons(self) -> dict[str, Line]:
        """By id, in order. Of an id that stands there twice, the first: a person copied a line."""
        found: dict[str, Line] = {}
        for line in self.marked:
            found.setdefault(line.id, line)
        return found

    @property
    def sections(self) -> tuple[str, ...]:
        """The headings' texts in order, each once."""
        return tuple(dict.fromkeys(h.text for h in self.headings))

    @cached_property
    def own(self) -> tuple[Own, ...]:
        """What is no lesson, no heading and no frontmatter."""
        return tuple(_own(self))

    @property
    def is_bare(self) -> bool:
        """Nothing stands in it but what we begin a file with."""
        return not self.marked and not self.own and len(self.headings) <= 1

    def section_of(self, line: int) -> str:
        """The text of the nearest heading above a line."""
        return next((h.text for h in reversed(self.headings) if h.first <= line), "")


# ------------------------------------------------------------------------------------- reading it


def decode(data: bytes, name: str) -> str:
    """The text of a file, which `name` names. Raises PannierError for one that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PannierError(
            f"{name}, line {line}: it is not text in UTF-8",
            "Save it as UTF-8; until then nothing is written there.",
        ) from None


def digest(text: str) -> str:
    """SHA-256 in hexadecimal; "" of an empty text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest() if text else ""


def parse(text: str) -> Memory:
    """Whatever a person made of the file, it can be read."""
    lines = tuple(_LINES.findall(text))
    start = _behind_frontmatter(lines)
    body = "".join(lines[start:])
    tokens = _parser().parse(body.removeprefix(BOM) if start == 0 else body)
    headings: list[Heading] = []
    items: set[int] = set()
    marked: list[Line] = []
    quotes = 0
    for at, token in enumerate(tokens):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.map is None or quotes:
            continue
        if token.type == "heading_open" and token.level == 0:
            words = " ".join(tokens[at + 1].content.split())
            first, last = token.map
            headings.append(Heading(words, int(token.tag[1:]), start + first, start + last))
        elif token.type == "list_item_open":
            items.add(start + token.map[0])
            section = headings[-1].text if headings else ""
            marked += _marked(lines, start, tokens[at : at + 3], section)
    return Memory(text, lines, start, tuple(headings), tuple(marked), frozenset(items))


def _marked(
    lines: Sequence[str], start: int, tokens: Sequence[Token], section: str
) -> Iterator[Line]:
    """`tokens`: the beginning of a list item, and the two behind it (its end, at least)."""
    item, paragraph, inline = tokens
    if paragraph.type != "paragraph_open" or not (item.map and paragraph.map):
        return
    words, mark, id = inline.content.strip().rpartition("^")
    text = " ".join(words.split())
    if not (mark and text and words[-1:].isspace() and _ID.fullmatch(id)):
        return
    first, last = (start + n for n in paragraph.map)
    end = start + item.map[1]
    while end > last and blank(lines[end - 1]):
        end -= 1
    begin = len(lines[first].rstrip()) - len(inline.content.partition("\n")[0].rstrip())
    bullet = lines[first][:begin]
    yield Line(id, text, section, bullet, first, last, end, nested=item.level > 1)


def blank(line: str) -> bool:
    """Nothing stands in it, but perhaps a byte order mark."""
    return not line.removeprefix(BOM).strip()


def _behind_frontmatter(lines: Sequence[str]) -> int:
    if not lines or lines[0].removeprefix(BOM).rstrip() != "---":
        return 0
    return next((n + 1 for n, x in enumerate(lines) if n and x.rstrip() == "---"), 0)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Blocks alone: what stands within a line does not matter here."""
    return MarkdownIt("commonmark").disable("inline")


def _own(memory: Memory) -> Iterator[Own]:
    taken = {n for h in memory.headings for n in range(h.first, h.last)}
    taken |= {n for line in memory.marked for n in range(line.first, line.last)}
    begun = memory.start
    for n in range(memory.start, len(memory.lines) + 1):
        over = n == len(memory.lines) or n in taken or blank(memory.lines[n])
        if (over or n in memory.items) and begun < n:
            text = "".join(memory.lines[begun:n]).removeprefix(BOM)
            if text.strip():
                yield Own(text, memory.section_of(begun), begun)
            begun = n
        if over:
            begun = n + 1


# ---------------------------------------------------------------------------------- what we write


def escaped(text: str) -> str:
    """A lesson's text as it can stand in one line: what would begin another kind of block is
    escaped (CommonMark 0.31.2, 2.4), and what is not seen, or ours, goes. "" for a text without
    words."""
    line = unlabelled(" ".join(one_line(unframed(text), _LONGEST_LESSON).split()))
    if not line or _stands(line):
        return line
    number = re.match(r"\d+(?=[.)])", line)
    return f"{number[0]}\\{line[number.end() :]}" if number else f"\\{line}"


def _stands(line: str) -> bool:
    return [x.text for x in parse(f"- {line} ^a000000\n").marked] == [line]


def text_of(lesson: Lesson) -> str:
    """As it stands in the file, without the id."""
    return lesson.text + FROM_TOOL * (lesson.source == "tool")


def heading_for(memory: Memory, section: str) -> str:
    """The section of this name as it is written in the file, else a new heading's text."""
    words = " ".join(one_line(unframed(section), LONGEST_SECTION).split()).lstrip("# ")
    words = re.sub(r"(?:^|\s)#+$", "", words).rstrip("\\ ") or NOWHERE
    same = [h.text for h in memory.headings if h.text.casefold() == words.casefold()]
    return same[0] if same else words

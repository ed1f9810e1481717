"""What a person did with `MEMORY.md` since it was written: their edits stand. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pannier.learning.files.memoryfile import FROM_TOOL, Line, Memory, text_of
from pannier.learning.lessons import Kind, Lesson, Source
from pannier.learning.merge import Change

EDITED = "a person edited the line"
WRITTEN = "a person wrote the line"
DELETED = "a person deleted the line"
MOVED = "a person moved the line"
AGAIN = "a person put the line back"


@dataclass(frozen=True)
class Adopted:
    """The lessons as the file has them, and what a person changed."""

    lessons: dict[str, Lesson]
    changes: tuple[Change, ...]

    @property
    def deleted(self) -> tuple[Lesson, ...]:
        return tuple(c.lesson for c in self.changes if c.what == "remove")


def adopt(
    memory: Memory, lessons: Iterable[Lesson], past: Iterable[Lesson], edited: int, now: float
) -> Adopted:
    """The file is the truth about what stands in it.

    `lessons`: those that stood there when we wrote last; `past`: those that had left it before.
    `edited`: when the file was changed, in nanoseconds since 1970: only what was said later
    changes what a person wrote.
    """
    known = {lesson.id: lesson for lesson in lessons}
    before = {lesson.id: lesson for lesson in past}
    found: dict[str, Lesson] = {}
    changes: list[Change] = []
    for line in memory.lessons.values():
        old = known.get(line.id)
        new, why = _as_it_stands(line, old or before.get(line.id), old is None, edited, now)
        found[line.id] = new
        if why:
            if old is None:
                changes.append(Change("add", new, why=why))
            else:
                changes.append(Change("revise", new, before=old.text, why=why))
    gone = [lesson for id, lesson in known.items() if id not in found]
    changes += [Change("remove", lesson, why=DELETED) for lesson in gone]
    return Adopted(found, tuple(changes))


def _as_it_stands(
    line: Line, old: Lesson | None, is_new: bool, edited: int, now: float
) -> tuple[Lesson, str]:
    """The lesson as its line has it, and what a person did; "" : nothing."""
    if old is not None and line.text == text_of(old):
        if is_new:
            return replace(old, section=line.section, by="person", changed=now, said=edited), AGAIN
        if line.section != old.section:
            return replace(old, section=line.section), MOVED
        return old, ""
    told = line.text.endswith(FROM_TOOL)
    text = line.text.removesuffix(FROM_TOOL)
    source: Source = "tool" if told else "person"
    if old is None:
        kind: Kind = "environment" if told else "preference"
        new = Lesson(line.id, line.section, text, kind, source, now, now, now, edited, by="person")
        return new, WRITTEN
    kind = "environment" if told else old.kind
    new = replace(
        old, section=line.section, text=text, kind=kind, source=source, changed=now, confirmed=now,
        said=max(edited, old.said), by="person",
    )  # fmt: skip
    return new, EDITED

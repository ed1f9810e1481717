"""Lessons as they stand in MEMORY.md now: a person may have edited it since."""

from __future__ import annotations

from pannier import safefs
from pannier.errors import PannierError, described
from pannier.learning import memoryfile
from pannier.learning.lessons import Lesson
from pannier.paths import GroupPaths

MEMORY = "MEMORY.md"
_LIMIT = 64 << 20


def memory(paths: GroupPaths) -> str:
    """The file's text; "" where there is none. Raises PannierError."""
    path = paths.learned / MEMORY
    try:
        found = safefs.read(paths.learned, MEMORY, limit=_LIMIT, missing=b"")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise PannierError(described(error)) from error
    return memoryfile.decode(found, str(path))


def lines(paths: GroupPaths) -> dict[str, str]:
    """The lessons that stand there, by id. Raises PannierError."""
    return {id: line.text for id, line in memoryfile.parse(memory(paths)).lessons.items()}


def text_of(lesson: Lesson) -> str:
    """As its line has it, unless a person edited it."""
    return memoryfile.text_of(lesson)

"""Lessons as they stand in MEMORY.md now: a person may have edited it since."""

from __future__ import annotations

from pannier.learning import folder
from pannier.learning.memoryfile import parse
from pannier.paths import Home


def memory(home: Home, grp: str) -> str:
    """The file's text; "" where there is none. Raises PannierError."""
    with folder.opened(home, grp) as there:
        return there.text(folder.MEMORY) if there is not None else ""


def lines(home: Home, grp: str) -> dict[str, str]:
    """The lessons that stand there, by id. Raises PannierError."""
    return {id: line.text for id, line in parse(memory(home, grp)).lessons.items()}

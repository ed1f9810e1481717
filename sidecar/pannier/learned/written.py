"""Lessons as they stand in MEMORY.md now: a person may have edited it since."""

from __future__ import annotations

from pannier.learning.files.folder import memory_text
from pannier.learning.files.memoryfile import parse
from pannier.paths import Home


def lines(home: Home, grp: str) -> dict[str, str]:
    """The lessons that stand there, by id. Raises PannierError."""
    return {id: line.text for id, line in parse(memory_text(home, grp)).lessons.items()}

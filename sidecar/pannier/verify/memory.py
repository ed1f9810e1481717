"""The memory of a group as the hook would deliver it now, read from the host."""

from __future__ import annotations

from contextlib import suppress

from pannier import safefs
from pannier.errors import UnsafePath
from pannier.paths import GroupPaths
from pannier.verify.measure import MemoryText
from pannier_hook.context import sections


def read_memory(paths: GroupPaths) -> tuple[MemoryText, ...]:
    """Each file that is injected. One that the hook would name as unavailable has no text."""
    return tuple(
        MemoryText(
            section.file.path,
            _characters(paths, section.file.path) or len(section.text),
            section.text,
        )
        for section in sections(str(paths.root))
    )


def _characters(paths: GroupPaths, path: str) -> int:
    """Of the whole file; 0 if it cannot be read, or is too long to be read whole."""
    with suppress(OSError, UnsafePath):
        return len(safefs.read(paths.root, *path.split("/")).decode("utf-8", "replace"))
    return 0

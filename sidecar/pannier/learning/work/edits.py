"""Which memories a person edited since they were written last. Asked often, so little is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pannier.errors import PannierError
from pannier.learning.files import folder
from pannier.learning.files.memoryfile import digest
from pannier.learning.store.rows import GroupMark
from pannier.paths import Home

_Stamp = tuple[int, int, int]
_NONE: _Stamp = (0, 0, 0)
"""Of a file that is not there: who deleted it, edited it, too."""


class Edits:
    """Reads a file again only when it was written or replaced."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._known: dict[str, tuple[_Stamp, str]] = {}
        """Of each group's MEMORY.md, when it was what."""

    def stamps(self, groups: Iterable[str]) -> dict[str, _Stamp]:
        """Of each group's memory another one whenever it was written, replaced or deleted."""
        found = {}
        for grp in groups:
            with suppress(OSError):
                found[grp] = _stamp(self.home.group(grp).learned / folder.MEMORY)
        return found

    def found(self, marks: Mapping[str, GroupMark], groups: Iterable[str]) -> frozenset[str]:
        """The groups of which a person edited the memory. One that cannot be read is none: whoever
        merges into it says so."""
        known: dict[str, tuple[_Stamp, str]] = {}
        for grp, stamp in self.stamps(groups).items():
            before = self._known.get(grp)
            with suppress(PannierError):
                known[grp] = before if before and before[0] == stamp else self._read(grp, stamp)
        self._known = known
        return frozenset(
            grp for grp, (_, now) in known.items() if now != marks.get(grp, GroupMark()).memory
        )

    def _read(self, grp: str, stamp: _Stamp) -> tuple[_Stamp, str]:
        return stamp, digest(folder.memory_text(self.home, grp)) if stamp != _NONE else ""


def _stamp(path: Path) -> _Stamp:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return _NONE
    return status.st_ino, status.st_mtime_ns, status.st_size

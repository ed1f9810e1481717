"""One thing that is said about a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing about one path below the memory folder, which is itself the empty path.

    `line` counts from 1; None is the whole. `rule` is a fixed word for programs. `path` is as it is
    on disk and can hold anything; `message` is one line of printable characters.
    """

    path: str
    line: int | None
    level: Level
    rule: str
    message: str


def counted(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"

"""What was looked at and found, for a person and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `subject` is what it is about: engine, a group, an image …"""

    level: Level
    subject: str
    message: str
    advice: str = ""

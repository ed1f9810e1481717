"""A likely secret, and where in a text it is."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Secret:
    """Where in a text a likely secret is, in code points, and of what kind; not what it says."""

    start: int
    end: int
    kind: str


def at(match: re.Match[str], kind: str) -> Secret:
    """What a pattern found: its group `value`, or all of it."""
    return Secret(*match.span("value" if "value" in match.re.groupindex else 0), kind)

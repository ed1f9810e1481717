"""What a worker did, in words for people, and as a line between it and the daemon. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from pannier.shown import brief


@dataclass(frozen=True)
class Told:
    """Something that a worker did, or could not do."""

    grp: str
    work: str
    result: Mapping[str, Any]
    """As in the report; {} when it failed."""
    failed: str = ""

    def line(self) -> str:
        """For a program that reads it from a pipe."""
        return json.dumps(asdict(self))

    @property
    def trouble(self) -> str:
        """Why it is not done, and when it is tried again; "": it is."""
        if self.failed:
            return self.failed
        found = self.result.get("trouble")
        if not found:
            return ""
        again = self.result["not_before"]
        until = f"again at {_moment(again)}" if again else "until settings or environment change"
        return f"{found['why']} ({until})"

    @property
    def level(self) -> Literal["info", "warning"]:
        return "warning" if self.trouble or self.result.get("aside") else "info"

    def __str__(self) -> str:
        if self.failed:
            return f"{NAMES[self.work]} stopped: {self.failed}"
        parts = list(_extracted(self.result) if self.work == "extract" else _merged(self.result))
        if self.trouble:
            parts.append(f"{NAMES[self.work]} waits: {self.trouble}")
        return "; ".join(parts)


NAMES = {"extract": "extraction", "consolidate": "consolidation"}
"""Of works, for people."""
_VERBS = {
    "add": "learned",
    "revise": "changed",
    "remove": "removed",
    "drop": "dropped for want of room",
    "confirm": "confirmed",
}
_MOST_QUOTED = 5
"""Lessons of which the text is told."""


def told(line: str) -> Told | None:
    """From a line; None if it is none of ours."""
    try:
        return Told(**json.loads(line))
    except (ValueError, TypeError):
        return None


def _extracted(result: Mapping[str, Any]) -> Iterator[str]:
    threads = result.get("threads", [])
    if threads:
        read = threads[0] if len(threads) == 1 else f"{len(threads)} threads"
        held = f", {result['held']} held for approval" if result["held"] else ""
        yield f"read {read}: {_count(result['found'], 'candidate')}{held}"
    elif not result.get("trouble") and not result.get("aside"):
        yield "there was nothing new to read"
    for name, why in result.get("aside", []):
        yield f"a part of {name} was set aside: {why}"


def _merged(result: Mapping[str, Any]) -> Iterator[str]:
    if result.get("proposed"):
        number = _count(len(result.get("changes", [])), "change")
        yield f"proposes {number}: pannier learned approve"
        return
    changes = [one for one in result.get("changes", []) if one["what"] != "confirm"]
    for one in changes[:_MOST_QUOTED]:
        yield f"{_VERBS.get(one['what'], one['what'])} “{brief(one['text'], 160)}”"
    if len(changes) > _MOST_QUOTED:
        yield f"and {_count(len(changes) - _MOST_QUOTED, 'change')} more"
    if not changes and not result.get("trouble"):
        yield "nothing of the memory changed"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")

"""What the daemon says: one line an event."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pannier.serve.words import joined
from pannier.shown import shown

Level = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Event:
    """Something that happened. `group` is empty for what concerns the whole home."""

    level: Level
    group: str
    event: str
    """For programs: `container.started`, `engine.gone` …"""
    message: str
    """For people."""


Log = Callable[[Event], None]
Format = Callable[[Event, float], str]


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain(event: Event, at: float) -> str:
    """For people. Whatever the message holds, it is one line."""
    message = shown(joined(event.message))
    return f"{timestamp(at)} {event.level:<7} {event.group or '-'} {event.event}: {message}"


def as_json(event: Event, at: float) -> str:
    """For programs: one object a line."""
    fields = {
        "time": timestamp(at),
        "level": event.level,
        "group": event.group or None,
        "event": event.event,
        "message": joined(event.message),
    }
    return json.dumps(fields, ensure_ascii=True)

"""What Claude Code wrote and when it called its hook, as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pannier.clients.transcript import (
    ASKED_ITSELF,
    After,
    Entry,
    Line,
    Message,
    State,
    TurnBegins,
    TurnEnds,
)
from pannier.clients.transcripts import claude
from pannier_hook.events import Event, Log

STORIES = Path(__file__).parent / "claude"
NAMES = sorted(story.name for story in STORIES.iterdir() if story.is_dir())


@dataclass(frozen=True)
class HandOver:
    """An event, and the records that were new with it."""

    event: Event
    lines: tuple[Line, ...]


def hand_overs(story: str) -> list[HandOver]:
    """What the hook handed over, in order."""
    events = (STORIES / story / "events.jsonl").read_text().splitlines()
    return [_hand_over(story, number, json.loads(line)) for number, line in enumerate(events)]


def _hand_over(story: str, number: int, said: dict[str, Any]) -> HandOver:
    lines: tuple[Line, ...] = ()
    if name := said.get("log"):
        begin, end = said["lines"]
        lines = tuple(_lines(STORIES / story / name.rpartition("/")[2], name))[begin:end]
    event = event_of(
        said["kind"],
        id=f"{number:016x}",
        at=said["at"],
        session=said["session"],
        turn=said["turn"],
        details=said["details"],
        log=Log(name, lines[0].offset if lines else 0) if name else None,
    )
    return HandOver(event, lines)


def event_of(kind: str, **more: Any) -> Event:
    return Event(kind, **{"at": 1, "client": "claude", "session": "s", **more})


def _lines(file: Path, log: str) -> Iterator[Line]:
    at = 0
    for line in file.read_bytes().splitlines(keepends=True):
        yield Line(log, at, line.removesuffix(b"\n"))
        at += len(line)


def read(parts: list[HandOver]) -> list[Entry]:
    """One hand-over after the other, each session's state kept as JSON between them."""
    states: dict[str, State] = {}
    found: list[Entry] = []
    for part in parts:
        reading = claude.read(part.event, part.lines, states.get(part.event.session, {}))
        states[part.event.session] = json.loads(json.dumps(reading.state))
        found += reading.entries
    return found


def told(entries: list[Entry], *, inner: str = "") -> list[str]:
    """The story in short lines: what was said, and how turns begin and end."""
    return [line for entry in entries if (line := _told(entry, inner))]


def _told(entry: Entry, inner: str) -> str:
    match entry:
        case Message() if entry.inner == inner:
            first = entry.text.partition("\n")[0][:40]
            return f"{entry.role} {entry.kind}: {'failed: ' if entry.failed else ''}{first}"
        case TurnBegins() if entry.inner == inner:
            return "turn begins"
        case TurnBegins() if not inner and entry.inner == ASKED_ITSELF:
            return "turn of its own begins"
        case TurnEnds() if entry.inner == inner or (not inner and entry.inner == ASKED_ITSELF):
            return f"turn {entry.outcome}"
    return ""


def branch(entries: list[Entry], tip: str = "") -> list[str]:
    """What was said on the way to the message with this key, or to the last one."""
    messages = {e.key: e for e in reversed(entries) if isinstance(e, Message) and not e.inner}
    at = messages.get(tip or next(iter(messages)))
    found = []
    while at is not None:
        found.append(at)
        at = messages.get(at.parent.key) if isinstance(at.parent, After) else None
    return told(list(reversed(found)))

"""What Codex and Gemini CLI wrote and when they called their hooks, as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pannier.clients.transcript import (
    Entry,
    HeadMoves,
    Line,
    Message,
    Reader,
    Reading,
    State,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.clients.transcripts import codex, gemini
from pannier_hook.events import Event, Log

FOLDER = Path(__file__).parent
READERS: dict[str, Reader] = {"codex": codex.read, "gemini": gemini.read}


@dataclass(frozen=True)
class HandOver:
    """An event, and the records that were new with it."""

    event: Event
    lines: tuple[Line, ...]


def names(client: str) -> list[str]:
    return sorted(one.name for one in (FOLDER / client).iterdir() if one.is_dir())


ALL = [(client, story) for client in READERS for story in names(client)]


def hand_overs(client: str, story: str) -> list[HandOver]:
    """What the hook handed over, in order."""
    events = (FOLDER / client / story / "events.jsonl").read_text().splitlines()
    return [_hand_over(client, story, n, json.loads(line)) for n, line in enumerate(events)]


def _hand_over(client: str, story: str, number: int, said: dict[str, Any]) -> HandOver:
    lines: tuple[Line, ...] = ()
    name = said.get("log")
    if name:
        begin, end = said["lines"]
        file = FOLDER / client / story / name.rpartition("/")[2]
        lines = tuple(lines_of(name, file.read_bytes()))[begin:end]
    log = Log(name, lines[0].offset if lines else 0) if name else None
    event = Event(
        said["kind"],
        id=f"{number:016x}",
        at=said["at"],
        client=client,
        session=said["session"],
        turn=said["turn"],
        agent=said.get("agent", ""),
        details=said["details"],
        log=log,
    )
    return HandOver(event, lines)


def lines_of(name: str, data: bytes) -> Iterator[Line]:
    offset = 0
    for line in data.splitlines(keepends=True):
        yield Line(name, offset, line.rstrip(b"\n"))
        offset += len(line)


def event_of(client: str, kind: str = "records", **more: Any) -> Event:
    return Event(kind, **{"id": "0" * 16, "at": 1, "client": client, "session": "s", **more})


def readings(client: str, story: str) -> list[Reading]:
    """What is read at each hand-over; each session has its own state."""
    return read_all(client, hand_overs(client, story))


def read_all(client: str, given: Sequence[HandOver]) -> list[Reading]:
    states: dict[str, State] = {}
    found = []
    for one in given:
        session = one.event.session
        state = json.loads(json.dumps(dict(states.get(session, {}))))
        found.append(READERS[client](one.event, one.lines, state))
        states[session] = found[-1].state
    return found


def entries(client: str, story: str) -> list[Entry]:
    return [entry for reading in readings(client, story) for entry in reading.entries]


def messages(client: str, story: str) -> list[Message]:
    return [entry for entry in entries(client, story) if isinstance(entry, Message)]


def told(given: Sequence[Entry], *, inner: str = "") -> list[str]:
    """What was said and how turns went, one line each; of one conversation."""
    return [line for entry in given if (line := _line(entry, inner))]


def _line(entry: Entry, inner: str) -> str:
    if isinstance(entry, HeadMoves | Usage) or entry.inner != inner:
        return ""
    if isinstance(entry, TurnBegins):
        return "begin"
    if isinstance(entry, TurnEnds):
        return entry.outcome
    failed = "!" if entry.failed else ""
    return "" if _is_setting(entry) else f"{entry.role} {entry.kind}{failed}: {entry.text}"


def _is_setting(message: Message) -> bool:
    """What the client says of where it works, and our memory."""
    begins = ("<environment_context>", "<session_context>", "# AGENTS.md", "<turn_aborted>")
    return message.kind == "memory" or message.text.startswith(begins)


def keys(given: Sequence[Entry]) -> set[tuple[str, str]]:
    """By what the store recognises entries."""
    return {
        (type(entry).__name__, entry.key)
        for entry in given
        if isinstance(entry, Message | TurnBegins | Usage)
    }

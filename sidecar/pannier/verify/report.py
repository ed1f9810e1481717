"""What `pannier verify` found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileReport:
    """One memory file in one event. Lengths in characters (code points)."""

    path: str
    """Below the agent's root, such as `memory/index.md`."""
    characters: int
    """Of the file on disk."""
    expected: int
    """After the text rules and the cap; 0 where the context already holds the memory."""
    delivered: int
    """That reached the model as they should be. More than `expected` is a second delivery."""
    where: str
    """The places of the request that held it; empty when nothing did."""

    @property
    def ok(self) -> bool:
        return self.delivered == self.expected


@dataclass(frozen=True)
class EventReport:
    """One event."""

    event: str
    files: tuple[FileReport, ...]
    problem: str = ""
    """Why the client could not be driven; one line."""
    shown: str = ""
    """The end of its output, or its screen, then."""

    @property
    def ok(self) -> bool:
        return not self.problem and all(f.ok for f in self.files)


@dataclass(frozen=True)
class Report:
    """All events of one client."""

    client: str
    events: tuple[EventReport, ...]

    @property
    def ok(self) -> bool:
        return bool(self.events) and all(e.ok for e in self.events)

    def to_json(self) -> dict[str, object]:
        """The shape that `pannier verify --json` prints."""
        return {
            "client": self.client,
            "events": [
                {"event": e.event, "files": [_file_json(f) for f in e.files]} for e in self.events
            ],
            "ok": self.ok,
        }


def _file_json(file: FileReport) -> dict[str, object]:
    return {
        "path": file.path,
        "characters": file.characters,
        "expected": file.expected,
        "delivered": file.delivered,
        "where": file.where,
    }

"""The parts of one event, put together; its records, a bounded number at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pannier.clients.transcript import Line
from pannier_hook.events import RECORDS, Event

MOST_LINES = 5_000
"""Records that a reader is given at once."""


@dataclass(frozen=True)
class Chunk:
    """As much of an event as is read and stored in one step."""

    event: Event
    """The event itself with its last records; those before come as an event of kind `records`."""
    lines: tuple[Line, ...]
    records: int
    """Of the event, up to the end of this step."""
    last: bool


def are_one(parts: Sequence[Event], other: Event) -> bool:
    """Whether `other` is the next part of the same event."""
    last = parts[-1]
    return (
        other.id == last.id
        and other.part[1] == last.part[1]
        and other.part[0] > last.part[0]
        and (other.client, other.session, other.kind) == (last.client, last.session, last.kind)
    )


def is_whole(parts: Sequence[Event]) -> bool:
    """Whether no part is missing."""
    return [part.part[0] for part in parts] == list(range(1, parts[0].part[1] + 1))


def name_of(parts: Sequence[Event]) -> str:
    """What the event is noted by, with just these of its parts."""
    return f"{parts[0].id}-{parts[0].part[0]}-{len(parts)}"


def chunks(parts: Sequence[Event], done: int = 0, most: int = MOST_LINES) -> Iterator[Chunk]:
    """The event whose parts these are, in steps; without the records that are done already."""
    event = parts[0]
    waiting: list[Line] = []
    for line in islice(lines(parts), done, None):
        if len(waiting) == most:
            done += most
            yield Chunk(_records(event), tuple(waiting), done, last=False)
            waiting = []
        waiting.append(line)
    # By the last part a reader knows that nothing of the event is missing.
    yield Chunk(parts[-1], tuple(waiting), done + len(waiting), last=True)


def lines(parts: Sequence[Event]) -> Iterator[Line]:
    """The records in the bodies, each with its place in the transcript; no empty ones.

    A line may begin in one part and end in a later one. A piece whose other piece is missing is
    left out: the hook hands it over again, for its cursor moves only after the last part.
    """
    torn, at = b"", 0
    for part in parts:
        if part.log is None:
            continue
        if at + len(torn) != part.log.offset:
            torn, at = b"", part.log.offset
        body = torn + part.body
        begin = 0
        while (end := body.find(b"\n", begin)) >= 0:
            if end > begin:
                yield Line(part.log.name, at + begin, body[begin:end])
            begin = end + 1
        torn, at = body[begin:], at + begin
        if torn and part.part[0] == part.part[1]:
            yield Line(part.log.name, at, torn)


def _records(event: Event) -> Event:
    return Event(
        RECORDS,
        id=event.id,
        at=event.at,
        hook=event.hook,
        client=event.client,
        session=event.session,
        thread=event.thread,
        task=event.task,
        turn=event.turn,
        agent=event.agent,
        log=event.log,
    )

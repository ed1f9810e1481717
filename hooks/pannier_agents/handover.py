"""Handing records over to the sidecar, through the same spool as the hook of other clients.

A thread has no transcript file: its log is the sequence of its messages, one a line, and offsets
count the bytes of those lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pannier_agents.group import Group
from pannier_hook.events import FILE_LIMIT, HEADER_LIMIT, MOST_PARTS, Event, Log
from pannier_hook.spool import put

PART = FILE_LIMIT - HEADER_LIMIT
"""Bytes of records in one event file."""
LOG = "threads/{session}"


@dataclass(frozen=True)
class HandOver:
    """An event of a session, and the records that came with it."""

    kind: str
    session: str
    details: Mapping[str, str] = field(default_factory=dict)
    records: bytes = b""
    offset: int = 0
    """Of the first record in the session's log."""


def hand_over(group: Group, what: HandOver) -> None:
    """Write its event files into the spool, in order. Raises OSError; then nothing may be gone."""
    options = group.options(what.kind)
    id, at = os.urandom(8).hex(), time.time_ns()
    parts = list(_parts(what.records))
    if len(parts) > MOST_PARTS:
        raise OSError(f"{len(what.records):,} bytes of records are more than one event can carry")
    offset = what.offset
    for number, part in enumerate(parts, 1):
        log = Log(LOG.format(session=what.session), offset) if what.records else None
        event = Event(
            what.kind,
            id=id,
            at=at,
            part=(number, len(parts)),
            client=group.client,
            session=what.session,
            thread=options.thread,
            task=options.task,
            details=dict(what.details),
            log=log,
            body=part,
        )
        put(options.spool, event)
        offset += len(part)


def _parts(records: bytes) -> Iterator[bytes]:
    """The records in pieces that fit a file, cut at a line's end where there is one."""
    start = 0
    while len(records) - start > PART:
        end = records.rfind(b"\n", start, start + PART) + 1 or start + PART
        yield records[start:end]
        start = end
    yield records[start:]

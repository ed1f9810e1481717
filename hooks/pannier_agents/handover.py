"""Handing records over to the sidecar, through the same spool as the hook of other clients.

A thread has no transcript file: its log is the sequence of its messages, one a line, and offsets
count the bytes of those lines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pannier_agents.group import Group
from pannier_hook.events import FILE_LIMIT, HEADER_LIMIT, MOST_PARTS, Event, Log
from pannier_hook.increment import cut
from pannier_hook.spool import Draft, Spool, new_id

PART = FILE_LIMIT - HEADER_LIMIT
"""Bytes of records in one event file."""
LOG = "threads/{session}"
SUB_AGENTS_LOG = "threads/{session}/{agent}"


@dataclass(frozen=True)
class HandOver:
    """An event of a session, and the records that came with it."""

    kind: str
    session: str
    details: Mapping[str, str] = field(default_factory=dict)
    records: bytes = b""
    offset: int = 0
    """Of the first record in the log."""
    agent: str = ""
    """The sub-agent whose records they are."""


def hand_over(group: Group, what: HandOver) -> None:
    """Write its event files into the spool: all of them, before the first one is seen.

    Raises OSError.
    """
    spool = Spool(group.options(what.kind).spool)
    drafts: list[Draft] = []
    try:
        for event in _events(group, what):
            drafts.append(spool.draft(event.name))
            drafts[-1].write(event.encode())
            drafts[-1].flush()
        for draft in drafts:
            draft.publish("new")
    finally:
        for draft in drafts:
            draft.close()
        spool.close()


def _events(group: Group, what: HandOver) -> Iterator[Event]:
    options = group.options(what.kind)
    id, at = new_id(), time.time_ns()
    bounds = cut(what.records, PART) or [(0, 0)]
    if len(bounds) > MOST_PARTS:
        raise OSError(f"{len(what.records):,} bytes of records are more than one event can carry")
    log = (SUB_AGENTS_LOG if what.agent else LOG).format(session=what.session, agent=what.agent)
    for number, (begin, end) in enumerate(bounds, 1):
        yield Event(
            what.kind,
            id=id,
            at=at,
            part=(number, len(bounds)),
            client=group.client,
            session=what.session,
            thread=options.thread,
            agent=what.agent,
            task=options.task,
            details=dict(what.details),
            log=Log(log, what.offset + begin) if what.records else None,
            body=what.records[begin:end],
        )

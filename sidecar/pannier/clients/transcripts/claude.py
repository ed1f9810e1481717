"""Claude Code's transcripts: `~/.claude/projects/<folder>/<session>.jsonl`.

A sub-agent has one of its own beside it, `<session>/subagents/agent-<id>.jsonl`. Files are only
appended to. Each record of the conversation names the one before it: after a rewind, a fork or a
prompt that was taken back, that is not the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pannier.clients.transcript import (
    ASKED_ITSELF,
    After,
    Entry,
    HeadMoves,
    Line,
    Message,
    Reading,
    State,
    TurnBegins,
    TurnEnds,
)
from pannier.clients.transcripts.claude_records import NotRead, Record, read_record
from pannier.clients.transcripts.claude_state import Session, Speaker
from pannier.clients.transcripts.raw import raw
from pannier_hook.events import SESSION_END, STOP, Event

_AGENT = re.compile(r"/subagents/(?:.*/)?agent-([^/]{1,200})\.jsonl$")


def read(event: Event, lines: Sequence[Line], state: State) -> Reading:
    """See `pannier.clients.transcript.Reader`. Keys are the records' own uuids."""
    session = Session.of(state)
    entries = [entry for line in lines for entry in _line(event, line, session)]
    if not (event.log and event.log.more):
        entries += _event(event, session)
    return Reading(tuple(entries), session.as_state())


def _line(event: Event, line: Line, session: Session) -> Iterator[Entry]:
    found = _AGENT.search(line.log)
    agent = found[1] if found else ""
    try:
        record = read_record(line.data, agent)
    except NotRead:
        yield raw(event, line, line.offset, agent)
        return
    if record is not None:
        yield from _record(record, line.offset, session)


def _record(record: Record, position: int, session: Session) -> Iterator[Entry]:
    speaker, content = session.speaker(record.inner), record.content
    yield from _turn(record, speaker)
    if content.said:
        yield from _messages(record, position, session, speaker)
        speaker.said(record)
    else:
        speaker.link(record)
    speaker.heard(record)
    if content.usage is not None:
        own = speaker.own and speaker.open
        yield replace(content.usage, inner=ASKED_ITSELF) if own else content.usage
    if content.interrupts and speaker.open:
        speaker.open = False
        yield TurnEnds(
            "interrupted", record.at, content.said[0].text, _whose(record.inner, speaker)
        )
    elif record.inner and content.final and speaker.open:
        yield _end(record.inner, speaker, record.at, stopped=True)


def _turn(record: Record, speaker: Speaker) -> Iterator[Entry]:
    """The turn that begins with this record, if one does."""
    opens = record.content.opens
    again = opens == "again" or record.content.answers
    if opens in ("turn", "own"):
        if speaker.open:
            yield _end(record.inner, speaker, record.at, stopped=False)
        speaker.begin(record.uuid, own=opens == "own")
    elif again and speaker.turn and not speaker.open:
        # Without a turn it was copied: a fork takes what a compaction kept, beginning anywhere.
        speaker.open = True
    else:
        return
    yield TurnBegins(speaker.turn, record.at, _whose(record.inner, speaker))


def _whose(inner: str, speaker: Speaker) -> str:
    return inner or (ASKED_ITSELF if speaker.own else "")


def _end(inner: str, speaker: Speaker, at: int, *, stopped: bool) -> TurnEnds:
    speaker.open = False
    outcome, reason = speaker.outcome(stopped=stopped)
    return TurnEnds(outcome, at, reason, _whose(inner, speaker))


def _messages(record: Record, position: int, session: Session, speaker: Speaker) -> Iterator[Entry]:
    """Of several things in a record, the last one has its uuid as its key: what follows, follows
    that."""
    before = speaker.parent(record)
    if not before and speaker.last and record.content.opens:
        yield HeadMoves(None)
    count = len(record.content.said)
    for number, said in enumerate(record.content.said):
        key = record.uuid if number == count - 1 else f"{record.uuid}/{number}"
        tool = said.tool
        if said.kind == "call":
            session.call(said.call, said.tool)
        elif said.kind == "result":
            tool = session.calls.pop(said.call, "")
        yield Message(
            key,
            said.role,
            said.kind,
            said.text,
            record.at,
            After(before) if before else None,
            position + number,
            said.call,
            tool,
            record.content.model,
            said.failed,
            record.inner,
        )
        before = key


def _event(event: Event, session: Session) -> Iterator[Entry]:
    """What the event itself says about turns: its records were read before."""
    if event.kind == STOP and event.agent in session.speakers:
        speaker = session.speakers[event.agent]
        speaker.answered = speaker.answered or bool(event.details.get("last"))
        speaker.error = speaker.error or event.details.get("error", "")
        if speaker.open:
            yield _end(event.agent, speaker, event.at, stopped=True)
    elif event.kind == SESSION_END:
        for inner, speaker in session.speakers.items():
            if speaker.open:
                yield _end(inner, speaker, event.at, stopped=False)

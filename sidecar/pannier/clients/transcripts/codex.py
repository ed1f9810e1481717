"""Codex: rollout files, one for each session, fork, revert and sub-agent.

Every record has an `ordinal`, which counts on in a fork and in a revert. A fork begins with the
session and the ordinal that it left; a revert begins a second file of its session, named
`rollout-TIME-SESSION_OTHER.jsonl`, with the ordinal that it went back to. The rollout of a
sub-agent may begin with a copy of what its parent knew, up to `subagent_history_start_ordinal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pannier.clients.transcript import (
    ASKED_ITSELF,
    Before,
    Entry,
    HeadMoves,
    Line,
    Message,
    Reading,
    State,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.clients.transcripts import codex_items as items
from pannier.clients.transcripts.codex_state import Rollout, Session
from pannier.clients.transcripts.jsonlines import Json, load, member, nanoseconds, number, text
from pannier.clients.transcripts.said import Said
from pannier_hook.events import SESSION_END, STOP, Event

SCRIPT = "exec"
"""Whose the tools are that a script of the agent's ran."""
NO_ANSWER = "no answer"
SESSION_ENDED = "the session ended"

_NAME = re.compile(r"(?:.*/)?rollout-[\dT-]{19}-(([^_]*)(?:_.*)?)\.jsonl")


def read(event: Event, lines: Sequence[Line], state: State) -> Reading:
    """Keys are `<rollout>:<ordinal>`, with a number behind it where a record says more."""
    session = Session.of(state)
    given = (line for line in lines if line.data.strip())
    entries = [entry for line in given for entry in _line(event, line, session)]
    entries += session.unwritten.take(event, bool(lines))
    entries += _ends(event, session)
    return Reading(tuple(entries), session.state())


def _ends(event: Event, session: Session) -> Iterator[Entry]:
    """The hook runs before the client writes that a turn is over."""
    whole = event.part[0] == event.part[1] and (event.log is None or not event.log.more)
    for rollout in session.rollouts.values():
        if whole and rollout.open:
            if event.kind == STOP and rollout.inner == event.agent:
                yield _end(rollout, TurnEnds("succeeded", event.at))
            elif event.kind == SESSION_END:
                yield _end(rollout, TurnEnds("interrupted", event.at, SESSION_ENDED))


@dataclass
class _Record:
    """A record and where it stands."""

    value: Json
    name: str
    key: str
    position: int
    at: int
    rollout: Rollout
    session: str

    @property
    def payload(self) -> Json:
        return member(self.value, "payload")


def _line(event: Event, line: Line, session: Session) -> Iterator[Entry]:
    named = _NAME.fullmatch(line.log)
    name, owner = (named[1], named[2]) if named else (line.log, event.session)
    inner = owner if event.session and owner != event.session else ""
    rollout = session.rollout(name, inner)
    value = load(line.data)
    ordinal = None if value is None else number(value.get("ordinal"))
    key, position = f"{name}:{ordinal}", ordinal
    if position is None:
        key, position = f"{name}:@{line.offset}", line.offset
    elif position < rollout.inherited:
        return
    at = 0 if value is None else nanoseconds(value.get("timestamp"))
    record = _Record(value or {}, name, key, position, at, rollout, event.session)
    said = _read(record)
    if said is None:
        whole = line.data.decode("utf-8", "replace")
        said = _messages(record, (Said("client", "raw", whole),))
    yield from said


def _read(record: _Record) -> Iterator[Entry] | Sequence[Entry] | None:
    """What a record says; None when its kind is not known."""
    kind, payload = text(record.value.get("type")), record.payload
    match kind:
        case "response_item":
            said = items.item(payload, member(record.value, "metadata"))
            return None if said is None else _said(record, said)
        case "event_msg":
            return _shown(record)
        case "token_usage_record":
            return _usage(record)
        case "turn_context":
            record.rollout.model = text(payload.get("model"))
            record.rollout.turn = text(payload.get("turn_id")) or record.rollout.turn
            return ()
        case "compacted":
            summary = text(payload.get("message"))
            return _messages(record, (Said("client", "compaction", summary),))
        case "session_meta":
            return _begins(record)
    return () if kind in items.SILENT_RECORDS else None


def _begins(record: _Record) -> Iterator[Entry]:
    rollout, payload = record.rollout, record.payload
    if rollout.inner:
        rollout.inherited = number(payload.get("subagent_history_start_ordinal")) or 0
        return
    base = number(member(payload, "history_base").get("end_ordinal_exclusive"))
    left = text(payload.get("forked_from_id"))
    if "_" in record.name:
        yield HeadMoves(Before(record.session, base) if base else None)
    elif left and base is not None:
        rollout.base = (left, base)


def _said(record: _Record, said: Sequence[Said]) -> Iterator[Entry]:
    """What an item says; in a turn's first question and first answer, the turn begins."""
    named = items.turn_of(record.payload)
    turn = record.rollout.ours(named)
    if not record.rollout.inner and any(one.asks for one in said):
        record.rollout.turn = named or record.rollout.turn or record.key
        yield from _asked(record, said, turn or record.key)
    elif any(one.role == "agent" for one in said):
        yield from _works(record, turn)
        record.rollout.answered |= said[-1].kind == "text"
    elif turn and record.rollout.ended == turn and items.is_prolonging(record.payload):
        yield from _works(record, turn)
    yield from _messages(record, said)


def _asked(record: _Record, said: Sequence[Said], turn: str) -> Iterator[Entry]:
    """A message of the queue at a stop begins a turn of ours within the client's."""
    rollout = record.rollout
    if not rollout.open and rollout.ended == turn and all(one.role != "person" for one in said):
        rollout.within = turn = record.key
    if rollout.open == turn and not rollout.own:
        return
    if rollout.open == turn:
        yield _end(rollout, TurnEnds("succeeded", record.at))
    rollout.answered &= rollout.ended == turn
    rollout.asked, rollout.own, rollout.open = True, False, turn
    yield TurnBegins(turn, record.at)


def _works(record: _Record, turn: str) -> Iterator[Entry]:
    """The model answers: in a turn that nobody asked for, if so the client began it."""
    rollout = record.rollout
    if not turn or rollout.open == turn:
        return
    rollout.own = not rollout.inner and not rollout.asked and rollout.turn == turn
    rollout.answered &= rollout.ended == turn
    rollout.open = turn
    yield TurnBegins(turn, record.at, _whose(rollout))


def _whose(rollout: Rollout) -> str:
    return rollout.inner or (ASKED_ITSELF if rollout.own else "")


def _end(rollout: Rollout, ends: TurnEnds) -> TurnEnds:
    rollout.open, rollout.ended = "", rollout.open or rollout.ended
    return replace(ends, inner=_whose(rollout))


def _usage(record: _Record) -> Iterator[Entry]:
    used, rollout = member(record.payload, "usage"), record.rollout
    if not rollout.asked and rollout.turn == text(record.payload.get("turn_id")):
        # All that a compaction says of itself before its summary is there.
        yield from _works(record, rollout.turn)
    cached = number(used.get("cached_input_tokens")) or 0
    yield Usage(
        record.key,
        rollout.model,
        max(0, (number(used.get("input_tokens")) or 0) - cached),
        number(used.get("output_tokens")) or 0,
        cached,
        number(used.get("cache_write_input_tokens")) or 0,
        _whose(rollout),
    )


def _shown(record: _Record) -> Iterator[Entry] | Sequence[Entry] | None:
    """What an event says that no item does."""
    payload, rollout = record.payload, record.rollout
    kind, named = text(payload.get("type")), text(payload.get("turn_id"))
    turn = rollout.ours(named)
    match kind:
        case "task_started" | "turn_started":
            # Such a record in a main rollout announces the turn of a sub-agent.
            by = member(payload, "turn_attribution").get("parent_turn_id")
            if rollout.inner or not text(by):
                rollout.begin(named)
            return ()
        case "task_complete" | "turn_complete":
            return _over(record, turn)
        case "turn_aborted":
            return _cut(record, turn, TurnEnds("interrupted", record.at))
        case "error":
            said = text(payload.get("message"))
            return _cut(record, turn, TurnEnds("failed", record.at, said))
        case "item_completed":
            if member(payload, "item").get("type") == "EnteredReviewMode":
                rollout.begin(named)
            said_so = items.shown(payload)
            return None if said_so is None else _messages(record, said_so)
    return () if kind in items.SILENT_EVENTS else None


def _over(record: _Record, turn: str) -> Iterator[Entry]:
    rollout = record.rollout
    error = member(record.payload, "error")
    if error:
        yield from _cut(record, turn, TurnEnds("failed", record.at, text(error.get("message"))))
    elif rollout.open == turn:
        answered = rollout.answered or rollout.own or record.payload.get("last_agent_message")
        ends = TurnEnds("succeeded", record.at)
        yield _end(rollout, ends if answered else TurnEnds("failed", record.at, NO_ANSWER))


def _cut(record: _Record, turn: str, ends: TurnEnds) -> Iterator[Entry]:
    """A turn failed, or somebody stopped it: also one of which the hook has said that it ended."""
    if turn in (record.rollout.open, record.rollout.ended) and turn:
        yield _end(record.rollout, ends)


def _messages(record: _Record, said: Sequence[Said]) -> Iterator[Entry]:
    rollout = record.rollout
    for count, one in enumerate(said):
        script = f"{rollout.inner}/{SCRIPT}" if rollout.inner else SCRIPT
        # What starts a sub-agent is another agent's word.
        role = "client" if rollout.inner and one.role == "person" else one.role
        tool = one.tool or rollout.tool_of(one.call)
        if one.kind == "call" and not one.inner:
            rollout.called(one.call, one.tool)
        yield Message(
            f"{record.key}/{count}" if count else record.key,
            role,
            one.kind,
            one.text,
            record.at,
            None if one.inner else rollout.take_base(),
            record.position,
            one.call,
            tool,
            rollout.model if role == "agent" else "",
            one.failed,
            script if one.inner else rollout.inner,
        )

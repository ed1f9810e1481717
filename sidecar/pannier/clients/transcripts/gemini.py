"""Gemini CLI: one file a session, to which only is appended, with rules of how to replay it.

What is said stands in records of its own, and is said again, in other forms, when the client lays
down the whole list of its messages (`$set`): on a resume, after a turn that failed or was
cancelled (its prompt is not in the list), and after a compression, where what was kept comes with
new ids. So of a list only the summary of a compression says something, and its last message tells
where the client stands. The replayed list is not the history: nothing of ours is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pannier.clients.transcript import (
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
from pannier.clients.transcripts import gemini_records as records
from pannier.clients.transcripts.gemini_records import Named
from pannier.clients.transcripts.gemini_state import Log, Session
from pannier.clients.transcripts.jsonlines import Json, load, member, nanoseconds, objects, text
from pannier_hook.events import SESSION_END, STOP, Event

DROPPED = "the client dropped the prompt"
NO_ANSWER = "no answer"
SESSION_ENDED = "the session ended"
WENT_BACK = "the person went back"

_NOTHING_SAID = ("", "[no response text]")
_INNER = re.compile(r"(?:.*/)?chats/[^/]+/([^/]+)\.jsonl")


def read(event: Event, lines: Sequence[Line], state: State) -> Reading:
    """Keys are `<session>:<message>:<digest of the text>`, `<session>:call:<call>` and
    `<session>:result:<call>`; a sub-agent's begin with its own id."""
    session = Session.of(state)
    entries: list[Entry] = []
    for line in (one for one in lines if one.data.strip()):
        entries += _line(event, line, session)
    for log in session.logs.values():
        entries += _settle(log, event)
        entries += _ends(log, event)
    entries += session.unwritten.take(event, bool(lines))
    return Reading(tuple(entries), session.state())


@dataclass
class _Place:
    """A line, and the file that it stands in."""

    event: Event
    line: Line
    session: Session
    log: Log

    @property
    def owner(self) -> str:
        return self.log.inner or self.event.session

    @property
    def position(self) -> int:
        return self.log.base + self.line.offset + 1


def _line(event: Event, line: Line, session: Session) -> Iterator[Entry]:
    inner = _INNER.fullmatch(line.log)
    place = _Place(event, line, session, session.log(line.log, inner[1] if inner else ""))
    record = load(line.data)
    said = None if record is None else _read(place, record)
    if said is None:
        name = f"{line.log}@{line.offset}"
        whole = line.data.decode("utf-8", "replace")
        said = _say(place, (Named("client", "raw", whole, name=name),), place.position)
    yield from said


def _read(place: _Place, record: Json) -> Iterator[Entry] | Sequence[Entry] | None:
    """What a record says; None when its kind is not known."""
    log = place.log
    if "$rewindTo" in record:
        return _rewind(place, text(record["$rewindTo"]))
    if isinstance(record.get("$set"), dict):
        changed = member(record, "$set")
        if isinstance(changed.get("messages"), list):
            return _list(place, objects(changed["messages"]))
        return () if changed.keys() <= records.SILENT_CHANGES else None
    if isinstance(record.get("id"), str):
        log.starting = False
        said = records.message(record)
        return None if said is None else _message(place, record, said)
    if isinstance(record.get("sessionId"), str):
        log.starting = True
        return ()
    return None


def _rewind(place: _Place, id: str) -> Iterator[Entry]:
    log = place.log
    log.cut(id)
    if log.open and log.request > log.stands:
        ends = _outcome(log)
        silent = ends.reason == NO_ANSWER
        yield _end(log, TurnEnds("interrupted", log.at, WENT_BACK) if silent else ends)


def _list(place: _Place, listed: Sequence[Json]) -> Iterator[Entry]:
    """The messages that the client goes on with."""
    log, last, says = place.log, place.log.base, False
    certain = not listed
    for index, one in enumerate(listed):
        id = text(one.get("id"))
        known = log.place(id)
        certain |= known is not None and not records.is_context(one)
        if known is None and records.is_context(one):
            known = place.position
            yield from _greet(place, one)
        elif known is None and (said := records.summary(listed, index)):
            says, known = True, place.position + index
            at = nanoseconds(one.get("timestamp"))
            told = Named("client", "compaction", said, name=id, at=at)
            yield from _say(place, (told,), known)
        last = last if known is None else known
        log.know(id, last)
    begins = log.starting and _is_context_only(listed)
    log.starting = False
    if not begins:
        log.replace(text(one.get("id")) for one in listed)
        _go_on(log, last, says, certain or _is_context_only(listed))


def _is_context_only(listed: Sequence[Json]) -> bool:
    return all(records.is_context(one) for one in listed)


def _go_on(log: Log, last: int, says: bool, certain: bool) -> None:
    """After the message at `last`. A list of which nothing is known says nothing of that."""
    if says:
        log.stands = log.stored = last
    elif certain:
        log.stands = last
        if log.open and log.request > last:
            # What went wrong may be said only now.
            log.answered, log.trouble = False, log.trouble or DROPPED


def _greet(place: _Place, one: Json) -> Iterator[Entry]:
    """Date and folders, once a session: they are said anew in each process."""
    if not place.session.greeted:
        place.session.greeted = True
        said = (replace(part, name="context") for part in (records.message(one) or ())[:1])
        yield from _say(place, tuple(said), place.position)


def _message(place: _Place, record: Json, said: Sequence[Named]) -> Iterator[Entry]:
    log, id = place.log, text(record.get("id"))
    if text(record.get("type")) in records.SHOWN:
        _note(log, record, said)
        yield from _say(place, said, place.position)
        return
    known = log.place(id)
    position = place.position if known is None else known
    new = [one for one in said if log.is_new(one.name)]
    if known is None:
        yield from _settle(log, place.event)
        log.know(id, position)
        if any(one.asks for one in said):
            yield from _asked(place, id, said)
    goes_on = known is None and records.is_prolonging(record, said)
    if not log.open and log.last and (goes_on or any(one.role == "agent" for one in new)):
        # It goes on: by a hook of the person's own, or the answer came late.
        log.open = log.last
        yield TurnBegins(log.last, new[0].at, log.inner)
    for one in new:
        changed = one.kind == "text" and not log.is_new("text", id, one.role) and known is not None
        yield from _say(place, (one,), position, text(record.get("model")), changed=changed)
        if one.role == "agent":
            log.answered = one.kind == "text"
    log.append(id, position, new=known is None)
    if known is None:
        log.stored = position
    yield from _usage(place, record, id)


def _note(log: Log, record: Json, said: Sequence[Named]) -> None:
    """What the client shows of how a turn goes."""
    for one in said:
        log.cancelled |= one.text == records.CANCELLED
        if record.get("type") == "error":
            log.trouble = one.text


def _asked(place: _Place, id: str, said: Sequence[Named]) -> Iterator[Entry]:
    """A person's word begins a turn; one of the queue's too, unless it comes within one."""
    log = place.log
    if log.open and (log.inner or not any(one.role == "person" for one in said)):
        return
    if log.open:
        yield _end(log, _outcome(log))
    # A sub-agent has one task, and what the client says to it on the way begins no other.
    log.open = log.inner or f"{place.owner}:{id}"
    log.last, log.request = log.open, place.position
    log.answered, log.cancelled, log.trouble = False, False, ""
    yield TurnBegins(log.open, said[0].at, log.inner)


def _outcome(log: Log) -> TurnEnds:
    """What became of a turn, as far as it can be seen."""
    if log.cancelled:
        return TurnEnds("interrupted", log.at, records.CANCELLED)
    if log.trouble:
        return TurnEnds("failed", log.at, log.trouble)
    if log.answered:
        return TurnEnds("succeeded", log.at)
    return TurnEnds("failed", log.at, NO_ANSWER)


def _end(log: Log, ends: TurnEnds) -> TurnEnds:
    log.open = ""
    return replace(ends, inner=log.inner)


def _ends(log: Log, event: Event) -> Iterator[Entry]:
    """A turn that had no answer is not over when the hook is called: it may yet be cancelled."""
    if not log.open or event.part[0] != event.part[1] or (event.log and event.log.more):
        return
    if log.inner:
        if log.answered:
            yield _end(log, TurnEnds("succeeded", event.at))
    elif event.kind == STOP:
        log.answered |= event.details.get("last", "") not in _NOTHING_SAID
        if log.answered or log.cancelled or log.trouble:
            yield _end(log, _outcome(log))
    elif event.kind == SESSION_END:
        ends = _outcome(log)
        silent = ends.reason == NO_ANSWER
        yield _end(log, TurnEnds("interrupted", event.at, SESSION_ENDED) if silent else ends)


def _settle(log: Log, event: Event) -> Iterator[Entry]:
    """The store's head goes where the client stands."""
    if log.stands != log.stored and not log.inner:
        back = log.stands > log.base
        yield HeadMoves(Before(event.session, log.stands + 1) if back else None)
    log.stored = log.stands


def _usage(place: _Place, record: Json, id: str) -> Iterator[Entry]:
    spent, model = records.spent(record), text(record.get("model"))
    if spent and place.log.is_new("tokens", id, repr(spent)):
        key = f"{place.owner}:{id}"
        yield Usage(key, model, spent.input, spent.output, spent.cached, 0, place.log.inner)


def _say(
    place: _Place, said: Sequence[Named], position: int, model: str = "", *, changed: bool = False
) -> Iterator[Entry]:
    inner = place.log.inner
    for one in said:
        place.log.at = max(place.log.at, one.at)
        role = "client" if inner and one.role == "person" else one.role
        yield Message(
            f"{place.owner}:{one.name}",
            role,
            one.kind,
            one.text,
            one.at,
            Before(place.event.session, position) if changed and not inner else None,
            position,
            one.call,
            one.tool,
            model if role == "agent" else "",
            one.failed,
            inner,
        )

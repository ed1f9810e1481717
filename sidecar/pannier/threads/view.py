"""What a thread's model is sent: as its agent reports it, else as far as its transcript tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pannier.clients import CLIENTS
from pannier.clients.transcripts import fields
from pannier.threads.excerpt import excerpt
from pannier.threads.report import GREATEST, Part, Report, Spilled, parse
from pannier.threads.rows import MessageRow, PlaceRow, ReportRow, SessionRow, ThreadRow, UsageRow
from pannier.threads.store import Store
from pannier.threads.times import timestamp
from pannier_hook.estimate import estimate
from pannier_hook.spillnote import spilled_in

_GOES_ON = frozenset({"fork", "resume"})
"""How a session begins that has what another one said in its context."""
_KINDS = {
    "call": "calls",
    "compaction": "summary",
    "memory": "memory",
    "result": "results",
    "thinking": "thinking",
}
_ORDER = ("memory", "task", "summary", "request", "said", "thinking", "calls", "results")
_LISTED = 200
_MOST_NOTES = 20
"""In one result."""
_NOTHING_ELSE = "The system prompt and the descriptions of tools stand in no transcript."
_SHORTENED = "Whether the client itself shortens older results is not known."


@dataclass(frozen=True)
class View:
    """What the model of a thread's present session is sent."""

    client: str
    session: str
    reported: bool
    """Whether the agent said so itself; else it is made from what is stored."""
    at: int
    """When that was, or was said last."""
    since: int | None
    """The summary's message, where a transcript has one."""
    report: Report
    estimated: int
    """Tokens of the parts together."""
    notes: tuple[str, ...]
    """What a reader should know of it."""

    def as_data(self) -> dict[str, Any]:
        """For programs; likely secrets are masked."""
        report = self.report.as_data()
        return {
            "client": self.client,
            "session": self.session,
            "source": "agent" if self.reported else "transcript",
            "at": timestamp(self.at),
            "since": f"m{self.since}" if self.since else None,
            **report,
            "summary": excerpt(self.report.summary).text,
            "estimated": self.estimated,
            "notes": list(self.notes),
        }


def view(store: Store, thread: ThreadRow) -> View | None:
    """What the thread's model is sent; None when the thread stands at no message."""
    places = store.places(thread.id)
    if not places:
        return None
    sessions = {session.id: session for session in store.sessions(thread.id)}
    sources = {id: session.source for id, session in sessions.items()}
    session = sessions[places[0].session]
    row = store.report(session.id, thread.id)
    if row is not None and (reported := _reported(store, thread, session, row, places)):
        return reported
    begin = beginning(places, sources)
    messages = store.messages(thread.id, after=begin - 1)
    usage = _last_usage(store, messages)
    notes = tuple(_notes(session, messages, was_reported=row is not None))
    made = transcribed(messages, usage)
    since = messages[0].id if messages[0].kind == "compaction" else None
    estimated = sum(part.tokens for part in made.parts)
    at = messages[-1].at
    return View(session.client, session.session, False, at, since, made, estimated, notes)


def beginning(places: Sequence[PlaceRow], sources: Mapping[int, str]) -> int:
    """The first message that the present session has in its context. Pure.

    `places`: the path back from the head, the last first; `sources`: how each session began. That
    is the last summary, or else where the session began: unless it went on from another one.
    """
    session, begin = places[0].session, places[0].id
    for place in places:
        if place.session != session and sources.get(session) not in _GOES_ON:
            break
        session, begin = place.session, place.id
        if place.kind == "compaction":
            break
    return begin


def turns_since(row: ReportRow, places: Sequence[PlaceRow]) -> int | None:
    """How many turns on the path came after the report; None when it does not hold any more: the
    path does not go through the turn of which it tells, or there is a summary since. Pure."""
    later = set[int]()
    for place in places:
        if row.turn in (None, place.turn):
            return len(later)
        if place.kind == "compaction":
            return None
        if place.turn is not None:
            later.add(place.turn)
    return None


def transcribed(messages: Sequence[MessageRow], usage: UsageRow | None) -> Report:
    """What of these messages the model is sent, by kinds. Pure.

    `usage`: what the provider counted at the last call.
    """
    asked = [m.id for m in messages if m.role == "person" and m.kind == "text"]
    first = asked[0] if asked and messages[0].kind != "compaction" else None
    found: dict[str, list[MessageRow]] = {}
    for message in messages:
        if message.kind == "raw":
            continue
        part = _KINDS.get(message.kind, "said")
        if message.id == first:
            part = "task"
        elif asked and message.id == asked[-1]:
            part = "request"
        found.setdefault(part, []).append(message)
    parts = tuple(_part(name, found[name]) for name in _ORDER if name in found)
    counted = usage.input + usage.cache_read + usage.cache_write if usage else 0
    return Report(
        tokens=counted or sum(part.tokens for part in parts),
        exact=bool(counted),
        parts=parts,
        summary="\n".join(message.text for message in found.get("summary", ())),
        spilled=tuple(_spilled(messages))[-_LISTED:],
    )


def _part(name: str, messages: Sequence[MessageRow]) -> Part:
    texts = [text for m in messages for text in (m.text, m.tool if m.kind == "call" else "")]
    return Part(
        part=name,
        messages=len(messages),
        tokens=sum(map(estimate, texts)),
        characters=sum(map(len, texts)),
    )


def _spilled(messages: Sequence[MessageRow]) -> Iterator[Spilled]:
    # Codex is told beside a result of which a script of its model got all.
    for message in (
        m for m in messages if m.kind == "result" or (m.role, m.kind) == ("client", "text")
    ):
        for path, size in _notes_in(message.text).items():
            yield Spilled(
                call=message.call, tool=message.tool, path=path, bytes=min(size, GREATEST)
            )


def _notes_in(text: str) -> Mapping[str, int]:
    """The files that a result names, with their sizes: one call of Codex runs several commands."""
    found: dict[str, int] = {}
    for _ in range(_MOST_NOTES):
        there = spilled_in(text)
        if there is None:
            break
        path, size = there
        found[path] = size
        text = text.partition(path)[2]
    return found


def _reported(
    store: Store,
    thread: ThreadRow,
    session: SessionRow,
    row: ReportRow,
    places: Sequence[PlaceRow],
) -> View | None:
    """None when what the agent said does not hold any more."""
    report, later = parse(row.report), turns_since(row, places)
    if report is None or later is None:
        return None
    if row.turn and later == 0 and store.said_later(thread.id, row.turn, places[0].id):
        return None
    notes = []
    if later:
        turns = "One turn" if later == 1 else f"{later} turns"
        notes.append(f"{turns} came after the agent said so.")
    estimated = sum(part.tokens for part in report.parts)
    return View(
        session.client, session.session, True, row.at, None, report, estimated, tuple(notes)
    )


def _last_usage(store: Store, messages: Sequence[MessageRow]) -> UsageRow | None:
    """That of the last call of these messages; None when none of them is a model's answer."""
    answered = [m for m in messages if m.role == "agent" and m.turn is not None]
    return store.last_usage(answered[-1].turn or 0) if answered else None


def _notes(
    session: SessionRow, messages: Sequence[MessageRow], *, was_reported: bool
) -> Iterator[str]:
    client = CLIENTS.get(session.client)
    title = client.title if client else session.client
    if was_reported:
        yield (
            "The thread went back, or was compacted, after the agent said what it sends; this is "
            "what is stored."
        )
    yield _NOTHING_ELSE
    if client is not None and client.read is fields.read:
        yield f"{title} has no transcript that is read: of thinking its events tell nothing."
    if messages[0].kind == "compaction":
        yield f"What {title} kept beside the summary is not known; counted is what came after it."
        if not messages[0].text:
            yield f"The text of its summary {title} does not tell."
    if any(message.kind == "result" for message in messages):
        yield _SHORTENED
    if unknown := sum(message.kind == "raw" for message in messages):
        records = "One record" if unknown == 1 else f"{unknown} records"
        yield f"{records} of an unknown kind are not counted."

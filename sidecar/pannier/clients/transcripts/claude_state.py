"""What the reader of Claude Code's transcripts remembers of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pannier.clients.transcript import Outcome, State
from pannier.clients.transcripts.claude_records import Record
from pannier.clients.transcripts.remembered import short

_TIP = 256
_ANCHORS = 1_000
"""Beginnings of turns that a rewind may go back to."""
_LINKS = 1_000
_CALLS = 512
_SPEAKERS = 64


@dataclass
class Speaker:
    """The main conversation, or a sub-agent's: where it stands, and its last turn."""

    last: str = ""
    """The key of what was said last."""
    tip: list[str] = field(default_factory=list)
    """With `last`, what comes to the same: results of calls made together name each its own call
    as the one before, and what follows names one of them."""
    answer: str = ""
    """The id of the model's message that was read last; it comes in several records."""
    links: dict[str, str] = field(default_factory=dict)
    """Records since `last` in which nothing is said, and the key of what was said before each."""
    anchors: dict[str, str] = field(default_factory=dict)
    """Of those, the ones after which a turn began."""
    turn: str = ""
    own: bool = False
    """The client began the turn itself."""
    open: bool = False
    answered: bool = False
    final: bool = False
    error: str = ""

    def before(self, uuid: str) -> str:
        """The key of what was said in this record or, if nothing was, before it; "" if none."""
        if uuid in self.links:
            return self.links[uuid]
        return self.anchors.get(uuid, uuid)

    def link(self, record: Record) -> None:
        """Nothing was said in this record."""
        self.links[record.uuid] = self.before(record.parent)
        _shorten(self.links, _LINKS)

    def parent(self, record: Record) -> str:
        """The key of what this record follows; "" if it begins the conversation."""
        before = self.before(record.parent)
        content = record.content
        follows = content.is_result or content.interrupts
        if follows or (before in self.tip and not content.opens):
            return self.last or before
        return before

    def said(self, record: Record) -> None:
        """Something was said in this record, and its uuid is the last key of it."""
        if record.content.opens and record.parent in self.links:
            self.anchors[record.parent] = self.links[record.parent]
            _shorten(self.anchors, _ANCHORS)
        self.links.clear()
        usage = record.content.usage
        together = record.content.is_result or (usage is not None and usage.key == self.answer)
        self.tip = [*self.tip[-_TIP:], record.uuid] if together else [record.uuid]
        self.last = record.uuid
        if usage is not None:
            self.answer = usage.key

    def begin(self, turn: str, *, own: bool) -> None:
        self.turn, self.own, self.open = turn, own, True
        self.answered, self.final, self.error = False, False, ""

    def heard(self, record: Record) -> None:
        """What this record says about how the turn goes."""
        content = record.content
        if content.answers:
            self.answered, self.final, self.error = True, content.final, ""
        elif content.error:
            self.error = content.error

    def outcome(self, *, stopped: bool) -> tuple[Outcome, str]:
        """How the open turn ended, and why. `stopped`: the client itself said that it did."""
        if self.error:
            return "failed", " ".join(self.error.split())[:500]
        if self.answered and (stopped or self.final):
            return "succeeded", ""
        if stopped:
            return "failed", "the model said nothing"
        return "interrupted", "it was left without a last answer"


@dataclass
class Session:
    """All speakers of a session, by sub-agent; "" is the main conversation."""

    speakers: dict[str, Speaker] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    """The tool of each call that has no result yet."""

    def speaker(self, inner: str) -> Speaker:
        if inner not in self.speakers:
            closed = [name for name, one in self.speakers.items() if name and not one.open]
            if len(self.speakers) >= _SPEAKERS and closed:
                del self.speakers[closed[0]]
            self.speakers[inner] = Speaker()
        return self.speakers[inner]

    def call(self, call: str, tool: str) -> None:
        self.calls[call] = tool
        _shorten(self.calls, _CALLS)

    @staticmethod
    def of(state: State) -> Session:
        """From what `as_state` gave; what does not fit is forgotten."""
        found = Session(calls=_texts(state.get("calls")))
        speakers = state.get("speakers")
        for name, value in speakers.items() if isinstance(speakers, Mapping) else ():
            if isinstance(value, Mapping):
                found.speakers[str(name)] = _speaker(value)
        return found

    def as_state(self) -> State:
        speakers = {name: short(speaker) for name, speaker in self.speakers.items()}
        return {"speakers": speakers, "calls": dict(self.calls)}


def _speaker(value: Mapping[str, Any]) -> Speaker:
    speaker = Speaker()
    for one in fields(Speaker):
        found, default = value.get(one.name), getattr(speaker, one.name)
        if isinstance(default, dict):
            found = _texts(found)
        elif isinstance(default, list):
            found = [str(item) for item in found] if isinstance(found, list) else []
        elif not isinstance(found, type(default)):
            continue
        setattr(speaker, one.name, found)
    return speaker


def _texts(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


def _shorten(table: dict[str, str], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]

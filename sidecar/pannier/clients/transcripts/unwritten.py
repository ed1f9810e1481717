"""Sessions of which the client wrote no transcript, though it writes one of others.

Their events have to say it all. That there is no transcript is known at the turn's end only, or
when nothing was heard of the session for long, so the prompts wait in the reader's state until
then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pannier.clients.transcript import Entry, State
from pannier.clients.transcripts import fields
from pannier_hook.events import SESSION_END, STOP, USER_PROMPT, Event

_KEPT = 1 << 20
"""Characters of prompts that wait; of more, the oldest are dropped."""


@dataclass
class Unwritten:
    """What was said in a session without a transcript, as far as is known."""

    written: bool = False
    """There is one after all."""
    prompts: list[Mapping[str, Any]] = field(default_factory=list)
    turns: State = field(default_factory=dict)
    """The state of the reader of events."""

    @classmethod
    def of(cls, state: object) -> Unwritten:
        if not isinstance(state, Mapping):
            return cls()
        prompts = [p for p in state.get("prompts", ()) if isinstance(p, Mapping)]
        turns = state.get("turns")
        return cls(
            state.get("written") is True, prompts, turns if isinstance(turns, Mapping) else {}
        )

    def state(self) -> dict[str, Any]:
        if self.written:
            return {"written": True}
        return {"prompts": self.prompts, "turns": dict(self.turns)}

    def take(self, event: Event, has_lines: bool) -> Sequence[Entry]:
        """What the event says about a session without a transcript."""
        self.written = self.written or has_lines or event.log is not None
        if event.agent:
            return ()
        if self.written:
            return ()
        if event.kind == USER_PROMPT:
            self._keep(event)
        if event.kind not in (STOP, SESSION_END) and not event.details.get("left"):
            return ()
        said: list[Entry] = []
        for prompt in self.prompts:
            said += self._read(_prompt(event, prompt))
        self.prompts.clear()
        return (*said, *self._read(event))

    def _keep(self, event: Event) -> None:
        prompt = event.details.get("prompt", "")
        self.prompts.append({"id": event.id, "at": event.at, "turn": event.turn, "prompt": prompt})
        while len(self.prompts) > 1 and sum(len(p["prompt"]) for p in self.prompts) > _KEPT:
            del self.prompts[0]

    def _read(self, event: Event) -> Sequence[Entry]:
        reading = fields.read(event, (), self.turns)
        self.turns = reading.state
        return reading.entries


def _prompt(event: Event, kept: Mapping[str, Any]) -> Event:
    return Event(
        USER_PROMPT,
        id=kept["id"],
        at=kept["at"],
        turn=kept["turn"],
        client=event.client,
        session=event.session,
        thread=event.thread,
        task=event.task,
        details={"prompt": kept["prompt"]},
    )

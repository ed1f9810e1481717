"""What the reader of Codex remembers from one hand-over to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pannier.clients.transcript import Before, State
from pannier.clients.transcripts.remembered import restored, short
from pannier.clients.transcripts.unwritten import Unwritten

_ROLLOUTS = 64
"""Of these many files a session remembers where they stand."""
_CALLS = 64
_LONGEST = 200
"""Characters of a name that is kept; a longer one is nobody's."""


@dataclass
class Rollout:
    """One file."""

    inner: str = ""
    """The sub-agent whose file it is."""
    turn: str = ""
    """The turn that the client began last."""
    asked: bool = True
    """Somebody asked for it. What the client does of its own accord comes without a question."""
    within: str = ""
    """Our turn that a message of the queue began within the client's."""
    open: str = ""
    """The turn that what comes belongs to."""
    own: bool = False
    """That turn is the client's own."""
    ended: str = ""
    """The turn that ended last."""
    answered: bool = False
    """The agent has said something in the turn."""
    model: str = ""
    inherited: int = 0
    """Records below this ordinal are copies of another rollout's."""
    base: tuple[str, int] | None = None
    """The session and the ordinal that the first message follows."""
    calls: dict[str, str] = field(default_factory=dict)
    """Tools of which the result is still to come, by call."""

    def begin(self, turn: str) -> None:
        """The client begins a turn."""
        self.turn, self.asked, self.within = turn or self.turn, False, ""
        if self.ended == self.turn:
            self.ended = ""

    def ours(self, turn: str) -> str:
        """Our turn for one of the client's, "" for the one it began last."""
        turn = turn or self.turn
        return self.within if self.within and turn == self.turn else turn

    def called(self, call: str, tool: str) -> None:
        if len(call) <= _LONGEST and len(tool) <= _LONGEST:
            self.calls[call] = tool
        if len(self.calls) > _CALLS:
            del self.calls[next(iter(self.calls))]

    def tool_of(self, call: str) -> str:
        """The tool whose result this is."""
        return self.calls.pop(call, "") if call else ""

    def take_base(self) -> Before | None:
        """What the next message follows, if it is the first of a fork."""
        base, self.base = self.base, None
        return Before(*base) if base else None


@dataclass
class Session:
    """The rollouts of a session and its sub-agents, by name; the one used last is the last."""

    rollouts: dict[str, Rollout] = field(default_factory=dict)
    unwritten: Unwritten = field(default_factory=Unwritten)

    @classmethod
    def of(cls, state: State) -> Session:
        known = state.get("rollouts")
        rollouts = known.items() if isinstance(known, Mapping) else ()
        return cls(
            {str(name): _rollout(value) for name, value in rollouts},
            Unwritten.of(state.get("unwritten")),
        )

    def state(self) -> State:
        kept = list(self.rollouts.items())[-_ROLLOUTS:]
        return {
            "rollouts": {name: short(rollout) for name, rollout in kept},
            "unwritten": self.unwritten.state(),
        }

    def rollout(self, name: str, inner: str) -> Rollout:
        known = self.rollouts.pop(name, None) or Rollout(inner)
        self.rollouts[name] = known
        return known


def _rollout(value: object) -> Rollout:
    found = restored(Rollout, value)
    found.calls = {str(call): str(tool) for call, tool in found.calls.items()}
    base = value.get("base") if isinstance(value, Mapping) else None
    if isinstance(base, list | tuple) and len(base) == 2:
        found.base = (str(base[0]), int(base[1]))
    return found

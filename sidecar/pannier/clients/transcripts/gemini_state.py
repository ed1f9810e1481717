"""What the reader of Gemini CLI remembers from one hand-over to the next: ids and places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pannier.clients.transcript import State
from pannier.clients.transcripts.jsonlines import digest
from pannier.clients.transcripts.remembered import restored, short
from pannier.clients.transcripts.unwritten import Unwritten

_LOGS = 16
_MESSAGES = 2_000
"""So many messages of a file are known by their ids. The client keeps fewer in a context."""
_SAID = 500


@dataclass
class Log:
    """One file."""

    inner: str = ""
    """The sub-agent whose file it is."""
    base: int = 0
    """Positions begin after this one."""
    starting: bool = False
    """A process has begun with the file, and not said yet how much of it goes on."""
    places: dict[str, int] = field(default_factory=dict)
    """The position of each message, by the digest of its id. What the client merely copied has that
    of the message before it."""
    path: list[str] = field(default_factory=list)
    """The messages that are in the context now."""
    said: list[str] = field(default_factory=list)
    """Digests of what was said last."""
    stands: int = 0
    """The position after which the client goes on."""
    stored: int = 0
    """And after which the store would."""
    open: str = ""
    """The turn that what comes belongs to."""
    last: str = ""
    """The turn that began last."""
    request: int = 0
    """The position at which it began."""
    at: int = 0
    """When something was said last."""
    answered: bool = False
    cancelled: bool = False
    trouble: str = ""

    def know(self, id: str, position: int) -> None:
        self.places[digest(id)] = position
        if len(self.places) > _MESSAGES:
            del self.places[next(iter(self.places))]

    def place(self, id: str) -> int | None:
        return self.places.get(digest(id))

    def append(self, id: str, position: int, *, new: bool) -> None:
        """The message is the last of the context, unless it was in it already."""
        if new or digest(id) not in self.path:
            self.path.append(digest(id))
            del self.path[:-_MESSAGES]
            self.stands = position

    def replace(self, ids: Iterable[str]) -> None:
        """These are the messages of the context from here on."""
        self.path = [digest(id) for id in ids][-_MESSAGES:]

    def cut(self, id: str) -> None:
        """This message and all after it are no longer in the context."""
        place = digest(id)
        self.path = self.path[: self.path.index(place)] if place in self.path else []
        self.stands = self.places.get(self.path[-1], 0) if self.path else 0

    def is_new(self, *what: str) -> bool:
        """Whether this was not said yet; from now on it was."""
        one = digest(*what)
        if one in self.said:
            return False
        self.said.append(one)
        del self.said[:-_SAID]
        return True


@dataclass
class Session:
    """The files of a session and its sub-agents, by name; the one used last is the last."""

    logs: dict[str, Log] = field(default_factory=dict)
    unwritten: Unwritten = field(default_factory=Unwritten)
    greeted: bool = False
    """The context that the client begins with was said."""

    @classmethod
    def of(cls, state: State) -> Session:
        known = state.get("logs")
        logs = known.items() if isinstance(known, Mapping) else ()
        return cls(
            {str(name): restored(Log, value) for name, value in logs},
            Unwritten.of(state.get("unwritten")),
            state.get("greeted") is True,
        )

    def state(self) -> State:
        kept = list(self.logs.items())[-_LOGS:]
        return {
            "logs": {name: short(log) for name, log in kept},
            "unwritten": self.unwritten.state(),
            "greeted": self.greeted,
        }

    def log(self, name: str, inner: str) -> Log:
        known = self.logs.pop(name, None)
        if known is None:
            others = [log for log in self.logs.values() if log.inner == inner]
            base = max((log.stands + 1 for log in others), default=0)
            known = Log(inner, base, stands=base, stored=base)
        self.logs[name] = known
        return known

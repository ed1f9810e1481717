"""What the hook tells the sidecar: the one format of the event files in the spool.

A file is a first line, the JSON header, and for a hand-over the body: lines of a transcript, bytes
as they stand there. `v` is the version of this format; a reader refuses one that it does not know
and leaves the file where it is. What stands in it is a claim of the container, not a proof.
"""

from __future__ import annotations

from . import VERSION
from .jsontext import quote

FORMAT = 2

ERROR = "error"
"""The hook met something that a person should know of. Details: event, text."""
SESSION_START = "session-start"
"""Details: source, model."""
USER_PROMPT = "user-prompt"
"""Details: prompt."""
POST_TOOL = "post-tool"
"""Only of clients without a readable transcript. Details: tool, call, input, output; failed,
"true" when it did."""
STOP = "stop"
"""Details: last, the agent's last message; active, "true" when a hook made it go on already; error,
only when the turn failed."""
PRE_COMPACT = "pre-compact"
"""Details: trigger."""
POST_COMPACT = "post-compact"
"""Details: summary, trigger."""
SESSION_END = "session-end"
"""Details: reason."""
RECORDS = "records"
"""New lines of a sub-agent's transcript, or what a killed session left behind. Details: left,
"true" when nothing more was heard of the session."""
DELIVERED = "delivered"
"""Queued messages were put before the agent. Details: messages, their ids with spaces between;
prompt, what was put there, where no transcript and no other event says it."""
CONTEXT = "context"
"""What the model of an agent in Python would be sent at the end of a turn. Details: report, JSON
(docs/context.md)."""

KINDS = frozenset(
    {
        ERROR,
        SESSION_START,
        USER_PROMPT,
        POST_TOOL,
        STOP,
        PRE_COMPACT,
        POST_COMPACT,
        SESSION_END,
        RECORDS,
        DELIVERED,
        CONTEXT,
    }
)

FILE_LIMIT = 8 << 20
"""The largest event file, in bytes."""
HEADER_LIMIT = 4 << 20
"""The longest header, in bytes; longer details are cut until it fits."""
LONGEST_NAME = 1_000
"""Code points of a name (client, session, thread, turn, agent) and of a transcript's path."""
LONGEST_TEXT = 2_000
"""Code points of a detail; longer is cut."""
LONGEST_SAID = 1 << 20
"""Code points of a detail that was said or done: prompt, input, output, last, summary."""
MOST_PARTS = 999
MOST_DETAILS = 32

SAID = frozenset({"input", "last", "output", "prompt", "report", "summary"})
"""The details that may be long."""
NAMES = ("hook", "client", "session", "thread", "turn", "agent")
"""The members that are one clean line."""


def one_line(text: str, longest: int) -> str:
    """A name as one clean line of at most `longest` code points."""
    if text.isascii() and text.isprintable():
        return text[:longest]
    # Imported only for what needs it: a session start is counted in parts of a millisecond.
    from .textrules import one_line

    return one_line(text, longest)


class UnknownFormat(ValueError):
    """The event is of a version or a kind that this reader does not know."""


class _Frozen:
    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an event is frozen: {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = (f"{name}={shown(getattr(self, name))}" for name in self.__slots__)
        return f"{type(self).__name__}({', '.join(members)})"


class Log(_Frozen):
    """Where the body of an event comes from.

    `name` is the transcript's path below HOME, else its whole path; `offset` that of the body's
    first byte in it; `more` says that the rest of what is new comes with the next event.
    """

    __slots__ = ("more", "name", "offset")

    name: str
    offset: int
    more: bool

    def __init__(self, name: str, offset: int, *, more: bool = False) -> None:
        put = object.__setattr__
        put(self, "name", one_line(name, LONGEST_NAME))
        put(self, "offset", offset)
        put(self, "more", more)


class Event(_Frozen):
    """One event, or one part of it. Frozen.

    `id` is 16 hexadecimal digits, the same in all parts; `part` is (k, n), from 1. `at` is
    nanoseconds since 1970. `session` is the client's own id, `turn` its id of the turn, `agent`
    the sub-agent's whose event it is; each "" when unknown. `details` by kind, as above. `body` is
    whole lines of the transcript `log` (a very long line may go over several parts).

    Texts are cut at their limits, and what is no Unicode in them becomes U+FFFD. What was said or
    done ends with an ellipsis when it is cut; every other text is made one clean line.
    """

    __slots__ = (
        "agent",
        "at",
        "body",
        "client",
        "details",
        "hook",
        "id",
        "kind",
        "log",
        "part",
        "session",
        "task",
        "thread",
        "turn",
    )

    kind: str
    id: str
    part: tuple[int, int]
    at: int
    hook: str
    client: str
    session: str
    thread: str
    task: bool
    turn: str
    agent: str
    details: dict[str, str]
    log: Log | None
    body: bytes

    def __init__(
        self,
        kind: str,
        *,
        id: str,
        at: int,
        part: tuple[int, int] = (1, 1),
        hook: str = VERSION,
        client: str = "",
        session: str = "",
        thread: str = "main",
        task: bool = False,
        turn: str = "",
        agent: str = "",
        details: dict[str, str] | None = None,
        log: Log | None = None,
        body: bytes = b"",
    ) -> None:
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "id", id)
        put(self, "part", part)
        put(self, "at", at)
        put(self, "hook", one_line(hook, LONGEST_NAME))
        put(self, "client", one_line(client, LONGEST_NAME))
        put(self, "session", one_line(session, LONGEST_NAME))
        put(self, "thread", one_line(thread, LONGEST_NAME))
        put(self, "task", task)
        put(self, "turn", one_line(turn, LONGEST_NAME))
        put(self, "agent", one_line(agent, LONGEST_NAME))
        put(self, "details", {name: _bounded(name, text) for name, text in (details or {}).items()})
        put(self, "log", log)
        put(self, "body", body)

    @property
    def name(self) -> str:
        """Of the event's file: names sort by time, then by part, and those of two never meet."""
        return f"{self.at:020d}-{self.id}-{self.part[0]:03d}.jsonl"

    def header(self) -> bytes:
        """The first line of the event's file, at most `HEADER_LIMIT` bytes of ASCII."""
        longest = HEADER_LIMIT
        while True:
            header = self._header(longest)
            if len(header) <= HEADER_LIMIT:
                return header
            longest >>= 1

    def encode(self) -> bytes:
        """The content of the event's file."""
        return self.header() + self.body

    def _header(self, longest: int) -> bytes:
        details = (
            f"{quote(name)}:{quote(_cut(text, longest))}" for name, text in self.details.items()
        )
        members = [
            f'"v":{FORMAT}',
            f'"kind":{quote(self.kind)}',
            f'"id":{quote(self.id)}',
            f'"part":[{self.part[0]},{self.part[1]}]',
            f'"at":{self.at}',
            *(f'"{name}":{quote(getattr(self, name))}' for name in NAMES),
            f'"task":{_json(self.task)}',
            f'"details":{{{",".join(details)}}}',
        ]
        if self.log is not None:
            members.append(
                f'"log":{{"name":{quote(self.log.name)},"offset":{self.log.offset},'
                f'"more":{_json(self.log.more)}}}'
            )
        return f"{{{','.join(members)}}}\n".encode("ascii")


def decode(data: bytes) -> Event:
    """The event that a file holds. Raises ValueError; UnknownFormat when it is merely newer."""
    # The hook itself only writes.
    from .decoding import decode

    return decode(data)


def _bounded(name: str, text: str) -> str:
    if name not in SAID:
        return one_line(text, LONGEST_TEXT)
    return _cut(text, LONGEST_SAID).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _json(flag: bool) -> str:
    return "true" if flag else "false"


def shown(value: object) -> str:
    """A value as a message may show it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"

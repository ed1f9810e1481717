"""What the hook tells the sidecar: the one format of the event files in the spool.

An event file is one JSON object in UTF-8. Its `v` is the version of this format; a reader refuses
a version that it does not know and leaves the file where it is. What stands in it is a claim of
the container, not a proof.
"""

from __future__ import annotations

from . import VERSION
from .jsontext import loads, quote

FORMAT = 1
ERROR = "error"
"""The hook met something that a person should know of."""
LONGEST_TEXT = 2_000
"""Code points of an event's text; longer is cut."""


class UnknownFormat(ValueError):
    """The event is of a version or a kind that this reader does not know."""


class Event:
    """One event. Frozen by custom.

    `at` is nanoseconds since 1970; `event` is the hook's event, `client` the client's name and
    `session` its session id, each "" when unknown; `text` says what happened, in one line.
    """

    __slots__ = ("at", "client", "event", "hook", "kind", "session", "task", "text", "thread")

    def __init__(
        self,
        kind: str,
        *,
        at: int,
        event: str,
        text: str,
        client: str = "",
        session: str = "",
        thread: str = "main",
        task: bool = False,
        hook: str = VERSION,
    ) -> None:
        self.kind = kind
        self.at = at
        self.event = event
        self.text = text[:LONGEST_TEXT]
        self.client = client
        self.session = session
        self.thread = thread
        self.task = task
        self.hook = hook

    def encode(self) -> bytes:
        """The content of the event file."""
        members = {
            "v": str(FORMAT),
            "kind": quote(self.kind),
            "at": str(self.at),
            "hook": quote(self.hook),
            "event": quote(self.event),
            "client": quote(self.client),
            "session": quote(self.session),
            "thread": quote(self.thread),
            "task": "true" if self.task else "false",
            "text": quote(self.text),
        }
        body = ",".join(f"{quote(name)}:{value}" for name, value in members.items())
        return f"{{{body}}}\n".encode("ascii")


def decode(data: bytes) -> Event:
    """The event that a file holds. Raises ValueError; UnknownFormat when it is merely newer."""
    value = loads(data.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("an event is a JSON object")
    if value.get("v") != FORMAT:
        raise UnknownFormat(f"an event of format {value.get('v')!r}")
    if value.get("kind") != ERROR:
        raise UnknownFormat(f"an event of kind {value.get('kind')!r}")
    at, task = value.get("at"), value.get("task")
    if isinstance(at, bool) or not isinstance(at, int) or at < 0 or not isinstance(task, bool):
        raise ValueError("an event with a wrong time or task")

    def text(name: str) -> str:
        field = value.get(name)
        if not isinstance(field, str):
            raise ValueError(f"an event without its {name}")
        return field

    return Event(
        ERROR,
        at=at,
        event=text("event"),
        text=text("text"),
        client=text("client"),
        session=text("session"),
        thread=text("thread"),
        task=task,
        hook=text("hook"),
    )

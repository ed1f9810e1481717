"""Messages of the queue: what stands in an inbox file, and how an agent sees one. Pure.

Every line of the frame's own carries the message's random id, which occurs in nothing else of the
message, so no text can end its frame or imitate its lines. With I for the id:

    -----BEGIN PANNIER MESSAGE I-----
    [I] from: deploy-bot
    [I] source: ci
    [I] sent: 2026-11-29T20:15:00Z
    [I] what this is
    the text
    [I] cut: …                          when the client could not take all of it
    -----END PANNIER MESSAGE I-----

A text is always followed by one newline of the frame's own. No line of the frame has a character
that some client escapes. That a frame is well-formed proves nothing: whoever writes a text can
write one with an id of their own. Which ids were sent, the queue knows.
"""

from __future__ import annotations

import time
from _blake2 import blake2b

from .jsontext import loads, quote
from .textrules import clean, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
MESSAGE = "message"
"""Something to tell the agent."""
ROLLBACK = "rollback"
"""An agent in Python shall go back to `checkpoint`."""
KINDS = (MESSAGE, ROLLBACK)

LONGEST_TEXT = 1 << 16
"""Bytes of a message's text, in UTF-8."""
LONGEST_NAME = 200
"""Code points of a sender, a source, a thread or a checkpoint."""
FILE_LIMIT = 1 << 18
"""Bytes of an inbox file: the longest text, with every character escaped."""
ID_LENGTH = 16
"""Hexadecimal digits of an id."""

_BEGIN = "-----BEGIN PANNIER MESSAGE "
_END = "-----END PANNIER MESSAGE "
_DASHES = "-----"
_ABOUT = (
    "This came through the queue of pannier; no person is typing it now. Sender and source are "
    "what the sender says they are. Deal with it as your instructions say. The same id twice is "
    "the same message twice."
)
_DIGITS = frozenset("0123456789abcdef")


class Message:
    """One message as it is sent. Frozen by custom.

    `id` is random and its own; `at` is nanoseconds since 1970; `sender` and `source` are claims of
    whoever sent it; `checkpoint` belongs to a rollback.
    """

    __slots__ = ("at", "checkpoint", "id", "kind", "sender", "source", "text", "thread")

    def __init__(
        self,
        id: str,
        text: str,
        *,
        at: int,
        kind: str = MESSAGE,
        thread: str = "main",
        sender: str = "",
        source: str = "",
        checkpoint: str = "",
    ) -> None:
        self.id = id
        self.kind = kind
        self.thread = thread
        self.at = at
        self.sender = sender
        self.source = source
        self.text = text
        self.checkpoint = checkpoint

    def __repr__(self) -> str:
        return f"Message({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def encode(self) -> bytes:
        """The content of the inbox file. Raises ValueError for what `decode` would refuse."""
        _check(self)
        members = {"v": str(FORMAT), "at": str(self.at)}
        for name in ("id", "kind", "thread", "sender", "source", "text", "checkpoint"):
            members[name] = quote(getattr(self, name))
        body = ",".join(f"{quote(name)}:{value}" for name, value in members.items())
        return f"{{{body}}}\n".encode("ascii")


class Piece:
    """A piece of a text: a framed message, or with an empty `id` what stands around messages.

    `text` is the piece as it stands, with its frame; `body` the message's own text. `at` is
    nanoseconds since 1970, to the second.
    """

    __slots__ = ("at", "body", "id", "sender", "source", "text")

    def __init__(
        self,
        text: str,
        id: str = "",
        *,
        body: str = "",
        sender: str = "",
        source: str = "",
        at: int = 0,
    ) -> None:
        self.text = text
        self.id = id
        self.body = body
        self.sender = sender
        self.source = source
        self.at = at


def decode(data: bytes) -> Message:
    """The message that an inbox file holds. Raises ValueError for anything else."""
    if len(data) > FILE_LIMIT:
        raise ValueError("a message's file is too long")
    value = loads(data.decode("utf-8"))
    if not isinstance(value, dict) or value.get("v") != FORMAT:
        raise ValueError("not a message of this format")

    def text(name: str) -> str:
        field = value.get(name)
        if not isinstance(field, str):
            raise ValueError(f"a message without its {name}")
        return field

    at = value.get("at")
    if isinstance(at, bool) or not isinstance(at, int):
        raise ValueError("a message without its time")
    message = Message(
        text("id"),
        text("text"),
        at=at,
        kind=text("kind"),
        thread=text("thread"),
        sender=text("sender"),
        source=text("source"),
        checkpoint=text("checkpoint"),
    )
    _check(message)
    return message


def is_id(text: str) -> bool:
    """Whether this can be a message's id."""
    return len(text) == ID_LENGTH and _DIGITS.issuperset(text)


def thread_mark(thread: str) -> str:
    """Eight digits that stand for the thread in a file's name, so that others pass it over."""
    return blake2b(thread.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def frame(message: Message, text: str | None = None, cut: str = "") -> str:
    """The message as the agent sees it: with `text` instead of its own, and a note on the `cut`."""
    own = f"[{message.id}] "
    lines = [
        f"{_BEGIN}{message.id}{_DASHES}",
        f"{own}from: {one_line(message.sender, LONGEST_NAME) or 'unknown'}",
        f"{own}source: {one_line(message.source, LONGEST_NAME) or 'unknown'}",
        f"{own}sent: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(message.at // 10**9))}",
        f"{own}{_ABOUT}",
        clean(message.text if text is None else text),
        *([f"{own}cut: {cut}"] if cut else []),
        f"{_END}{message.id}{_DASHES}",
    ]
    return "\n".join(lines)


def split_messages(text: str) -> list[Piece]:
    """The text in pieces, in order: framed messages, and what stands around them.

    The pieces together are the text. A frame without its end is no message.
    """
    pieces: list[Piece] = []
    told = 0
    for start, end, id in _frames(text):
        if start > told:
            pieces.append(Piece(text[told:start]))
        pieces.append(_read(text[start:end], id))
        told = end
    if told < len(text):
        pieces.append(Piece(text[told:]))
    return pieces


def _frames(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each frame starts and ends. What looks like one inside of another is its text."""
    at = 0
    while (start := text.find(_BEGIN, at)) >= 0:
        at = start + len(_BEGIN)
        id = text[at : at + ID_LENGTH]
        head = f"{id}{_DASHES}\n[{id}] from: "
        if not is_id(id) or not text.startswith(head, at):
            continue
        last = f"\n{_END}{id}{_DASHES}"
        end = text.find(last, at)
        if end >= 0:
            at = end + len(last)
            yield start, at, id


def _read(block: str, id: str) -> Piece:
    own = f"[{id}] "
    lines = block.split("\n")[1:-1]
    fields: dict[str, str] = {}
    while lines and lines[0].startswith(own):
        name, _, value = lines.pop(0)[len(own) :].partition(": ")
        fields.setdefault(name, value)
    if lines and lines[-1].startswith(f"{own}cut: "):
        lines.pop()
    return Piece(
        block,
        id,
        body="\n".join(lines),
        sender=fields.get("from", ""),
        source=fields.get("source", ""),
        at=_time(fields.get("sent", "")),
    )


def _time(text: str) -> int:
    if len(text) != 20 or not text.isascii():
        return 0
    parts = [text[0:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19]]
    if not all(part.isdigit() for part in parts):
        return 0
    year, month, day, hour, minute, second = map(int, parts)
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= 31):
        return 0
    # Days since 1970 by the civil calendar: `datetime` is slow to import, `timegm` needs it.
    years = year - (month <= 2)
    days = 365 * years + years // 4 - years // 100 + years // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719_468
    return (days * 86_400 + hour * 3_600 + minute * 60 + second) * 10**9


def _check(message: Message) -> None:
    """Raises ValueError for what is not well-formed or too long."""
    if not is_id(message.id):
        raise ValueError("a message without an id")
    if message.kind not in KINDS:
        raise ValueError(f"a message of kind {message.kind[:80]!r}")
    if not 0 <= message.at < 1 << 63:
        raise ValueError("a message with a wrong time")
    names = (message.thread, message.sender, message.source, message.checkpoint)
    if any(len(name) > LONGEST_NAME for name in names):
        raise ValueError("a message with a name that is too long")
    # Also raises for what is no text: half a character.
    if len(message.text.encode("utf-8")) > LONGEST_TEXT:
        raise ValueError(f"a message of more than {LONGEST_TEXT:,} bytes")
    if any(message.id in text for text in (*names, message.text)):
        raise ValueError("a message that holds its own id")

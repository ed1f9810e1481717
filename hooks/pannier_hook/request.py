"""What a client told the hook about the event: its standard input, read within bounds."""

from __future__ import annotations

import posix
import select
import time

from .jsontext import loads, raw_members, string_before_cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 1 << 20
"""The most that is looked at, in bytes; of what a tool did, it is more (`toolrequest`)."""
STREAM_LIMIT = 64 << 20
"""The most that is taken from a client that has more to say, in bytes."""
DEADLINE = 1.0
"""The longest that reading takes, in seconds."""
CHUNK = 1 << 16
"""The most that is read at once, in bytes."""
_DRAIN = 0.5
"""The longest that reading beyond the input's limit takes, in seconds."""
_LONG = frozenset(
    {
        "prompt",
        "last_assistant_message",
        "lastAssistantMessage",
        "prompt_response",
        "compact_summary",
        "summary",
        "tool_response",
    }
)
"""Texts of which the beginning is better than nothing; the beginning of a name is another name."""


class Request:
    """The members of the client's JSON object, asked for by name and type."""

    __slots__ = ("_members", "_raw")

    def __init__(self, members: dict[str, object], raw: dict[str, str] | None = None) -> None:
        self._members = members
        self._raw = raw or {}

    def text(self, *names: str) -> str:
        """The first of `names` that is a string, else ""."""
        for name in names:
            value = self._members.get(name)
            if isinstance(value, str):
                return value
        return ""

    def value(self, *names: str) -> object:
        """The first of `names` that is there, else None."""
        return next((self._members[name] for name in names if name in self._members), None)

    def flag(self, *names: str) -> bool:
        """Whether one of `names` is true."""
        return any(self._members.get(name) is True for name in names)

    def raw(self, *names: str) -> str:
        """The first of `names` that is there: a string, else its JSON as the client wrote it."""
        for name in names:
            value = self._members.get(name)
            if isinstance(value, str):
                return value
            if name in self._raw:
                return self._raw[name]
        return ""

    def inner(self, name: str) -> Request:
        """The object `name`; one without members if it is none."""
        value = self._members.get(name)
        return Request(value if isinstance(value, dict) else {})

    def with_output(self, text: str) -> Request:
        """The same of a tool that gave `text`."""
        members = {name: value for name, value in self._members.items() if name != "toolResult"}
        return Request({**members, "tool_response": text}, self._raw)

    @property
    def source(self) -> str:
        """Why the context starts, in the client's own word."""
        return self.text("source")

    @property
    def session(self) -> str:
        """The client's session id; some clients spell the key in camel case."""
        return self.text("session_id", "sessionId")

    @property
    def kept(self) -> bool:
        """Whether the client keeps a transcript of the session. Codex has none of the session in
        which it asks for a title, nor of one that a person wants to leave no trace."""
        return self._members.get("transcript_path", "") is not None

    @property
    def empty(self) -> bool:
        """Whether this is no prompt: Qwen Code announces an empty one after each tool's result."""
        prompt = self._members.get("prompt")
        return isinstance(prompt, str) and not prompt.strip()

    @property
    def failed(self) -> bool:
        """Whether the model's API failed: Claude Code and Qwen Code say so in the place of a stop,
        and hear no answer."""
        return self.text("hook_event_name") == "StopFailure"

    @property
    def tool(self) -> str:
        """The client's name of the tool that was called."""
        return self.text("tool_name", "toolName")

    @property
    def agent(self) -> str:
        """The sub-agent's id if the event is one's, else ""."""
        return self.text("agent_id", "agentId")


def read_request(fd: int = 0, *, tolerate_cut: bool = False, deadline: float = DEADLINE) -> Request:
    """Read the client's JSON object from `fd`.

    With `tolerate_cut` an object that is longer than the input's limit, or that does not end
    within `deadline` seconds, gives its first members, and the beginning of a long text that was
    cut: a huge prompt comes after the session id. Raises ValueError when the input is not one JSON
    object, and OSError when it cannot be read.
    """
    data, ended = read(fd, deadline=deadline)
    if ended:
        return Request(_object(data))
    if not tolerate_cut:
        raise ValueError("the input was cut: too long, or it did not end in time")
    return _beginning(fd, data)


def _beginning(fd: int, data: bytes) -> Request:
    """What there is in the beginning of a JSON object. What goes beyond the input's limit is read
    and thrown away, for a client that writes must not find its end closed."""
    if len(data) > LIMIT:
        for _ in more(fd, STREAM_LIMIT - LIMIT):
            pass
    return members_of(data[:LIMIT].decode("utf-8", "replace"))


def members_of(text: str) -> Request:
    """The members of a JSON object of which the end may be missing."""
    members, (cut, rest) = raw_members(text)
    values = {name: value for name, (value, _) in members.items()}
    raw = {name: text for name, (_, text) in members.items()}
    if cut in _LONG and (text := string_before_cut(rest)):
        values[cut] = text
    elif cut:
        raw[cut] = rest
    return Request(values, raw)


def more(fd: int, most: int) -> Iterator[bytes]:
    """What comes beyond the input's limit: at most `most` bytes, and not for long."""
    until = time.monotonic() + _DRAIN
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while most > 0 and (left := until - time.monotonic()) > 0 and poll.poll(left * 1000):
        chunk = posix.read(fd, min(CHUNK, most))
        if not chunk:
            return
        most -= len(chunk)
        yield chunk


def read(fd: int, *, limit: int = LIMIT, deadline: float = DEADLINE) -> tuple[bytes, bool]:
    """The bytes of `fd`, and whether that is all: read to its end, to one byte more than `limit`,
    or until `deadline` seconds have passed.

    A client that leaves its end open is not waited for: a whole object, and nothing more to read,
    is all. A terminal counts as empty: nobody is asked to type. Raises OSError.
    """
    if posix.isatty(fd):
        return b"", True
    until = time.monotonic() + deadline
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    data = b""
    while len(data) <= limit:
        if not poll.poll(0):
            if _is_object(data):
                return data, True
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return data, False
        chunk = posix.read(fd, min(CHUNK, limit + 1 - len(data)))
        if not chunk:
            return data, True
        data += chunk
        if time.monotonic() >= until:
            break
    return data, False


def _object(data: bytes) -> dict[str, object]:
    value = loads(data.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("the input is not a JSON object")
    return value


def _is_object(data: bytes) -> bool:
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        _object(data)
    except ValueError:
        return False
    return True

"""What a client told the hook about the event: its standard input as values."""

from __future__ import annotations

from . import stdin
from .jsontext import loads, members_before_cut


class Request:
    """The members of the client's JSON object, asked for by name and type."""

    __slots__ = ("_members",)

    def __init__(self, members: dict[str, object]) -> None:
        self._members = members

    def text(self, *names: str) -> str:
        """The first of `names` that is a string, else ""."""
        for name in names:
            value = self._members.get(name)
            if isinstance(value, str):
                return value
        return ""

    @property
    def source(self) -> str:
        """Why the context starts, in the client's own word."""
        return self.text("source")

    @property
    def session(self) -> str:
        """The client's session id; some clients spell the key in camel case."""
        return self.text("session_id", "sessionId")


def read_request(fd: int = 0, *, tolerate_cut: bool = False) -> Request:
    """Read the client's JSON object from `fd`.

    With `tolerate_cut` an object that is longer than the input's limit gives its first members: a
    huge prompt comes after the session id. Raises ValueError when the input is not one JSON
    object, and OSError when it cannot be read.
    """
    found = stdin.read(fd, _is_object)
    if found.cut and tolerate_cut:
        return Request(members_before_cut(found.data.decode("utf-8", "replace")))
    if found.cut:
        raise ValueError("the input was cut: too long, or it did not end in time")
    return Request(_object(found.data))


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

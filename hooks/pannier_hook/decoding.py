"""Reading event files, which anybody may have written: each member within its type and bounds."""

from __future__ import annotations

from hashlib import sha256

from .events import (
    ERROR,
    FILE_LIMIT,
    FORMAT,
    HEADER_LIMIT,
    KINDS,
    LONGEST_NAME,
    LONGEST_SAID,
    LONGEST_TEXT,
    MOST_DETAILS,
    MOST_PARTS,
    NAMES,
    SAID,
    Event,
    Log,
    UnknownFormat,
    one_line,
    shown,
)
from .jsontext import loads

_GREATEST = (1 << 63) - 1
_EARLIER = 1
"""The format of hooks that told nothing but errors: no id, no parts, all in one object."""
_HEX = frozenset("0123456789abcdef")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def decode(data: bytes) -> Event:
    """The event that a file holds. Raises ValueError; UnknownFormat when it is merely newer."""
    if len(data) > FILE_LIMIT:
        raise ValueError("an event file of more than 8 MiB")
    end = data.find(b"\n", 0, HEADER_LIMIT)
    if end < 0:
        raise ValueError("an event without a header, or with one that is too long")
    value = loads(data[:end].decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("an event's header is not a JSON object")
    form, kind = value.get("v"), value.get("kind")
    if form is None or kind is None:
        raise ValueError("an event without the number of its format, or without its kind")
    if type(form) is int and form == _EARLIER and kind == ERROR:
        return _earlier(value, data)
    if type(form) is not int or form != FORMAT:
        raise UnknownFormat(f"an event of format {shown(form)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownFormat(f"an event of kind {shown(kind)}")
    log = _log(value.get("log"))
    body = data[end + 1 :]
    if body and log is None:
        raise ValueError("an event with records but without the log that they come from")
    return Event(
        kind,
        id=_id(value.get("id")),
        part=_part(value.get("part")),
        at=_number(value, "at"),
        task=_flag(value, "task"),
        details=_details(value.get("details")),
        log=log,
        body=body,
        **{name: _name(value, name) for name in NAMES},
    )


def _earlier(value: dict[str, object], data: bytes) -> Event:
    """What an earlier hook reported. The id is made from the file: the same one has the same."""
    return Event(
        ERROR,
        id=sha256(data).hexdigest()[:16],
        at=_number(value, "at"),
        task=_flag(value, "task"),
        details=_details({name: value.get(name) for name in ("event", "text")}),
        hook=_name(value, "hook"),
        client=_name(value, "client"),
        session=_name(value, "session"),
        thread=_name(value, "thread"),
    )


def _id(value: object) -> str:
    if not isinstance(value, str) or len(value) != 16 or not _HEX.issuperset(value):
        raise ValueError("an event without an id of 16 hexadecimal digits")
    return value


def _part(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("an event without its part")
    number, count = value
    if type(number) is not int or type(count) is not int or not 1 <= number <= count <= MOST_PARTS:
        raise ValueError("an event with a wrong part")
    return number, count


def _log(value: object) -> Log | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("an event with a wrong log")
    name = _name(value, "name")
    if not name:
        raise ValueError("an event with a log without a name")
    return Log(name, _number(value, "offset"), more=_flag(value, "more"))


def _details(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MOST_DETAILS:
        raise ValueError("an event without details, or with too many")
    for name, text in value.items():
        if not 1 <= len(name) <= 40 or not _LETTERS.issuperset(name):
            raise ValueError("an event with a detail of a wrong name")
        if not isinstance(text, str) or len(text) > _longest(name):
            raise ValueError(f"an event whose detail {name} is no text, or too long")
    return value


def _name(value: dict[str, object], name: str) -> str:
    """A name is clean as it stands: a cleaned one could be another's."""
    text = value.get(name)
    if not isinstance(text, str) or one_line(text, LONGEST_NAME) != text:
        raise ValueError(f"an event whose {name} is no clean short text")
    return text


def _number(value: dict[str, object], name: str) -> int:
    number = value.get(name)
    if type(number) is not int or not 0 <= number <= _GREATEST:
        raise ValueError(f"an event with a wrong {name}")
    return number


def _flag(value: dict[str, object], name: str) -> bool:
    flag = value.get(name)
    if not isinstance(flag, bool):
        raise ValueError(f"an event with a wrong {name}")
    return flag


def _longest(name: str) -> int:
    return LONGEST_SAID if name in SAID else LONGEST_TEXT

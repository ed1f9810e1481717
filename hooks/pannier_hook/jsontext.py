"""JSON by the standard library's C scanner and encoder.

`import json` takes as long as starting Python; these two take almost nothing.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_scanner, scanstring

_SPACE = " \t\n\r"
# Without `json` imported, the scanner cannot make its own error and leaves a SystemError.
_NOT_JSON = (ValueError, StopIteration, RecursionError, IndexError, SystemError)
_LONGEST_NUMBER = 20
_LONGEST_ESCAPE = 12


def quote(text: str) -> str:
    """`text` as a JSON string of ASCII only, so that no reader can split a character in two."""
    return encode_basestring_ascii(text)


def loads(text: str) -> object:
    """The value that `text` holds. Raises ValueError for anything that is not one JSON value."""
    try:
        value, end = _scan(text, _skip(text, 0))
    except _NOT_JSON as problem:
        raise ValueError("not valid JSON") from problem
    if _skip(text, end) != len(text):
        raise ValueError("not valid JSON: text after the value")
    return value


def raw_members(text: str) -> tuple[dict[str, tuple[object, str]], tuple[str, str]]:
    """The members at the start of a JSON object, each with its text, and the one after them: its
    name and what there is of its text, ("", "") without one. Text that is no object has none."""
    members: dict[str, tuple[object, str]] = {}
    key = ""
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return members, ("", "")
    begin = len(text)
    try:
        while True:
            key, begin = "", len(text)
            at = _skip(text, at + 1)
            if text[at : at + 1] != '"':
                break
            name, at = scanstring(text, at + 1, True)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                break
            key, begin = name, _skip(text, at + 1)
            value, end = _scan(text, begin)
            at = _skip(text, end)
            if text[at : at + 1] not in (",", "}"):
                break
            members[key] = value, text[begin:end]
            if text[at] == "}":
                return members, ("", "")
    except _NOT_JSON:
        pass
    return members, (key, text[begin:])


def string_before_cut(text: str) -> str:
    """The beginning of a JSON string whose end was cut off, as far as it can be read; "" when it is
    no string."""
    if text[:1] != '"':
        return ""
    # The cut may have split an escape: a character beyond the first 65,536 has two.
    for length in range(len(text), max(0, len(text) - _LONGEST_ESCAPE), -1):
        try:
            found, _ = scanstring(f'{text[:length]}"', 1, True)
        except _NOT_JSON:
            continue
        return found[:-1] if "\ud800" <= found[-1:] <= "\udbff" else found
    return ""


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _number(digits: str) -> int | float:
    """A number; a very long one becomes a float, because reading its digits takes too long."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


class _Context:
    """What the C scanner asks its decoder for."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = staticmethod(_number)
    parse_constant = float


# The stub asks for a decoder by the scanner's own name; the scanner asks for these attributes.
_scan = make_scanner(_Context())  # type: ignore[arg-type]

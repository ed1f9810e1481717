"""Whether what stands where a secret would stand looks like one."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"[~./$%{(\[#@]|\w+://|[A-Z][A-Z0-9]*_[A-Z0-9_]*$|1password", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_BLANKED = re.compile(r"(.)\1*|.*(\.\.\.|…|\*\*|xxx).*", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:[.-]\d+)+", re.IGNORECASE)
_MARKS = frozenset("!@#$%^&*+=~?")
_FILES = (".md", ".txt", ".yaml", ".json", ")")


def bare(value: str) -> str:
    """Without what ends a sentence or a piece of markup."""
    return value.rstrip(".,;:!?)]}*")


def whole(value: str) -> str:
    """The same, but with marks that may be the end of a password."""
    return value.rstrip(".,;:)]}*")


def is_mixed(value: str) -> bool:
    """Whether it is no word of a sentence: it has letters, digits and marks."""
    return _has_letter(value) and _has_digit(value) and _has_mark(value)


def says_a_secret(value: str, password: bool, quoted: bool) -> bool:
    """Right behind its name."""
    if _stands_for_one(value) or value.lower().endswith(_FILES):
        return False
    if password:
        return (
            _has_digit(value)
            or (_has_letter(value) and _has_mark(value))
            or (quoted and len(value) >= 6)
        )
    return _has_letter(value) and _has_digit(value) and len(value) >= 8


def is_clearly_one(value: str, password: bool, pin: bool) -> bool:
    """Something stands between its name and it, so it has to look like one."""
    if _stands_for_one(value) or value.lower().endswith(_FILES) or _VERSION.fullmatch(value):
        return False
    if pin:
        return value.isdecimal()
    if password:
        return len(value) >= 6 and _has_letter(value) and (_has_digit(value) or _has_mark(value))
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    mixed = digits > 1 or (digits > 0 and value != value.lower())
    return len(value) >= 16 and letters > 1 and mixed and sum(c in "-_/." for c in value) < 2


def _stands_for_one(value: str) -> bool:
    """A variable, a path, a constant, asterisks."""
    return bool(_REFERENCE.match(value) or _CONSTANT.fullmatch(value) or _BLANKED.fullmatch(value))


def _has_letter(value: str) -> bool:
    return any(map(str.isalpha, value))


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def _has_mark(value: str) -> bool:
    return any(map(_MARKS.__contains__, value))

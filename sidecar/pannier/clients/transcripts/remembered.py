"""What readers remember of a session as JSON, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

Remembered = TypeVar("Remembered")
"""A dataclass of which every field has a default."""


def short(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as they are at first."""
    empty = type(value)()
    names = [one.name for one in fields(value)]
    return {n: getattr(value, n) for n in names if getattr(value, n) != getattr(empty, n)}


def restored(kind: type[Remembered], value: object) -> Remembered:
    """From what `short` gave. States are our own words, but of an older version perhaps: what has
    another type is left as it is at first."""
    found = kind()
    if isinstance(value, Mapping):
        for name, one in value.items():
            if type(one) is type(getattr(found, name, None)):
                setattr(found, name, one)
    return found

"""Records of a transcript as JSON, from a writer that nobody has to trust. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

Json = Mapping[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING: Json = {}


def load(data: bytes) -> Json | None:
    """The object that a line holds; None when it holds something else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def dump(value: object) -> str:
    """JSON as it is stored: all characters as themselves."""
    return json.dumps(value, ensure_ascii=False)


def text(value: object) -> str:
    """A text, or "" for anything else."""
    return value if isinstance(value, str) else ""


def member(value: Json, name: str) -> Json:
    """A member that is an object; an empty one in place of anything else."""
    found = value.get(name)
    return found if isinstance(found, dict) else _NOTHING


def objects(value: object) -> Sequence[Json]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else ()


def number(value: object) -> int | None:
    """A natural number, or None for anything else."""
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def nanoseconds(value: object) -> int:
    """A time in ISO 8601 as nanoseconds since 1970; 0 for anything else."""
    try:
        at = datetime.fromisoformat(text(value))
        return (at.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1) * 1000
    except (ValueError, OverflowError):
        return 0


def digest(*parts: str) -> str:
    """16 hexadecimal digits for these texts."""
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(whole, digest_size=8).hexdigest()

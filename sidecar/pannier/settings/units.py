"""Sizes and times as people write them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size_in_bytes(text: str) -> int:
    """`4g`, `512m`, `1.5GiB` → bytes, in powers of 1,024 as docker counts.

    Raises ValueError.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("write a size like 512m or 4g")
    size = float(match[1]) * _UNITS[match[2].lower()]
    if size > _LARGEST:
        raise ValueError("no machine has so much; write a size like 512m or 4g")
    return int(size)


_LARGEST = 1 << 50


def _a_size(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("write a size like 512m or 4g")
    size_in_bytes(value)
    return value


_DURATION = re.compile(r"(\d{1,4})(m|h|d)")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}


def seconds_of(duration: str) -> int:
    """`30m`, `12h`, `2d` → seconds. Raises ValueError."""
    match = _DURATION.fullmatch(duration)
    if not match or not int(match[1]):
        raise ValueError("write a time like 30m, 12h or 2d")
    return int(match[1]) * _SECONDS[match[2]]


def _a_duration(value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise ValueError("write a time like 30m, 12h or 2d")
    if value is not None:
        seconds_of(value)
    return value


Size = Annotated[str, BeforeValidator(_a_size)]
Duration = Annotated[str | None, BeforeValidator(_a_duration)]

"""Times in words. Nanoseconds since 1970, UTC; a container can claim any number. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(at: int) -> str | None:
    """For programs, in ISO 8601; None for 0 and for a time that is none."""
    found = _time(at) if at else None
    return found.isoformat(timespec="milliseconds") if found else None


def moment(at: int) -> str:
    """For people: date and time."""
    found = _time(at)
    return found.strftime("%Y-%m-%d %H:%M") if found else "at some time"


def day(at: int) -> str:
    """For the name of a file: the date; that of 0 for a time that is none."""
    return (_time(at) or datetime.fromtimestamp(0, UTC)).strftime("%Y-%m-%d")


def _time(at: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(at / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        return None

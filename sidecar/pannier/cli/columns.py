"""Rows as docker prints them: never cut, so that they can be copied and piped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as lines, two spaces between their columns. The first row is the heading."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(_padded, row, widths)).rstrip()


def _padded(cell: str, width: int) -> str:
    """A Chinese or Japanese character is two columns wide."""
    return cell + " " * (width - cell_len(cell))


def lasted(seconds: float) -> str:
    """A time as people say it: `4 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours = whole // 60, whole // 3_600
    if minutes < 60:
        return f"{minutes} min"
    if hours < 24:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"

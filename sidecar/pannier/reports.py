"""What there is to know of a group's spool: what hooks reported, what waits, what was rejected."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pannier import safefs
from pannier.errors import PannierError, described
from pannier.shown import brief
from pannier.threads.spool import MOST_NAMES, NEW, REJECTED, REPORTS, WHY
from pannier_hook import events

_EVENTS_READ = 500
_EVENT_SIZE = 64 * 1024
"""What an error has at most; what is longer is something that was said."""
_NAME_LENGTH = 40
_TEXT_LENGTH = 500
_REASON_LENGTH = 200


@dataclass(frozen=True)
class Reports:
    """All text is one line, and safe to print."""

    errors: tuple[tuple[str, int], ...] = ()
    """What the newest errors say, each with how many times, the most frequent first."""
    waiting: int = 0
    """Files that nobody has taken in yet; more than MOST_NAMES are not counted."""
    oldest: float = 0.0
    """Seconds for which one of them has waited."""
    rejected: tuple[tuple[str, int], ...] = ()
    """Why files could not be read, each reason with how many, the most frequent first."""
    problem: str = ""
    """Why there is no looking into the spool, so that nothing is known of it."""


def read_reports(spool: Path) -> Reports:
    """Never raises for what an agent can do to its spool."""
    try:
        waiting, oldest = _waiting(spool)
        errors = Counter(_errors(spool, REPORTS)) + Counter(_errors(spool, NEW))
        reasons = Counter(_reasons(spool))
    except OSError as error:
        return Reports(problem=described(error))
    except PannierError as error:
        return Reports(problem=error.message)
    return Reports(tuple(errors.most_common()), waiting, oldest, tuple(reasons.most_common()))


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in islice(entries, MOST_NAMES))


def _waiting(spool: Path) -> tuple[int, float]:
    try:
        with safefs.open_directory(spool, NEW) as folder:
            names = _names(folder)
            age = 0.0
            for name in names[:1]:
                age = time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime
    except FileNotFoundError:
        return 0, 0.0  # The hook makes the folder for its first event.
    return len(names), max(0.0, age)


def _errors(spool: Path, name: str) -> Iterator[str]:
    try:
        with safefs.open_directory(spool, name) as folder:
            for file in _names(folder)[-_EVENTS_READ:]:
                try:
                    event = events.decode(safefs.read(folder, file, limit=_EVENT_SIZE))
                except (OSError, ValueError, RecursionError, PannierError):
                    continue
                if event.kind == events.ERROR:
                    yield _line(event)
    except FileNotFoundError:
        return


def _line(event: events.Event) -> str:
    who = brief(event.client, _NAME_LENGTH) or "no client"
    what = brief(event.details.get("event", ""), _NAME_LENGTH)
    return f"{what} ({who}): {brief(event.details.get('text', ''), _TEXT_LENGTH)}"


def _reasons(spool: Path) -> Iterator[str]:
    try:
        with safefs.open_directory(spool, REJECTED) as folder:
            names = _names(folder)
            told = {name for name in names if name.endswith(WHY)}
            for name in names[-2 * _EVENTS_READ :]:
                if name not in told:
                    yield _reason(folder, name + WHY) if name + WHY in told else "no reason is told"
    except FileNotFoundError:
        return


def _reason(folder: int, name: str) -> str:
    try:
        text = safefs.read(folder, name, limit=_EVENT_SIZE).decode("utf-8", "replace")
    except (OSError, PannierError):
        return "its reason cannot be read"
    return brief(text, _REASON_LENGTH)

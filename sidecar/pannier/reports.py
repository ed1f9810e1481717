"""What hooks reported into a spool, for a person to read."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pannier import safefs
from pannier.errors import PannierError, described
from pannier.shown import brief
from pannier_hook import events

_EVENTS_READ = 500
_ERROR_SIZE = 64 * 1024
"""A header that is longer is of an event that holds what was said, and so of no error."""
_NAME_LENGTH = 40
_TEXT_LENGTH = 500


@dataclass(frozen=True)
class Reports:
    """Of the newest events. All text is one line, and safe to print."""

    errors: tuple[tuple[str, int], ...]
    """Each with how many times it was reported, the most frequent first."""
    unreadable: int
    """How many files are no events that we know."""
    problem: str = ""
    """Why there is no looking into the spool, so that nothing is known of reports."""


def read_reports(spool: Path) -> Reports:
    """Never raises for what an agent can do to its spool."""
    counts: Counter[str] = Counter()
    unreadable = 0
    try:
        with safefs.open_directory(spool, "new") as folder:
            for name in sorted(os.listdir(folder), reverse=True)[:_EVENTS_READ]:  # noqa: PTH208
                try:
                    with safefs.open_file(folder, name) as file:
                        data = os.read(file, _ERROR_SIZE)
                    if len(data) == _ERROR_SIZE and b"\n" not in data:
                        continue
                    event = events.decode(data)
                except (OSError, ValueError, RecursionError, PannierError):
                    unreadable += 1
                    continue
                if event.kind == events.ERROR:
                    counts[_line(event)] += 1
    except FileNotFoundError:
        pass  # The hook makes it for its first report.
    except OSError as error:
        return Reports((), 0, described(error))
    except PannierError as error:
        return Reports((), 0, error.message)
    return Reports(tuple(counts.most_common()), unreadable)


def _line(event: events.Event) -> str:
    who = brief(event.client, _NAME_LENGTH) or "no client"
    what = brief(event.details.get("event", ""), _NAME_LENGTH)
    return f"{what} ({who}): {brief(event.details.get('text', ''), _TEXT_LENGTH)}"

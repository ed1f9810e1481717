"""What learning keeps books of beside lessons: failures, wishes, use of models, reports."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from pannier.database import in_words
from pannier.learning.store.rows import Report, Spent, Try

DAY = 86_400.0
_REPORTS_KEPT = 50
"""Of a group."""


def day_of(at: float) -> str:
    """The day of UTC, as YYYY-MM-DD, of a time in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def next_day(at: float) -> float:
    """When the next day of UTC begins."""
    return (at // DAY + 1) * DAY


class Books:
    """They stand in `learning.db`. Every method raises PannierError."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self.db = db

    def _words(self) -> AbstractContextManager[None]:
        return in_words(self.path)

    # ------------------------------------------------------------------------------------ failures

    def tries(self, grp: str | None = None) -> tuple[Try, ...]:
        """What failed or waits, of a group or of all."""
        query = (
            "SELECT grp, work, count, at, not_before, kind, why, model FROM tries"
            " WHERE grp = coalesce(?, grp) ORDER BY grp, work"
        )
        with self._words():
            return tuple(Try(*row) for row in self.db.execute(query, (grp,)))

    def tried(self, grp: str, work: str) -> Try | None:
        """How that work of the group fared; None: well, as far as is known."""
        return next((found for found in self.tries(grp) if found.work == work), None)

    def note_try(self, tried: Try) -> None:
        """Note it in the place of what was known of this work."""
        t = tried
        with self._words():
            self.db.execute(
                "INSERT OR REPLACE INTO tries"
                " (grp, work, count, at, not_before, kind, why, model)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (t.grp, t.work, t.count, t.at, t.not_before, t.kind, t.why, t.model),
            )

    def clear_tries(self, grp: str, work: str | None = None) -> None:
        """Forget the failures of this work, or of all work of the group."""
        with self._words():
            self.db.execute(
                "DELETE FROM tries WHERE grp = ? AND work = coalesce(?, work)", (grp, work)
            )

    # -------------------------------------------------------------------------------------- wishes

    def want(self, grp: str, work: str, at: float) -> None:
        """A person asked for this work now."""
        with self._words():
            self.db.execute("INSERT OR REPLACE INTO wanted VALUES (?, ?, ?)", (grp, work, at))

    def wanted(self) -> dict[tuple[str, str], float]:
        """What was asked for, by group and work, and when."""
        with self._words():
            found = self.db.execute("SELECT grp, work, at FROM wanted")
            return {(grp, work): at for grp, work, at in found}

    def unwant(self, grp: str, work: str, at: float) -> None:
        """It was done; what was asked for later stays."""
        with self._words():
            self.db.execute(
                "DELETE FROM wanted WHERE grp = ? AND work = ? AND at <= ?", (grp, work, at)
            )

    # ----------------------------------------------------------------------------------------- use

    def spend(self, day: str, grp: str, calls: int, input: int, output: int) -> None:
        """Add to what the group used on this day (YYYY-MM-DD, UTC); less than zero takes away."""
        with self._words():
            self.db.execute(
                "INSERT INTO spent (day, grp, calls, input, output) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,"
                " input = input + excluded.input, output = output + excluded.output",
                (day, grp, calls, input, output),
            )

    def spent(self, day: str) -> dict[str, Spent]:
        """What each group used on this day."""
        query = "SELECT grp, calls, input, output FROM spent WHERE day = ?"
        with self._words():
            return {grp: Spent(*used) for grp, *used in self.db.execute(query, (day,))}

    def days(self, grp: str | None = None) -> dict[str, Spent]:
        """What a group, or all of them, used on each day."""
        query = (
            "SELECT day, sum(calls), sum(input), sum(output) FROM spent"
            " WHERE grp = coalesce(?, grp) GROUP BY day ORDER BY day"
        )
        with self._words():
            return {day: Spent(*used) for day, *used in self.db.execute(query, (grp,))}

    # ------------------------------------------------------------------------------------- reports

    def report(self, grp: str, work: str, at: float, body: str) -> None:
        """Keep what a piece of work came to; the oldest of the group give way."""
        with self._words():
            self.db.execute(
                "INSERT INTO reports (grp, work, at, body) VALUES (?, ?, ?, ?)",
                (grp, work, at, body),
            )
            self.db.execute(
                "DELETE FROM reports WHERE grp = ?1 AND id <= (SELECT id FROM reports"
                " WHERE grp = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                (grp, _REPORTS_KEPT),
            )

    def reports(self, grp: str, limit: int = _REPORTS_KEPT) -> tuple[Report, ...]:
        """The group's, the newest first."""
        query = "SELECT id, grp, work, at, body FROM reports WHERE grp = ? ORDER BY id DESC LIMIT ?"
        with self._words():
            return tuple(Report(*row) for row in self.db.execute(query, (grp, limit)))

    def drop_reports(self, ids: Iterable[int]) -> None:
        """They are kept no more."""
        with self._words():
            self.db.executemany("DELETE FROM reports WHERE id = ?", [(id,) for id in ids])

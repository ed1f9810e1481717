"""The turns that count and succeeded, kept beside `turns` in the order in which it was heard of."""

from __future__ import annotations

import sqlite3
import time


def settle(db: sqlite3.Connection, turn: int) -> None:
    """Count the turn, or count it no more, by its outcome; in the transaction that is open.

    When it ended is a claim, and holds as far as it is not in the future.
    """
    db.execute(
        "INSERT OR IGNORE INTO successes (grp, turn, at) SELECT grp, turns.id, min(ended, ?2)"
        " FROM turns JOIN threads ON threads.id = turns.thread"
        " WHERE turns.id = ?1 AND outcome = 'succeeded' AND inner = '' AND NOT task",
        (turn, time.time_ns()),
    )
    db.execute(
        "DELETE FROM successes WHERE turn = ? AND turn IN"
        " (SELECT id FROM turns WHERE outcome != 'succeeded')",
        (turn,),
    )

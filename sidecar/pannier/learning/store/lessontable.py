"""The table `lessons`: the lines of each group's MEMORY.md, those that left it among them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from pannier.learning.lessons import Lesson
from pannier.learning.store.rows import Gone

_COLUMNS = "id, section, text, kind, source, learned, confirmed, changed, said, confirmations, by"


def put(db: sqlite3.Connection, grp: str, lesson: Lesson, gone: Gone | None = None) -> None:
    """The lesson as it is now. What it was made from stands with the candidates."""
    values = {**vars(lesson), "grp": grp, "gone": 0.0, "why": ""}
    if gone is not None:
        values |= vars(gone) | {"gone": gone.at}
    db.execute(
        f"INSERT OR REPLACE INTO lessons (grp, {_COLUMNS}, gone, why_gone)"
        " VALUES (:grp, :id, :section, :text, :kind, :source, :learned, :confirmed, :changed,"
        " :said, :confirmations, :by, :gone, :why)",
        values,
    )


def select(db: sqlite3.Connection, grp: str, *, gone: bool = False) -> tuple[Lesson, ...]:
    """Those that stand in the memory; with `gone`, those that left it instead."""
    which = "gone != 0" if gone else "gone = 0"
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM lessons WHERE grp = ? AND {which} ORDER BY learned, id", (grp,)
    ).fetchall()
    merged: dict[str, list[str]] = {}
    query = "SELECT lesson, id FROM candidates WHERE grp = ? AND lesson != '' ORDER BY found, id"
    for lesson, candidate in db.execute(query, (grp,)):
        merged.setdefault(lesson, []).append(candidate)
    lessons = [Lesson(*row) for row in rows]
    return tuple(replace(one, candidates=tuple(merged.get(one.id, ()))) for one in lessons)


def gone(db: sqlite3.Connection, grp: str, id: str) -> Gone | None:
    """When and why the lesson left the memory; None: it did not."""
    query = "SELECT gone, why_gone FROM lessons WHERE grp = ? AND id = ? AND gone != 0"
    found = db.execute(query, (grp, id)).fetchone()
    return Gone(*found) if found else None


def left(db: sqlite3.Connection, grp: str, why: str) -> dict[str, float]:
    """When which lessons left the memory for this reason, by id."""
    query = "SELECT id, gone FROM lessons WHERE grp = ? AND gone != 0 AND why_gone = ?"
    return dict(db.execute(query, (grp, why)).fetchall())


def rename(db: sqlite3.Connection, grp: str, sections: Iterable[str], name: str) -> None:
    """These sections are called so now."""
    db.executemany(
        "UPDATE lessons SET section = ? WHERE grp = ? AND section = ?",
        [(name, grp, section) for section in sections],
    )


def remove(db: sqlite3.Connection, grp: str, ids: Iterable[str]) -> None:
    """As if they had never been learned."""
    db.executemany("DELETE FROM lessons WHERE grp = ? AND id = ?", [(grp, id) for id in ids])

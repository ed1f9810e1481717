"""The tables `candidates` and `evidence`. What writes does so in the transaction that is open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from pannier.learning.lessons import Candidate, CandidateState, Evidence

_COLUMNS = "id, kind, text, topic, source, found, state, why, lesson, approved"


def insert(db: sqlite3.Connection, grp: str, piece: str, found: Iterable[Candidate]) -> None:
    """New ones, of a piece of a thread."""
    for c in found:
        db.execute(
            f"INSERT INTO candidates (grp, piece, {_COLUMNS}) VALUES (:grp, :piece, :id, :kind,"
            " :text, :topic, :source, :found, :state, :why, :lesson, :approved)",
            {**vars(c), "grp": grp, "piece": piece, "evidence": None},
        )
        db.executemany(
            "INSERT OR IGNORE INTO evidence (candidate, thread, turn, message, source, at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [(c.id, e.thread, e.turn, e.message, e.source, e.at) for e in c.evidence],
        )


def select(
    db: sqlite3.Connection, grp: str, states: Sequence[CandidateState] = ()
) -> tuple[Candidate, ...]:
    """Those of the group in these states, or in any; in the order in which they were found."""
    marks = ",".join("?" * len(states))
    where = f"grp = ? AND state IN ({marks})" if states else "grp = ?"
    return _all(db, where, (grp, *states))


def one(db: sqlite3.Connection, grp: str, id: str) -> Candidate | None:
    """The one of the group with this id."""
    return next(iter(_all(db, "grp = ? AND id = ?", (grp, id))), None)


def _all(db: sqlite3.Connection, where: str, values: Sequence[object]) -> tuple[Candidate, ...]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM candidates WHERE {where} ORDER BY found, id", values
    ).fetchall()
    proofs: dict[str, list[Evidence]] = {}
    query = (
        "SELECT candidate, thread, turn, message, evidence.source, at FROM evidence"
        f" JOIN candidates ON candidates.id = candidate WHERE {where} ORDER BY message"
    )
    for id, *proof in db.execute(query, values):
        proofs.setdefault(id, []).append(Evidence(*proof))
    return tuple(
        Candidate(
            id, kind, text, topic, source, tuple(proofs.get(id, ())), found, state, why, lesson,
            bool(approved),
        )
        for id, kind, text, topic, source, found, state, why, lesson, approved in rows
    )  # fmt: skip


def put(
    db: sqlite3.Connection, id: str, state: CandidateState, *, why: str = "", lesson: str = ""
) -> None:
    """Into another state."""
    db.execute(
        "UPDATE candidates SET state = ?, why = ?, lesson = ? WHERE id = ?",
        (state, why, lesson, id),
    )


def belong(db: sqlite3.Connection, ids: Iterable[str], lesson: str) -> None:
    """They were merged into this lesson: perhaps into another one first, which it holds now."""
    db.executemany("UPDATE candidates SET lesson = ? WHERE id = ?", [(lesson, id) for id in ids])


def approve(db: sqlite3.Connection, id: str) -> None:
    """A person lets a held one pass."""
    db.execute(
        "UPDATE candidates SET state = 'waiting', why = '', approved = 1"
        " WHERE id = ? AND state = 'held'",
        (id,),
    )


def drop_topics(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Nothing is known of what they are about."""
    db.executemany("UPDATE candidates SET topic = '' WHERE id = ?", [(id,) for id in ids])


def remove(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """As if they had never been found."""
    db.executemany("DELETE FROM candidates WHERE id = ?", [(id,) for id in ids])

"""The database of what is learned: `learning.db`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import Self

from pannier.database import alone, connect, database_file, in_words
from pannier.learning.guards.forgotten import Forgotten, Tombstone
from pannier.learning.lessons import Candidate, CandidateState, Lesson
from pannier.learning.merge import Merge
from pannier.learning.store import candidatetable, lessontable
from pannier.learning.store.books import Books
from pannier.learning.store.rows import (
    EVERYTHING,
    Gone,
    GroupMark,
    Proposal,
    ProposalState,
    ThreadMark,
)
from pannier.learning.store.schema import MIGRATIONS
from pannier.paths import Home


def learning_file(home: Home, environ: Mapping[str, str]) -> Path:
    """Where it is kept: `state/learning.db`, unless PANNIER_LEARNING_DB_PATH says so."""
    return database_file(home, environ, "learning.db")


def open_learning(path: Path, *, write: bool = False) -> Learning:
    """Open the database, to be used in a `with`. Raises PannierError.

    For reading, one that is not there is as one that is empty.
    """
    return Learning(path, connect(path, write=write, migrations=MIGRATIONS))


class Learning:
    """The database, open. What a method does is done whole or not at all. Each raises
    PannierError."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self.db = db
        self.books = Books(path, db)
        """Failures, wishes, use of models, reports."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What happens within is done whole or not at all; within another one, with that."""
        with in_words(self.path):
            if self.db.in_transaction:
                yield
            else:
                with alone(self.db):
                    yield

    # --------------------------------------------------------------------------------------- marks

    def group_mark(self, grp: str) -> GroupMark:
        """How far the group is; at the beginning unless something is known."""
        return self.group_marks().get(grp, GroupMark())

    def group_marks(self) -> dict[str, GroupMark]:
        """How far all groups are."""
        query = "SELECT grp, counted, compacted, memory FROM groups"
        with in_words(self.path):
            return {grp: GroupMark(*mark) for grp, *mark in self.db.execute(query)}

    def note_compaction(self, grp: str, message: int) -> None:
        """The compaction was answered, without anything to write."""
        with self.transaction():
            self._group(grp, compacted=message)

    def note_memory(self, grp: str, digest: str) -> None:
        """MEMORY.md was read, and has this SHA-256."""
        with self.transaction():
            self._group(grp, memory=digest)

    def _group(
        self, grp: str, *, counted: int = 0, compacted: int = 0, memory: str | None = None
    ) -> None:
        """Marks only ever go forward."""
        self.db.execute(
            "INSERT INTO groups (grp, counted, compacted, memory)"
            " VALUES (?1, ?2, ?3, coalesce(?4, '')) ON CONFLICT DO UPDATE SET"
            " counted = max(counted, ?2), compacted = max(compacted, ?3),"
            " memory = coalesce(?4, memory)",
            (grp, counted, compacted, memory),
        )

    def thread_marks(self, grp: str) -> dict[str, ThreadMark]:
        """By the thread's key, how far each was read; deleted ones among them."""
        query = (
            "SELECT thread, name, upto, active, summary, summarized FROM threads WHERE grp = ?"
            " ORDER BY active DESC, thread"
        )
        with in_words(self.path):
            return {row[0]: ThreadMark(*row) for row in self.db.execute(query, (grp,))}

    def put_thread_mark(self, grp: str, mark: ThreadMark) -> None:
        """The mark as it is now."""
        with in_words(self.path):
            self.db.execute(
                "INSERT OR REPLACE INTO threads"
                " (grp, thread, name, upto, active, summary, summarized)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (grp, *astuple(mark)),
            )

    def close_thread(self, grp: str, thread: str) -> None:
        """The thread was deleted: nothing that is still read of it is taken."""
        self.put_thread_mark(grp, ThreadMark(thread, "", EVERYTHING, 0))

    # ---------------------------------------------------------------------------------- extraction

    def add_extraction(
        self, grp: str, piece: str, mark: ThreadMark, found: Sequence[Candidate]
    ) -> bool:
        """Store what was found in a piece of a thread, and that it was read.

        False: it was read already, or forgotten meanwhile; then nothing is stored.
        """
        with self.transaction():
            before = self.thread_marks(grp).get(mark.thread)
            if before is not None and before.upto >= mark.upto:
                return False
            self.put_thread_mark(grp, mark)
            candidatetable.insert(self.db, grp, piece, found)
        return True

    def add_late(self, grp: str, piece: str, found: Sequence[Candidate]) -> bool:
        """Store what was found in a piece behind which its thread was read already.

        False: it is stored already; then nothing is.
        """
        query = "SELECT 1 FROM candidates WHERE grp = ? AND piece = ?"
        with self.transaction():
            if self.db.execute(query, (grp, piece)).fetchone():
                return False
            candidatetable.insert(self.db, grp, piece, found)
        return True

    def finish_extraction(self, grp: str, counted: int) -> None:
        """The group's successful turns up to this one are counted."""
        with self.transaction():
            self._group(grp, counted=counted)

    # ---------------------------------------------------------------------------------- candidates

    def candidates(self, grp: str, states: Sequence[CandidateState] = ()) -> tuple[Candidate, ...]:
        """The group's in these states, or all; in the order in which they were found."""
        with in_words(self.path):
            return candidatetable.select(self.db, grp, states)

    def candidate(self, grp: str, id: str) -> Candidate | None:
        """The one with this id."""
        with in_words(self.path):
            return candidatetable.one(self.db, grp, id)

    def counts(self) -> dict[str, dict[CandidateState, int]]:
        """By group, how many candidates wait and are held."""
        query = (
            "SELECT grp, state, count(*) FROM candidates WHERE state IN ('waiting', 'held')"
            " GROUP BY grp, state"
        )
        found: dict[str, dict[CandidateState, int]] = {}
        with in_words(self.path):
            for grp, state, number in self.db.execute(query):
                found.setdefault(grp, {})[state] = number
        return found

    def set_state(self, id: str, state: CandidateState, *, why: str = "", lesson: str = "") -> None:
        """What becomes of a candidate."""
        with in_words(self.path):
            candidatetable.put(self.db, id, state, why=why, lesson=lesson)

    def approve_candidate(self, id: str) -> None:
        """A person lets a held one pass: it waits to be merged."""
        with in_words(self.path):
            candidatetable.approve(self.db, id)

    # ------------------------------------------------------------------------------------- lessons

    def lessons(self, grp: str, *, gone: bool = False) -> tuple[Lesson, ...]:
        """What stands in the group's memory; with `gone`, what left it instead."""
        with in_words(self.path):
            return lessontable.select(self.db, grp, gone=gone)

    def lesson(self, grp: str, id: str) -> Lesson | None:
        """The lesson with this id, also one that left the memory."""
        both = (*self.lessons(grp), *self.lessons(grp, gone=True))
        return next((lesson for lesson in both if lesson.id == id), None)

    def gone(self, grp: str, id: str) -> Gone | None:
        """When and why the lesson left the memory; None: it did not."""
        with in_words(self.path):
            return lessontable.gone(self.db, grp, id)

    def left(self, grp: str, why: str) -> dict[str, float]:
        """When which lessons left the memory for this reason, by id, in seconds since 1970."""
        with in_words(self.path):
            return lessontable.left(self.db, grp, why)

    # ----------------------------------------------------------------------------------- proposals

    def stage(
        self, grp: str, body: str, state: ProposalState, at: float, merge: Merge | None = None
    ) -> bool:
        """Keep what was decided, in the place of what there was.

        False, and nothing is kept: a candidate of `merge` is not there any more, or was decided on
        otherwise, since the model was asked.
        """
        with self.transaction():
            taken = () if merge is None else merge.taken
            there = {c.id for c in self.candidates(grp, ("waiting",))} if taken else set()
            if any(one.candidate not in there for one in taken):
                return False
            self.db.execute(
                "INSERT OR REPLACE INTO proposals (grp, made, state, body) VALUES (?, ?, ?, ?)",
                (grp, at, state, body),
            )
        return True

    def staged(self, grp: str | None = None) -> tuple[Proposal, ...]:
        """What was decided and is not done, of a group (at most one) or of all."""
        query = (
            "SELECT id, grp, made, state, body FROM proposals WHERE grp = coalesce(?, grp)"
            " ORDER BY grp"
        )
        with in_words(self.path):
            return tuple(Proposal(*row) for row in self.db.execute(query, (grp,)))

    def proposal(self, grp: str) -> Proposal | None:
        """The group's."""
        return next(iter(self.staged(grp)), None)

    def accept(self, grp: str, id: int) -> bool:
        """A person accepts a waiting proposal: it is to be written. False: it is not there."""
        with in_words(self.path):
            changed = self.db.execute(
                "UPDATE proposals SET state = 'writing' WHERE grp = ? AND id = ?"
                " AND state = 'waiting'",
                (grp, id),
            )
        return changed.rowcount > 0

    def unstage(self, grp: str) -> None:
        """It is not to be done: its candidates wait on."""
        with in_words(self.path):
            self.db.execute("DELETE FROM proposals WHERE grp = ?", (grp,))

    def settle(self, grp: str, merge: Merge, at: float, *, memory: str, compacted: int = 0) -> None:
        """The files are written: lessons, candidates and marks become what was decided.

        `memory`: SHA-256 of MEMORY.md; "" : there is none. A second time changes nothing.
        """
        with self.transaction():
            for change in merge.changes:
                left = change.what in ("remove", "drop")
                gone = Gone(at, change.why or change.what) if left else None
                lessontable.put(self.db, grp, change.lesson, gone)
                if gone is None:
                    candidatetable.belong(self.db, change.lesson.candidates, change.lesson.id)
            for taken in merge.taken:
                candidatetable.put(
                    self.db, taken.candidate, taken.state, why=taken.why, lesson=taken.lesson
                )
            self.unstage(grp)
            self._group(grp, compacted=compacted, memory=memory)

    # ---------------------------------------------------------------------------------- forgetting

    def forgotten(self, grp: str) -> Forgotten:
        """What must not come back by itself."""
        query = "SELECT what, digest, at FROM forgotten WHERE grp = ?"
        with in_words(self.path):
            return Forgotten.of(Tombstone(*row) for row in self.db.execute(query, (grp,)))

    def remember_forgotten(self, grp: str, tombstones: Sequence[Tombstone]) -> None:
        """It must not come back by itself."""
        with in_words(self.path):
            self.db.executemany(
                "INSERT OR REPLACE INTO forgotten (grp, what, digest, at) VALUES (?, ?, ?, ?)",
                [(grp, one.what, one.digest, one.at) for one in tombstones],
            )

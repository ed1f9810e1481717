"""Forgetting: what a person wants gone is removed everywhere, and does not come back by itself.

What was said stays, and the pages in `conversations/`: those go with `pannier threads delete`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pannier.database import in_words
from pannier.errors import ChangedMeanwhile
from pannier.learning.files import folder, publishing, summaryfile
from pannier.learning.files.folder import MEMORY, SUMMARY, Folder
from pannier.learning.files.memoryedits import remove, rename
from pannier.learning.files.memoryfile import NOWHERE, digest, parse
from pannier.learning.forgetting.wishes import Known, Plan, Wish, plan, retells
from pannier.learning.lessons import Candidate
from pannier.learning.store import (
    Learning,
    candidatetable,
    learning_file,
    lessontable,
    open_learning,
    steps,
)
from pannier.learning.store.locks import only_one
from pannier.paths import Home
from pannier.threads.learnable import deleted_threads
from pannier.threads.queries import Store

_PATIENCE = 2_000
"""Milliseconds for which those who read the database are waited for."""
_TRIES = 5
"""Of writing a file that a person is editing."""


@dataclass(frozen=True)
class Place:
    """Where a group's learning lies."""

    home: Home
    environ: Mapping[str, str]
    grp: str
    url: str | None = None
    """Of the PostgreSQL database with the steps in progress; None: they lie in a file."""


def planned(place: Place, wish: Wish, now: float) -> Plan:
    """What would go. Raises UsageError for what is not known, PannierError."""
    with open_learning(learning_file(place.home, place.environ)) as learning:
        return plan(_known(place, learning), wish, now)


def forget(place: Place, wish: Wish, now: float) -> Plan:
    """Remove what the wish comes to; gives what that was.

    Killed in between, it is done again: what it is about is known by its id or its words until
    all else is gone. Raises UsageError for what is not known, Busy while lessons of the group are
    being drawn, PannierError.
    """
    with only_one(place.home, place.grp), _erasing(place) as learning:
        publishing.finish(place.home, learning, place.grp, now)
        found = plan(_known(place, learning), wish, now)
        with learning.transaction():
            learning.remember_forgotten(place.grp, found.tombstones)
            if not found.is_empty:
                learning.unstage(place.grp)
        steps.forget(place.home, place.url, place.grp)
        _take_out(place, learning, found)
        _remove(place.grp, learning, found)
    return replace(found, lingers=not _is_erased(place))


def sweep(place: Place, store: Store, now: float) -> bool:
    """Remove what is left of threads that were deleted: their summaries, and what was found there
    and is in no lesson. Whether there was any.

    To be called with the group's lock. Raises PannierError.
    """
    with open_learning(learning_file(place.home, place.environ)) as learning:
        gone, loose = _left_over(learning, store, place.grp)
    if not gone:
        return False
    with _erasing(place) as learning:
        publishing.finish(place.home, learning, place.grp, now)
        gone, loose = _left_over(learning, store, place.grp)
        proposal = learning.proposal(place.grp)
        if proposal is not None and any(c.id in proposal.body for c in loose):
            learning.unstage(place.grp)
        steps.forget(place.home, place.url, place.grp)
        with folder.opened(place.home, place.grp) as there:
            for key in gone:
                if there is not None:
                    there.remove_session(key)
        with learning.transaction():
            texts, ids = [c.text for c in loose], [c.id for c in loose]
            learning.books.drop_reports(
                report.id
                for report in learning.books.reports(place.grp)
                if report.work == "extract" or retells(report, texts, ids)
            )
            candidatetable.remove(learning.db, ids)
            for key in gone:
                learning.close_thread(place.grp, key)
    return True


def _left_over(
    learning: Learning, store: Store, grp: str
) -> tuple[frozenset[str], tuple[Candidate, ...]]:
    """Keys of threads that were deleted and left something, and candidates that only they prove."""
    deleted = deleted_threads(store, grp)
    loose = tuple(
        c
        for c in learning.candidates(grp, ("waiting", "held", "left"))
        if c.evidence and all(proof.thread in deleted for proof in c.evidence)
    )
    open_ = {key for key, mark in learning.thread_marks(grp).items() if mark.name}
    gone = (open_ & deleted) | {proof.thread for c in loose for proof in c.evidence}
    return frozenset(gone), loose


def _known(place: Place, learning: Learning) -> Known:
    memory = parse(folder.memory_text(place.home, place.grp))
    return Known(
        lessons=(*learning.lessons(place.grp), *learning.lessons(place.grp, gone=True)),
        candidates=learning.candidates(place.grp),
        threads=learning.thread_marks(place.grp),
        reports=learning.books.reports(place.grp),
        tries=learning.books.tries(place.grp),
        lines={id: line.text for id, line in memory.lessons.items()},
        own=tuple(own.text for own in memory.own),
        headings=memory.sections,
    )


# -------------------------------------------------------------------------------- files, and rows


def _take_out(place: Place, learning: Learning, found: Plan) -> None:
    """From `agent-memory/`."""
    with folder.opened(place.home, place.grp) as there:
        if there is None:
            return
        there.sweep()
        for mark in found.summaries:
            there.remove_session(mark.thread)
        for left in reversed(range(_TRIES)):
            try:
                _rewrite(place.grp, learning, there, found)
                return
            except ChangedMeanwhile:
                if not left:
                    raise


def _rewrite(grp: str, learning: Learning, there: Folder, found: Plan) -> None:
    before = there.read(MEMORY)
    if before is None:
        return
    text = there.text(MEMORY)
    memory = parse(text)
    # A line that somebody copied and changed has the same id.
    while any(id in memory.lessons for id in found.lines):
        memory = remove(memory, found.lines)
    memory = rename(memory, found.sections, NOWHERE)
    new = "" if memory.is_bare else memory.text
    gone = {lesson.id for lesson in found.lessons}
    left = {lesson.id: lesson for lesson in learning.lessons(grp) if lesson.id not in gone}
    there.replace(MEMORY, new, before)
    there.replace(SUMMARY, summaryfile.summary(memory, left), there.read(SUMMARY))
    if learning.group_mark(grp).memory == digest(text):
        learning.note_memory(grp, digest(new))


def _remove(grp: str, learning: Learning, found: Plan) -> None:
    """From the tables. What is known of it goes last, and together."""
    with learning.transaction():
        marks = learning.thread_marks(grp)
        for mark in found.summaries:
            now = marks.get(mark.thread, mark)
            learning.put_thread_mark(grp, replace(now, summary="", summarized=0.0))
        learning.books.drop_reports(found.reports)
        for tried in found.tries:
            learning.books.clear_tries(grp, tried.work)
        for id in found.released:
            learning.set_state(id, "waiting")
        candidatetable.remove(learning.db, [candidate.id for candidate in found.candidates])
        lessontable.remove(learning.db, grp, [lesson.id for lesson in found.lessons])
        lessontable.rename(learning.db, grp, found.sections, NOWHERE)
        candidatetable.drop_topics(learning.db, found.topics)


@contextmanager
def _erasing(place: Place) -> Iterator[Learning]:
    """The database, of which nothing stays that is deleted: not in freed pages nor in the log."""
    path = learning_file(place.home, place.environ)
    with open_learning(path, write=True) as learning:
        with in_words(path):
            learning.db.execute("PRAGMA secure_delete = ON")
        yield learning
        with in_words(path):
            # Texts that were replaced or deleted before left traces, too.
            learning.db.execute("VACUUM")
            learning.db.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
            learning.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_erased(place: Place) -> bool:
    """Whether what was erased is gone from the file itself: nobody reads how it was before."""
    path = learning_file(place.home, place.environ)
    with open_learning(path, write=True) as learning, in_words(path):
        learning.db.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        busy, *_ = learning.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy

"""Where a lesson comes from: thread, turn, messages, when. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pannier import groups
from pannier.learned import data, finding, written
from pannier.learning.files.memoryfile import text_of
from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.rows import Gone
from pannier.paths import Home
from pannier.threads.excerpt import one_line
from pannier.threads.rows import MessageRow
from pannier.threads.store import Store, open_store, threads_file

_LONGEST = 500
"""Characters of a message that are quoted."""


@dataclass(frozen=True)
class Proof:
    """A message that proves a candidate."""

    evidence: Evidence
    thread: str
    """How it is called now, or was when it was read."""
    message: MessageRow | None
    """None: it was deleted since."""

    @property
    def quote(self) -> str:
        """What was said, in one line with likely secrets masked; "" if it was deleted."""
        return one_line(self.message.text, _LONGEST) if self.message else ""


@dataclass(frozen=True)
class Origin:
    """A candidate, with what proves it."""

    candidate: Candidate
    proofs: tuple[Proof, ...]

    def as_data(self) -> dict[str, Any]:
        names = {proof.evidence.thread: proof.thread for proof in self.proofs}
        found = data.of_candidate(self.candidate, names)
        for shown, proof in zip(found["evidence"], self.proofs, strict=True):
            shown["text"] = proof.quote or None
            shown["deleted"] = proof.message is None
        return found


@dataclass(frozen=True)
class Trace:
    """A lesson, with what it was made from."""

    lesson: Lesson
    gone: Gone | None
    edited: str
    """What a person made of it in MEMORY.md since; "" : nothing."""
    deleted: bool
    """A person deleted its line since."""
    origins: tuple[Origin, ...]

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        gone = self.gone
        return {
            **data.of_lesson(self.lesson),
            "gone": {"at": data.timestamp(gone.at), "why": gone.why} if gone else None,
            "edited": self.edited or None,
            "deleted": self.deleted,
            "candidates": [one.as_data() for one in self.origins],
        }


def of_lesson(home: Home, environ: Mapping[str, str], folder: str, ref: str) -> Trace:
    """Where the lesson comes from. Raises UsageError for one that is not known, PannierError."""
    groups.get(home, folder)
    with open_learning(learning_file(home, environ)) as learning:
        lesson = finding.lesson(learning, folder, ref)
        gone = learning.gone(folder, lesson.id)
        now = written.lines(home, folder).get(lesson.id)
        with open_store(threads_file(home, environ)) as store:
            origins = tuple(
                _origin(learning, store, folder, found)
                for id in lesson.candidates
                if (found := learning.candidate(folder, id)) is not None
            )
    text = "" if now is None or gone else now
    edited = text if text != text_of(lesson) else ""
    return Trace(lesson, gone, edited, now is None and gone is None, origins)


def of_candidate(home: Home, environ: Mapping[str, str], folder: str, ref: str) -> Origin:
    """The same of a candidate."""
    groups.get(home, folder)
    with open_learning(learning_file(home, environ)) as learning:
        found = finding.candidate(learning, folder, ref)
        with open_store(threads_file(home, environ)) as store:
            return _origin(learning, store, folder, found)


def origins(
    home: Home, environ: Mapping[str, str], folder: str, found: tuple[Candidate, ...]
) -> tuple[Origin, ...]:
    """Candidates with what proves them. Raises PannierError."""
    with (
        open_learning(learning_file(home, environ)) as learning,
        open_store(threads_file(home, environ)) as store,
    ):
        return tuple(_origin(learning, store, folder, one) for one in found)


def _origin(learning: Learning, store: Store, folder: str, candidate: Candidate) -> Origin:
    names = {mark.thread: mark.name for mark in learning.thread_marks(folder).values()}
    names |= {thread.key: thread.name for thread in store.threads(folder)}
    return Origin(
        candidate,
        tuple(
            Proof(one, names.get(one.thread, ""), store.message(one.message))
            for one in candidate.evidence
        ),
    )

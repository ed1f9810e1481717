"""Lessons, candidates and marks as tests need them."""

from __future__ import annotations

from pannier.learning.lessons import Candidate, CandidateState, Evidence, Kind, Lesson, Source
from pannier.learning.merge import Change, Merge, Taken
from pannier.learning.store.rows import ThreadMark

SECOND = 10**9


def proof(message: int, source: Source = "person", *, at: int = 0) -> Evidence:
    return Evidence("k1", message // 10 + 1, message, source, at or message * SECOND)


def candidate(
    number: int,
    text: str = "",
    *,
    kind: Kind = "preference",
    state: CandidateState = "waiting",
    evidence: tuple[Evidence, ...] | None = None,
    why: str = "",
) -> Candidate:
    proofs = (proof(number),) if evidence is None else evidence
    source = proofs[0].source if proofs else "person"
    words = text or f"what was found as number {number}"
    return Candidate(
        f"c{number:08x}", kind, words, "rules", source, proofs, float(number), state, why
    )


def lesson(number: int, text: str = "", *, candidates: tuple[str, ...] = ()) -> Lesson:
    words = text or f"lesson number {number}"
    return Lesson(
        f"{number:06x}a", "Rules", words, "preference", "person", 1.0, 2.0, 3.0, 4, 5, "pannier",
        candidates,
    )  # fmt: skip


def mark(upto: int, thread: str = "k1", *, summary: str = "what it is about") -> ThreadMark:
    return ThreadMark(thread, f"thread {thread}", upto, upto * SECOND, summary, float(upto))


def merge(*changes: Change, taken: tuple[Taken, ...] = (), memory: str = "new") -> Merge:
    return Merge("base", memory, "summary", changes, taken)

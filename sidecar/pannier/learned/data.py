"""What was learned, for programs. Texts are as they stand in the files: secrets were masked before.

Names and forms are those of `pannier threads --json`: messages `m12`, turns `t3`, ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.threads.times import timestamp as timestamp_of_nanoseconds


def timestamp(seconds: float) -> str | None:
    """In ISO 8601; None for 0."""
    return timestamp_of_nanoseconds(round(seconds * 1e9)) if seconds else None


def moment(seconds: float) -> str:
    """For people: date and time, UTC; `never` for 0."""
    if not seconds:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def of_lesson(lesson: Lesson) -> dict[str, Any]:
    return {
        "id": lesson.id,
        "section": lesson.section,
        "text": lesson.text,
        "kind": lesson.kind,
        "source": lesson.source,
        "by": lesson.by,
        "learned": timestamp(lesson.learned),
        "confirmed": timestamp(lesson.confirmed),
        "changed": timestamp(lesson.changed),
        "confirmations": lesson.confirmations,
        "candidates": list(lesson.candidates),
    }


def of_candidate(candidate: Candidate, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "id": candidate.id,
        "state": candidate.state,
        "kind": candidate.kind,
        "text": candidate.text,
        "topic": candidate.topic,
        "source": candidate.source,
        "found": timestamp(candidate.found),
        "why": candidate.why or None,
        "lesson": candidate.lesson or None,
        "approved": candidate.approved,
        "evidence": [of_evidence(one, names or {}) for one in candidate.evidence],
    }


def of_evidence(evidence: Evidence, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "thread_key": evidence.thread,
        "thread": names.get(evidence.thread),
        "turn": f"t{evidence.turn}" if evidence.turn else None,
        "message": f"m{evidence.message}",
        "source": evidence.source,
        "at": timestamp_of_nanoseconds(evidence.at),
    }

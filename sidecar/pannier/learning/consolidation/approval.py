"""What a person decides on: candidates that are held, and proposals that wait."""

from __future__ import annotations

from pannier.errors import UsageError
from pannier.learning.files import publishing
from pannier.learning.guards import forgotten
from pannier.learning.lessons import Candidate
from pannier.learning.store import Learning
from pannier.learning.store.rows import Proposal

REJECTED = "a person rejected it"


def approve(learning: Learning, grp: str, id: str) -> Candidate:
    """Let a held candidate pass: it waits to be merged. Raises UsageError, PannierError."""
    with learning.transaction():
        _held(learning, grp, id)
        learning.approve_candidate(id)
        found = learning.candidate(grp, id)
    assert found is not None
    return found


def reject(learning: Learning, grp: str, id: str, now: float) -> Candidate:
    """Leave a held candidate, and what says nearly the same; unless a person says it again: then
    that one is held. Raises UsageError, PannierError."""
    with learning.transaction():
        found = _held(learning, grp, id)
        learning.set_state(id, "left", why=REJECTED)
        _remember(learning, grp, found, now)
    return found


def _remember(learning: Learning, grp: str, rejected: Candidate, now: float) -> None:
    messages = [proof.message for proof in rejected.evidence]
    learning.remember_forgotten(grp, forgotten.tombstones([rejected.text], messages, now))


def _held(learning: Learning, grp: str, id: str) -> Candidate:
    found = learning.candidate(grp, id)
    if found is None or found.state != "held":
        state = f": it is {found.state}" if found else ""
        raise UsageError(
            f"{grp} holds no candidate {id}{state}", f"See which: pannier learned approve {grp}"
        )
    return found


def waiting(learning: Learning, grp: str) -> Proposal | None:
    """The group's proposal that waits for a person."""
    found = learning.proposal(grp)
    return found if found is not None and found.state == "waiting" else None


def accept(learning: Learning, grp: str, id: int) -> None:
    """A proposal is to be written; whoever holds the group's lock does that next.

    Raises UsageError for one that is not there any more, PannierError.
    """
    if not learning.accept(grp, id):
        raise _gone(grp, id)


def turn_down(learning: Learning, grp: str, id: int, now: float) -> tuple[Candidate, ...]:
    """A proposal is not to be written. The candidates that it takes are left; gives those. Like
    rejected ones, they do not come back by themselves, but for what stands in the memory already.

    Raises UsageError for one that is not there any more, PannierError.
    """
    with learning.transaction():
        found = waiting(learning, grp)
        if found is None or found.id != id:
            raise _gone(grp, id)
        merge = publishing.of_proposal(found)
        ids = {one.candidate for one in merge.taken if one.state != "waiting"}
        taken = [c for c in learning.candidates(grp, ("waiting",)) if c.id in ids]
        stands = [lesson.text for lesson in learning.lessons(grp)]
        for candidate in taken:
            learning.set_state(candidate.id, "left", why=REJECTED)
            if not any(forgotten.is_near(text, candidate.text) for text in stands):
                _remember(learning, grp, candidate, now)
        learning.unstage(grp)
    return tuple(taken)


def _gone(grp: str, id: int) -> UsageError:
    return UsageError(
        f"{grp} has no proposal p{id} that waits",
        f"A newer one may have taken its place: pannier learned approve {grp}",
    )

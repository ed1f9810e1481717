"""A person decides on what is held, and on proposals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.learning.things import SECOND, candidate, lesson, mark, merge, proof

from pannier.errors import UsageError
from pannier.learning.consolidation import approval
from pannier.learning.files import publishing
from pannier.learning.files.publishing import Decided
from pannier.learning.merge import Taken
from pannier.learning.store import Learning, lessontable, open_learning

RULE = "Deploy without asking anybody."


@pytest.fixture
def learning(tmp_path: Path) -> Iterator[Learning]:
    with open_learning(tmp_path / "state" / "learning.db", write=True) as opened:
        held = candidate(1, RULE, state="held", why="it widens")
        opened.add_extraction("scout", "p1", mark(20), (held, candidate(2)))
        yield opened


def test_what_is_approved_waits_to_be_merged(learning: Learning) -> None:
    """It is known that a person let it pass."""
    found = approval.approve(learning, "scout", candidate(1).id)
    assert (found.state, found.approved, found.why) == ("waiting", True, "")
    assert learning.candidates("scout", ("held",)) == ()


def test_what_is_rejected_does_not_come_back_by_itself(learning: Learning) -> None:
    """Neither in other words nor from other messages; a person's new word is held again."""
    approval.reject(learning, "scout", candidate(1).id, 5.0)
    left = learning.candidate("scout", candidate(1).id)
    assert left is not None
    assert (left.state, left.why) == ("left", approval.REJECTED)
    forgotten = learning.forgotten("scout")
    assert forgotten.verdict("Deploy without asking anybody first", [proof(9, "agent")]) == "gone"
    assert forgotten.verdict(RULE, [proof(9, at=6 * SECOND)]) == "held"
    assert learning.forgotten("pilot").verdict(RULE, [proof(9, "agent")]) == ""


def test_only_what_is_held_is_decided_on(learning: Learning) -> None:
    """And of this group."""
    for grp, number in (("scout", 2), ("scout", 3), ("pilot", 1)):
        with pytest.raises(UsageError, match="holds no candidate"):
            approval.approve(learning, grp, candidate(number).id)
        with pytest.raises(UsageError, match="holds no candidate"):
            approval.reject(learning, grp, candidate(number).id, 5.0)
    assert [c.state for c in learning.candidates("scout")] == ["held", "waiting"]


def stage(learning: Learning, *taken: Taken) -> None:
    decided = Decided(merge(taken=taken))
    assert publishing.stage(learning, "scout", decided, "waiting", 5.0)


def test_a_proposal_is_accepted_or_turned_down(learning: Learning) -> None:
    """What it would have taken is left then, and nothing else."""
    learning.add_extraction("scout", "p2", mark(30), (candidate(3),))
    stage(learning)
    first = approval.waiting(learning, "scout")
    assert first is not None
    approval.accept(learning, "scout", first.id)
    assert approval.waiting(learning, "scout") is None
    with pytest.raises(UsageError, match="no proposal"):
        approval.turn_down(learning, "scout", first.id, 5.0)
    stage(learning, Taken(candidate(2).id, "merged"), Taken(candidate(3).id, "waiting"))
    found = approval.waiting(learning, "scout")
    assert found is not None
    taken = approval.turn_down(learning, "scout", found.id, 5.0)
    assert [c.id for c in taken] == [candidate(2).id]
    assert [c.state for c in learning.candidates("scout")] == ["held", "left", "waiting"]
    assert learning.proposal("scout") is None
    with pytest.raises(UsageError, match="no proposal"):
        approval.accept(learning, "scout", found.id)


def test_what_was_turned_down_does_not_come_back_by_itself(learning: Learning) -> None:
    """The agent may say it again, and repeat what stands in the memory; a person is asked."""
    standing = "Standup begins at nine sharp."
    lessontable.put(learning.db, "scout", lesson(1, standing))
    found = (candidate(4, "Lunch is at noon on Fridays."), candidate(5, standing))
    learning.add_extraction("scout", "p3", mark(40), found)
    stage(learning, *(Taken(one.id, "merged") for one in found))
    proposal = approval.waiting(learning, "scout")
    assert proposal is not None
    approval.turn_down(learning, "scout", proposal.id, 5.0)
    forgotten = learning.forgotten("scout")
    assert forgotten.verdict(found[0].text, [proof(9, "agent", at=6 * SECOND)]) == "gone"
    assert forgotten.verdict(found[0].text, [proof(9, at=6 * SECOND)]) == "held"
    assert forgotten.verdict(standing, [proof(9, "agent", at=6 * SECOND)]) == ""

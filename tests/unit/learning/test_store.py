"""What is learned is kept once, and whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.learning.things import candidate, lesson, mark, merge

from pannier.learning.merge import Change, Taken
from pannier.learning.store import Learning, open_learning
from pannier.learning.store.rows import GroupMark, Spent, Try


@pytest.fixture
def learning(tmp_path: Path) -> Iterator[Learning]:
    with open_learning(tmp_path / "state" / "learning.db", write=True) as opened:
        yield opened


def test_an_extraction_is_stored_once(learning: Learning) -> None:
    """A piece that is brought a second time, after a kill, adds nothing."""
    found = (candidate(1), candidate(2, state="held", why="it widens"))
    assert learning.add_extraction("scout", "p1", mark(20), found)
    assert not learning.add_extraction("scout", "p1", mark(20), (candidate(3),))
    assert learning.candidates("scout") == found
    assert learning.candidates("scout", ("held",)) == found[1:]
    assert learning.thread_marks("scout") == {"k1": mark(20)}
    assert learning.counts() == {"scout": {"waiting": 1, "held": 1}}
    assert learning.candidates("pilot") == ()
    assert learning.candidate("pilot", found[0].id) is None


def test_marks_only_go_forward(learning: Learning) -> None:
    """What was counted is counted no second time, whoever comes late."""
    learning.finish_extraction("scout", 7)
    learning.finish_extraction("scout", 5)
    learning.note_compaction("scout", 3)
    learning.note_memory("scout", "digest")
    assert learning.group_mark("scout") == GroupMark(7, 3, "digest")
    assert learning.group_mark("pilot") == GroupMark()


def test_a_merge_is_settled_whole(learning: Learning) -> None:
    """Lessons, candidates, marks and the proposal change together; again changes nothing."""
    learning.add_extraction("scout", "p1", mark(20), (candidate(1), candidate(2)))
    kept = lesson(1, candidates=(candidate(1).id,))
    decided = merge(
        Change("add", kept, candidates=(candidate(1).id,)),
        taken=(Taken(candidate(1).id, "merged", kept.id), Taken(candidate(2).id, "left", why="no")),
    )
    assert learning.stage("scout", "{}", "writing", 5.0, decided)
    for _ in range(2):
        learning.settle("scout", decided, 9.0, memory="digest", compacted=4)
        assert learning.lessons("scout") == (kept,)
        assert [c.state for c in learning.candidates("scout")] == ["merged", "left"]
        assert learning.proposal("scout") is None
        assert learning.group_mark("scout") == GroupMark(0, 4, "digest")
    learning.settle("scout", merge(Change("drop", kept, why="no room")), 10.0, memory="")
    assert learning.lessons("scout") == ()
    assert learning.lessons("scout", gone=True) == (kept,)
    gone = learning.gone("scout", kept.id)
    assert gone is not None
    assert (gone.at, gone.why) == (10.0, "no room")
    assert learning.lesson("scout", kept.id) == kept


def test_what_was_decided_of_a_candidate_that_is_gone_is_not_staged(learning: Learning) -> None:
    """It was forgotten, or decided on, while the model was asked."""
    learning.add_extraction("scout", "p1", mark(20), (candidate(1), candidate(2, state="held")))
    for other in (candidate(2), candidate(3)):
        decided = merge(taken=(Taken(candidate(1).id, "left"), Taken(other.id, "left")))
        assert not learning.stage("scout", "{}", "writing", 5.0, decided)
    assert learning.proposal("scout") is None


def test_a_proposal_waits_until_it_is_accepted(learning: Learning) -> None:
    """A newer one takes its place, and then the old one cannot be accepted any more."""
    learning.stage("scout", "1", "waiting", 5.0)
    first = learning.proposal("scout")
    learning.stage("scout", "2", "waiting", 6.0)
    second = learning.proposal("scout")
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert not learning.accept("scout", first.id)
    assert learning.accept("scout", second.id)
    assert not learning.accept("scout", second.id)
    assert learning.proposal("scout") == replace(second, state="writing")
    learning.unstage("scout")
    assert learning.staged() == ()


def test_books_are_kept(learning: Learning) -> None:
    """Failures by work, wishes until they were done, use by day, the latest reports."""
    books = learning.books
    failed = Try("scout", "extract", 2, 10.0, 20.0, "down", "nobody answers")
    books.note_try(failed)
    assert books.tried("scout", "extract") == failed
    books.clear_tries("scout")
    assert books.tries() == ()
    books.want("scout", "extract", 5.0)
    books.unwant("scout", "extract", 4.0)
    assert books.wanted() == {("scout", "extract"): 5.0}
    books.unwant("scout", "extract", 5.0)
    assert books.wanted() == {}
    books.spend("2026-11-30", "scout", 1, 100, 10)
    books.spend("2026-11-30", "scout", 1, 50, 5)
    assert books.spent("2026-11-30") == {"scout": Spent(2, 150, 15)}
    assert books.days() == {"2026-11-30": Spent(2, 150, 15)}
    for number in range(60):
        books.report("scout", "extract", float(number), str(number))
    assert [report.body for report in books.reports("scout", 2)] == ["59", "58"]
    assert len(books.reports("scout", 1000)) == 50


def test_the_candidates_of_a_lesson_that_another_one_holds_are_its_own(learning: Learning) -> None:
    """So its trace goes on."""
    learning.add_extraction("scout", "p1", mark(20), (candidate(1), candidate(2)))
    one = lesson(1, candidates=(candidate(1).id,))
    learning.settle("scout", merge(Change("add", one)), 9.0, memory="")
    two = lesson(2, candidates=(candidate(1).id, candidate(2).id))
    learning.settle("scout", merge(Change("remove", one), Change("add", two)), 9.0, memory="")
    assert learning.lessons("scout") == (two,)
    assert learning.lessons("scout", gone=True) == (lesson(1),)


def test_what_was_read_of_a_deleted_thread_is_not_stored(learning: Learning) -> None:
    """However late it comes."""
    learning.close_thread("scout", "k1")
    assert not learning.add_extraction("scout", "p1", mark(10**15), (candidate(1),))
    assert learning.candidates("scout") == ()

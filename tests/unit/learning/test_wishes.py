"""What goes when a person wants something forgotten, and what stays."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.learning.things import SECOND, candidate, lesson, mark, proof

from pannier.errors import UsageError
from pannier.learning.forgetting.wishes import Known, Plan, Wish, plan
from pannier.learning.guards.forgotten import Forgotten
from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.learning.store.rows import Report, ThreadMark, Try

RULE = "Quotes over $40k need the sign-off of Ann."
OTHER = "Deployments happen on Tuesdays."


def in_thread(key: str, number: int) -> tuple[Evidence, ...]:
    return (Evidence(key, 1, number, "person", number * SECOND),)


def merged(number: int, text: str, into: Lesson, *, thread: str = "k1") -> Candidate:
    found = candidate(number, text, state="merged", evidence=in_thread(thread, number))
    return replace(found, lesson=into.id)


def known(
    lessons: tuple[Lesson, ...] = (),
    candidates: tuple[Candidate, ...] = (),
    *marks: ThreadMark,
    reports: tuple[Report, ...] = (),
    tries: tuple[Try, ...] = (),
    lines: dict[str, str] | None = None,
    own: tuple[str, ...] = (),
    headings: tuple[str, ...] = (),
) -> Known:
    own_ids = {x.id: tuple(c.id for c in candidates if c.lesson == x.id) for x in lessons}
    return Known(
        tuple(replace(x, candidates=own_ids[x.id]) for x in lessons),
        candidates,
        {one.thread: one for one in marks},
        reports,
        tries,
        {x.id: x.text for x in lessons} if lines is None else lines,
        own,
        headings,
    )


def ids(found: Plan) -> tuple[list[str], list[str]]:
    return [x.id for x in found.lessons], [x.id for x in found.candidates]


def test_a_lesson_goes_with_what_it_was_made_from() -> None:
    """And with what waits and says the same; another lesson and its candidates stay."""
    rule, other = lesson(1, RULE), lesson(2, OTHER)
    made, again = merged(1, "Sign-off for large quotes", rule), candidate(2, RULE)
    kept = merged(3, OTHER, other)
    found = plan(
        known((rule, other), (made, again, kept), mark(9), mark(9, "k2")), Wish(rule.id), 5.0
    )
    assert ids(found) == ([rule.id], [made.id, again.id])
    assert found.lines == (rule.id,)
    assert [one.thread for one in found.summaries] == ["k1"]
    forgotten = Forgotten.of(found.tombstones)
    assert forgotten.verdict(RULE, []) == "gone"
    assert forgotten.verdict("Sign-off for large quotes", []) == "gone"
    assert forgotten.verdict(OTHER, [proof(3)]) == ""


def test_headings_and_topics_that_say_it_go_too() -> None:
    """Those of lessons; a heading that a person made stays, and is named."""
    kept = replace(lesson(2, OTHER), section="Project Zebra")
    about = replace(candidate(3, "Apples are cheap."), topic="zebra food")
    done = plan(
        known((kept,), (about,), headings=("Project Zebra", "The zebra and I", "Rules")),
        Wish(text="zebra"),
        5.0,
    )
    assert ids(done) == ([], [])
    assert (done.sections, done.topics) == (("Project Zebra",), (about.id,))
    assert done.own == ("The zebra and I",)
    assert not done.is_empty
    assert Forgotten.of(done.tombstones).verdict("A zebra came.", [proof(9, "agent")]) == "gone"


def test_what_tells_of_it_goes() -> None:
    """Summaries of other threads, reports and failures that quote it or name it."""
    rule = lesson(1, RULE)
    told = mark(9, "k2", summary=f"They talked. {RULE} Then they left.")
    reports = tuple(
        Report(number, "scout", "extract", 1.0, json.dumps(body))
        for number, body in enumerate(
            [{"dropped": [[RULE, "why"]]}, {"changes": [{"lesson": rule.id}]}, {"found": 3}]
        )
    )
    tries = (
        Try("scout", "extract", 1, 1.0, 1.0, "answer", f"no place for {RULE}"),
        Try("scout", "consolidate", 1, 1.0, 1.0, "down", "nobody answers"),
    )
    found = plan(
        known((rule,), (), told, mark(9, "k3"), reports=reports, tries=tries), Wish(rule.id), 5.0
    )
    assert found.summaries == (told,)
    assert found.reports == (0, 1)
    assert found.tries == tries[:1]


def test_a_person_s_own_words_are_named_and_stay() -> None:
    """They are the person's to change."""
    rule, longer = lesson(1, RULE), lesson(2, f"{RULE} Copies go to Bob.")
    found = plan(
        known((rule, longer), own=(f"NB: {RULE}\n", "Nothing of it.\n")), Wish(rule.id), 5.0
    )
    assert found.own == (f"NB: {RULE}\n",)
    assert [x.id for x in found.alike] == [longer.id]
    assert found.lines == (rule.id,)


def test_a_text_is_found_wherever_it_stands() -> None:
    """Also in a line as a person edited it, and in a lesson that left the memory."""
    rule, edited, gone, other = (lesson(n, t) for n, t in enumerate([RULE, "x y", RULE, OTHER], 1))
    lines = {rule.id: RULE, edited.id: "Sign-off of Ann, always.", other.id: OTHER}
    lines["abcdef0"] = "A line that a person copied: sign-off of Ann."
    found = plan(
        known((rule, edited, gone, other), (candidate(1, RULE),), lines=lines),
        Wish(text="sign-off of ann"),
        5.0,
    )
    assert ids(found) == ([rule.id, edited.id, gone.id], [candidate(1).id])
    assert found.lines == (rule.id, edited.id, "abcdef0")
    with pytest.raises(UsageError, match="no words"):
        plan(known(), Wish(text=" … "), 5.0)
    with pytest.raises(UsageError, match="no lesson"):
        plan(known(), Wish("0000000"), 5.0)


def test_a_thread_goes_and_what_others_say_too_stays() -> None:
    """What they said of a lesson that goes waits again."""
    only, both, mixed = lesson(1, RULE), lesson(2, OTHER), lesson(3, "Tests run before, by Bob.")
    mine = replace(lesson(4, "Mine."), by="person")
    candidates = (
        merged(1, RULE, only),
        merged(2, OTHER, both),
        merged(3, f"{OTHER} Always.", both, thread="k2"),
        merged(4, "Tests run before a deployment", mixed),
        merged(5, "Bob runs it", mixed, thread="k2"),
        merged(6, "Mine", mine),
        candidate(7, "waits"),
    )
    found = plan(
        known((only, both, mixed, mine), candidates, mark(9), mark(9, "k2")),
        Wish(thread="k1", upto=20),
        5.0,
    )
    assert [x.id for x in found.lessons] == [only.id, mixed.id]
    assert [c.id for c in found.candidates] == [candidate(n).id for n in (1, 2, 4, 6, 7)]
    assert found.released == (candidate(5).id,)
    assert [one.thread for one in found.summaries] == ["k1"]
    forgotten = Forgotten.of(found.tombstones)
    assert forgotten.hides("k1", 20, 0)
    assert forgotten.verdict(RULE, [proof(30)]) == "held"
    assert forgotten.verdict(OTHER, [Evidence("k2", 1, 40, "agent", 0)]) == ""


def test_a_time_goes() -> None:
    """What was said in it; the summary of a thread that was active then or later may tell of it."""
    early, late = lesson(1, RULE), lesson(2, OTHER)
    written = replace(lesson(3, "No candidate is known."), said=25 * SECOND)
    candidates = (merged(10, RULE, early), merged(20, OTHER, late))
    reports = tuple(
        Report(n, "scout", work, 1.0, "{}") for n, work in enumerate(["extract", "consolidate"])
    )
    found = plan(
        known((early, late, written), candidates, mark(5, "k0"), mark(22), reports=reports),
        Wish(begin=20 * SECOND, end=30 * SECOND),
        5.0,
    )
    assert ids(found) == ([late.id, written.id], [candidate(20).id])
    assert [one.thread for one in found.summaries] == ["k1"]
    assert found.reports == (0, 1)
    assert Forgotten.of(found.tombstones).hides("k9", 99, 29 * SECOND)


def test_nothing_known_is_an_empty_plan() -> None:
    """It is forgotten all the same: what is still to be read does not bring it."""
    found = plan(known((), (), mark(9)), Wish(thread="k9", upto=7), 5.0)
    assert found.is_empty
    assert Forgotten.of(found.tombstones).hides("k9", 7, 0)


texts = st.sampled_from([RULE, f"{RULE} Always.", OTHER, "Bob", "Quotes"])


@given(
    st.lists(texts, max_size=4),
    st.lists(st.tuples(texts, st.integers(0, 5), st.sampled_from(["k1", "k2"])), max_size=8),
    st.integers(1, 3),
)
def test_nothing_is_left_of_what_goes(
    lessons: list[str], found: list[tuple[str, int, str]], way: int
) -> None:
    """No candidate of a lesson that goes stays merged into it; what stays is not hidden."""
    lines = tuple(lesson(n, text) for n, text in enumerate(lessons, 1))
    candidates = tuple(
        merged(n, text, lines[at - 1], thread=key)
        if 0 < at <= len(lines)
        else candidate(n, text, evidence=in_thread(key, n))
        for n, (text, at, key) in enumerate(found, 1)
    )
    wish = [Wish(text=RULE), Wish(thread="k1", upto=9), Wish(begin=1, end=4 * SECOND)][way - 1]
    done = plan(known(lines, candidates, mark(9), mark(9, "k2")), wish, 5.0)
    gone, out = map(set, ids(done))
    left = [c for c in candidates if c.id not in out]
    assert all(c.id in done.released for c in left if c.lesson in gone)
    assert all(c.lesson in gone for c in candidates if c.id in done.released)
    if way == 1:
        assert not any("40k" in c.text for c in left)
        assert not any("40k" in x.text for x in lines if x.id not in gone)
    else:
        assert not any(any(map(wish.covers, c.evidence)) for c in left)
        forgotten = Forgotten.of(done.tombstones)
        assert not any(
            forgotten.verdict(x.text, [Evidence("k9", 1, 99, "person", 0)])
            for x in lines
            if x.id not in gone
        )

"""The memory's share of the window, and what gives way."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.learning.files.memoryfile import FRESH, parse
from pannier.learning.files.share import fit, worth
from pannier.learning.lessons import Kind, Lesson
from pannier_hook.estimate import estimate

DAY = 86_400.0


def lesson(number: int, kind: Kind = "preference", *, days: float = 0, said: int = 0) -> Lesson:
    at = 100 * DAY - days * DAY
    text = f"Lesson number {number} says something about the work."
    return Lesson(f"{number:06x}a", "", text, kind, "person", at, at, at, 1, said)


def memory(lessons: list[Lesson], more: str = "") -> str:
    lines = "".join(f"- {x.text} ^{x.id}\n" for x in lessons)
    return f"{FRESH}\n## Work\n\n{lines}{more}"


def test_a_memory_within_its_share_stays_as_it_is() -> None:
    """To the byte."""
    found = [lesson(n) for n in range(5)]
    text = memory(found)
    fitted, dropped = fit(parse(text), {x.id: x for x in found}, estimate(text))
    assert (fitted.text, dropped) == (text, [])


def test_the_least_useful_lessons_give_way() -> None:
    """Facts before rules, what was not confirmed for long before what was, and no more than has
    to."""
    found = [
        lesson(1, "environment"),
        lesson(2, "preference"),
        lesson(3, "correction"),
        lesson(4, "environment", days=60),
        lesson(5, "environment", said=4),
    ]
    text = memory(found)
    fitted, dropped = fit(parse(text), {x.id: x for x in found}, estimate(text) - 1)
    assert dropped == [found[3].id]
    assert fitted.text == text.replace(f"- {found[3].text} ^{found[3].id}\n", "")
    _, dropped = fit(parse(text), {x.id: x for x in found}, estimate(text) - 40)
    assert dropped == [found[n].id for n in (3, 0, 4)]


def test_a_rule_gives_way_after_what_is_merely_so() -> None:
    """However many corrections come after it: who floods the memory takes no rule out of it."""
    rule = replace(lesson(1, days=90), text="Never pay an invoice twice.")
    found = [rule, *(lesson(n, "correction") for n in range(2, 9))]
    text = memory(found)
    fitted, _ = fit(parse(text), {x.id: x for x in found}, estimate(memory(found[:1])))
    assert list(fitted.lessons) == [rule.id]


def test_a_section_goes_with_its_last_lesson() -> None:
    """Its heading, too."""
    found = [lesson(1, "environment"), lesson(2)]
    text = f"## A\n\n- {found[0].text} ^{found[0].id}\n\n## B\n\n- {found[1].text} ^{found[1].id}\n"
    fitted, _ = fit(parse(text), {x.id: x for x in found}, estimate(text) - 5)
    assert fitted.sections == ("B",)


def test_what_a_person_wrote_never_gives_way() -> None:
    """Neither a line of theirs, nor one of ours that they edited; though nothing else is left."""
    found = [replace(lesson(1, "environment"), by="person"), lesson(2)]
    text = memory(found, "\nEva knows more.\n" * 50)
    fitted, dropped = fit(parse(text), {x.id: x for x in found}, 10)
    assert dropped == [found[1].id]
    assert found[0].text in fitted.text
    assert fitted.text.count("Eva") == 50


def test_worth_needs_no_clock() -> None:
    """A memory that nobody used for a year is worth what it was, one lesson beside the other."""
    old, older = lesson(1), lesson(2, days=30)
    later = [replace(x, confirmed=x.confirmed + 365 * DAY, changed=x.changed) for x in (old, older)]
    before = worth(old, old.confirmed) - worth(older, old.confirmed)
    after = worth(later[0], later[0].confirmed) - worth(later[1], later[0].confirmed)
    assert before == after > 0


@settings(max_examples=100)
@given(st.integers(1, 40), st.integers(0, 3_000), st.integers(0, 5))
def test_it_fits_or_only_a_persons_words_are_left(count: int, tokens: int, own: int) -> None:
    """Whatever the share is."""
    found = [lesson(n, days=n % 7, said=n % 3) for n in range(count)]
    text = memory(found, "\nEva knows more.\n" * own)
    fitted, dropped = fit(parse(text), {x.id: x for x in found}, tokens)
    assert estimate(fitted.text) <= tokens or len(dropped) == count
    assert fitted.text.count("Eva") == own
    assert set(fitted.lessons) | set(dropped) == {x.id for x in found}

"""`summary.md`: the index that a fresh context is told."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.learning.files.memoryfile import FRESH, parse
from pannier.learning.files.summaryfile import LONGEST, summary
from pannier.learning.lessons import Kind, Lesson

KINDS: tuple[Kind, ...] = (
    "preference",
    "procedure",
    "decision",
    "environment",
    "failure",
    "correction",
)


def lesson(number: int, text: str, kind: Kind = "preference") -> Lesson:
    return Lesson(f"{number:06x}a", "", text, kind, "person", 1.0, 1.0, 1.0, 1)


def memory(lessons: list[Lesson], sections: int = 1) -> str:
    text = FRESH
    for n in range(sections):
        text += f"\n## Section {n}\n\n"
        text += "".join(f"- {x.text} ^{x.id}\n" for x in lessons[n::sections])
    return text


def made(text: str, lessons: list[Lesson] | None = None) -> str:
    return summary(parse(text), {x.id: x for x in lessons or []})


def test_an_empty_memory_has_no_index() -> None:
    """So there is no note before the first lesson."""
    assert made("") == made(FRESH) == made("## Only a heading\n") == ""


def test_a_small_memory_stands_there_whole() -> None:
    """Headings and lessons as in the memory, without ids, and where the rest is."""
    found = [lesson(1, "Quotes over $40k need sign-off."), lesson(2, "Prices are in euros.")]
    text = made(memory(found), found)
    assert text.startswith("---\ntype: Learned memory index\n---\n")
    assert "## Section 0\n\n- Quotes over $40k need sign-off.\n- Prices are in euros.\n" in text
    assert "^" not in text
    assert "agent-memory/MEMORY.md" in text
    assert "More in" not in text


def test_of_a_large_memory_the_most_useful_is_told_and_where_the_rest_is() -> None:
    """Corrections and preferences before facts; the sections that hold more are named."""
    facts = [
        lesson(n, f"The host number {n} has 16 GB of memory.", "environment") for n in range(90)
    ]
    rules = [
        lesson(n + 100, f"Rule {n}: quotes of team {n} go to Dana.", "correction") for n in range(9)
    ]
    text = made(memory([*facts, *rules], 3), [*facts, *rules])
    assert len(text) <= LONGEST
    assert all(x.text in text for x in rules)
    assert "More in MEMORY.md: Section 0 (" in text
    shown = sum(x.text in text for x in facts)
    assert shown > 30
    assert sum(map(int, re.findall(r"Section \d \((\d+)\)", text))) == 90 - shown


def test_a_persons_line_is_always_told() -> None:
    """What a person wrote into MEMORY.md, with or without an id, goes before what was learned."""
    facts = [
        lesson(n, f"The host number {n} has 16 GB of memory.", "correction") for n in range(200)
    ]
    text = memory(facts) + "- Call Eva on Fridays.\n\nNever rename the bucket.\n"
    found = made(text, facts)
    assert "- Call Eva on Fridays.\n" in found
    assert "- Never rename the bucket.\n" in found


def test_a_persons_edit_is_told_without_a_model() -> None:
    """The index is made of the file's text alone."""
    found = [lesson(1, "Quotes over $40k need sign-off.")]
    text = memory(found).replace("$40k", "$50k")
    assert "$50k" in made(text, found)
    assert "$40k" not in made(text, found)


def test_one_huge_lesson_leaves_room_for_others() -> None:
    """Its beginning is told."""
    found = [lesson(1, "word " * 2_000), lesson(2, "Prices are in euros.")]
    text = made(memory(found), found)
    assert len(text) <= LONGEST
    assert "Prices are in euros." in text
    assert "word…" in text


def test_no_secret_is_told() -> None:
    """Also none that a person wrote into the file."""
    secret = "sk-ant-api03-" + "A1b2C3d4" * 6
    text = made(f"## A\n\n- The key is {secret} ^aaaaaaa\n- mine: {secret}\n")
    assert secret not in text
    assert text.count("removed]") == 2


def test_thousands_of_sections_fit() -> None:
    """They are counted where they cannot be named."""
    text = FRESH + "".join(f"\n## Topic number {n}\n\n- lesson {n} ^a{n:06}\n" for n in range(3000))
    found = made(text)
    assert len(found) <= LONGEST
    assert "more sections" in found


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.text(max_size=700), st.sampled_from(KINDS), st.integers(0, 9)), max_size=40
    ),
    st.text(max_size=200),
    st.integers(1, 5),
)
def test_it_never_is_longer_than_the_hook_delivers(
    texts: list[tuple[str, Kind, int]], own: str, sections: int
) -> None:
    """4,000 code points, whatever stands in the memory; and the same from the same."""
    found = [
        replace(lesson(n, " ".join(t.split()) or "x", k), confirmations=c)
        for n, (t, k, c) in enumerate(texts)
    ]
    text = memory(found, sections) + own
    assert len(made(text, found)) <= LONGEST
    assert made(text, found) == made(text, found)

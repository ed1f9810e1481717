"""`MEMORY.md` as people leave it: read, and changed in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.errors import PannierError
from pannier.learning.files import memoryedits
from pannier.learning.files.memoryfile import (
    BOM,
    FRESH,
    NOWHERE,
    Memory,
    blank,
    decode,
    digest,
    escaped,
    parse,
)

FILE = (
    FRESH
    + """
## Quotes

- Anything over $40k needs sign-off. ^aaaaaa1
- Prices are in euros. ^aaaaaa2

## Deploys

- Staging comes first. ^aaaaaa3
"""
)


def ids(memory: Memory) -> list[str]:
    return [line.id for line in memory.marked]


def test_a_lesson_is_a_list_item_that_ends_in_an_id() -> None:
    """Its text and the heading above it are found, in the order of the file."""
    found = parse(FILE).lessons
    assert [(x.id, x.section, x.text) for x in found.values()] == [
        ("aaaaaa1", "Quotes", "Anything over $40k needs sign-off."),
        ("aaaaaa2", "Quotes", "Prices are in euros."),
        ("aaaaaa3", "Deploys", "Staging comes first."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "- a decimal number is no id ^1234567",
        "- too short ^abc123",
        "- too long ^abc12345",
        "- no space^abc1234",
        "- not at the end ^abc1234 you see",
        "- ^abc1234",
        "not in a list ^abc1234",
        "> - quoted ^abc1234",
        "```\n- in code ^abc1234\n```",
        "<!--\n- commented out ^abc1234\n-->",
        "    - indented code ^abc1234",
        "- text ^abc1234\n  that goes on",
        "- text ^abc1234\nthat goes on lazily",
        "- # a heading ^abc1234",
    ],
)
def test_what_is_no_lesson_is_a_persons(line: str) -> None:
    """Only a list item whose text ends in an id is kept up to date by pannier."""
    memory = parse(f"## A\n\n{line}\n")
    assert not memory.marked
    assert "".join(o.text for o in memory.own).strip() == line.strip()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("* starred ^abc1234", "starred"),
        ("+ plus ^abc1234", "plus"),
        ("3. numbered ^abc1234", "numbered"),
        ("   -   indented ^abc1234  ", "indented"),
        ("-\ttabbed\t^abc1234", "tabbed"),
        ("- over two\n  lines ^abc1234", "over two lines"),
        ("- over two\nlazy lines ^abc1234", "over two lazy lines"),
        ("- a ^b c ^abc1234", "a ^b c"),
        ("- parent\n  - child ^abc1234", "child"),
        ("- - twice ^abc1234", "twice"),
    ],
)
def test_however_a_person_set_the_list_item_it_is_found(line: str, text: str) -> None:
    """Other bullets, indentation, wrapped lines: it is the same lesson, and can be changed."""
    memory = parse(f"## A\n\n{line}\n")
    assert [(x.id, x.text) for x in memory.marked] == [("abc1234", text)]
    revised = memoryedits.revise(memory, "abc1234", "new")
    assert [(x.id, x.text) for x in revised.marked] == [("abc1234", "new")]
    assert not memoryedits.remove(memory, ["abc1234"]).marked


def test_headings_of_all_forms_are_sections_but_none_in_code() -> None:
    """Setext headings and closed ones count; what a code fence or frontmatter shows does not."""
    text = (
        "---\ntype: x\n---\nOne\n===\n- a ^aaaaaaa\n\n```\n## no\n```\n\n"
        "Two\n---\n- b ^aaaaaab\n## Three ##\n- c ^aaaaaac\n"
    )
    assert [(x.id, x.section) for x in parse(text).marked] == [
        ("aaaaaaa", "One"),
        ("aaaaaab", "Two"),
        ("aaaaaac", "Three"),
    ]


def test_a_lesson_more_adds_one_line() -> None:
    """Every other byte stays, the frontmatter too."""
    new = memoryedits.add(parse(FILE), "bbbbbb1", "VAT is added last.", "Quotes").text
    after = "- Prices are in euros. ^aaaaaa2\n"
    assert new == FILE.replace(after, f"{after}- VAT is added last. ^bbbbbb1\n")


def test_a_new_section_goes_to_the_end() -> None:
    """With its heading."""
    new = memoryedits.add(parse(FILE), "bbbbbb1", "Tea.", "Drinks").text
    assert new == f"{FILE}\n## Drinks\n\n- Tea. ^bbbbbb1\n"


def test_the_first_lesson_makes_the_file() -> None:
    """And when it goes, nothing is left but what the file begins with."""
    new = memoryedits.add(parse(FRESH), "bbbbbb1", "Tea.", "Drinks")
    assert new.text == f"{FRESH}\n## Drinks\n\n- Tea. ^bbbbbb1\n"
    assert not new.is_bare
    gone = memoryedits.remove(new, ["bbbbbb1"])
    assert gone.is_bare
    assert gone.text == FRESH


def test_a_section_is_found_whatever_its_case() -> None:
    """The model need not write it as the person did."""
    new = memoryedits.add(parse(FILE), "bbbbbb1", "Late.", " deploys ##")
    assert new.lessons["bbbbbb1"].section == "Deploys"


def test_a_revised_lesson_changes_its_own_line() -> None:
    """And no other byte."""
    new = memoryedits.revise(parse(FILE), "aaaaaa2", "Prices are in dollars.").text
    assert new == FILE.replace("euros", "dollars")


def test_a_section_without_lessons_goes() -> None:
    """As does its heading, unless a person wrote something there."""
    assert memoryedits.remove(parse(FILE), ["aaaaaa3"]).text == FILE[: FILE.index("\n## Deploys")]
    written = FILE + "\nAsk Eva.\n"
    left = memoryedits.remove(parse(written), ["aaaaaa3"])
    assert "## Deploys" in left.text
    assert "Ask Eva." in left.text
    middle = memoryedits.remove(parse(FILE), ["aaaaaa1", "aaaaaa2"]).text
    assert middle == FILE[: FILE.index("## Quotes")] + FILE[FILE.index("## Deploys") :]


def test_what_a_person_wrote_below_a_lesson_stays() -> None:
    """Something stands in the place of the lesson, so that it remains where it was."""
    text = FILE + "  - but not on Fridays\n"
    assert memoryedits.remove(parse(text), ["aaaaaa3"]).text == text.replace(
        "Staging comes first. ^aaaaaa3", "…"
    )


def test_of_a_copied_id_the_changed_copy_is_a_persons() -> None:
    """Who copies a line and edits it means another lesson; the same line twice is one."""
    text = FILE + "- Contracts over $10k, too. ^aaaaaa1\n- Prices are in euros. ^aaaaaa2\n"
    gone = memoryedits.remove(parse(text), ["aaaaaa1", "aaaaaa2"]).text
    assert "Contracts over $10k, too. ^aaaaaa1" in gone
    assert "euros" not in gone
    revised = memoryedits.revise(parse(text), "aaaaaa2", "Prices are in dollars.").text
    assert revised.count("Prices are in dollars. ^aaaaaa2") == 2


def test_removing_a_line_makes_no_heading_of_a_persons_words() -> None:
    """`Words` above and `---` below would be one."""
    text = "## A\n\nWords\n- x ^aaaaaaa\n---\n"
    left = memoryedits.remove(parse(text), ["aaaaaaa"])
    assert left.sections == ("A",)
    assert "aaaaaaa" not in left.text


@pytest.mark.parametrize("end", ["```\n- code", "<!-- a comment", "<pre>\nx", "~~~~ \n# not"])
def test_where_something_is_not_closed_there_is_a_place_all_the_same(end: str) -> None:
    """A code block or a comment that goes on to the end of the file swallows no lesson."""
    for section in ("Deploys", "Drinks"):
        text = f"{FILE}\n{end}"
        new = memoryedits.add(parse(text), "bbbbbb1", "Tea.", section)
        assert new.lessons["bbbbbb1"].section == section
        assert new.text.endswith(end)
    alone = memoryedits.add(parse(end), "bbbbbb1", "Tea.", "Drinks")
    assert alone.text.endswith(end)


def test_a_new_section_takes_no_code_of_a_persons_into_its_list() -> None:
    """Nor does what is indented behind it become a part of the lesson."""
    for text in ("\t- code ^aaaaaab\n```", "## A\n  title\n=\n"):
        new = memoryedits.add(parse(text), "bbbbbb1", "Tea.", "A")
        assert list(new.lessons) == ["bbbbbb1"]
        assert new.lessons["bbbbbb1"].alone


def test_line_endings_stay_what_they_are() -> None:
    """CRLF, a byte order mark, and no newline at the end."""
    text = "\ufeff" + FILE.replace("\n", "\r\n").removesuffix("\r\n")
    new = memoryedits.add(parse(text), "bbbbbb1", "Late.", "Deploys")
    assert new.text == f"{text}\r\n- Late. ^bbbbbb1"
    new = memoryedits.add(parse(text), "bbbbbb1", "Late.", "Quotes")
    assert "\n" not in new.text.replace("\r\n", "")
    assert memoryedits.remove(new, ["bbbbbb1"]).text == text
    revised = memoryedits.revise(parse(text), "aaaaaa3", "Never.").text
    assert revised == text.replace("Staging comes first.", "Never.")


def test_a_byte_order_mark_stays_at_the_beginning() -> None:
    """Also where the first line goes, or one is put before it."""
    text = "\ufeff- x ^aaaaaaa\n- y ^aaaaaab\n"
    assert memoryedits.remove(parse(text), ["aaaaaaa"]).text == "\ufeff- y ^aaaaaab\n"
    new = memoryedits.add(parse("\ufeff```\n# open\n"), "bbbbbb1", "Tea.", "Drinks")
    assert new.text.startswith("\ufeff\n## Drinks\n")


def test_a_huge_line_is_read() -> None:
    """A megabyte in one line, and many lessons."""
    text = f"## A\n\n- {'word ' * 200_000}^aaaaaaa\n" + "".join(
        f"- lesson {n} ^a{n:06}\n" for n in range(500)
    )
    memory = parse(text)
    assert len(memory.marked) == 501
    assert memoryedits.revise(memory, "a000007", "new").text == text.replace("lesson 7 ", "new ")


def test_what_is_not_utf8_is_refused_in_one_line() -> None:
    """It names the file and the line."""
    with pytest.raises(PannierError) as caught:
        decode(b"# A\n\n- caf\xe9 ^aaaaaaa\n", "groups/scout/agent-memory/MEMORY.md")
    assert caught.value.message.startswith("groups/scout/agent-memory/MEMORY.md, line 3:")
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_the_digest_of_nothing_is_empty() -> None:
    """So that no file and an empty one are the same."""
    assert digest("") == ""
    assert digest("a") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


# ---------------------------------------------------------------------------- whatever they write

_HOSTILE = st.one_of(
    st.sampled_from(
        [
            "",
            "# Title",
            "## A",
            "## A ##",
            "### B",
            "A\n---",
            "B\n===",
            "---",
            "***",
            "- one ^aaaaaa1",
            "- two ^aaaaaa2",
            "* three ^aaaaaa3",
            "  - nested ^aaaaaa4",
            "    - deeper ^aaaaaa5",
            "1. counted ^aaaaaa6",
            "- wrapped\n  text ^aaaaaa7",
            "- twice ^aaaaaa1",
            "- one ^aaaaaa1",
            "- mine",
            "  more of it",
            "words",
            "> quoted",
            "> - quoted ^aaaaaa8",
            "```",
            "~~~",
            "```\n## C\n- x ^aaaaaa9\n```",
            "<!--",
            "-->",
            "<div>",
            "[a]: /b",
            "\t- tab ^aaaaaab",
            "- [ ] task ^aaaaaac",
            "\ufeff",
            "\x0c",
            "\u2028- x ^aaaaaad",
            "- \x0b ^aaaaaae",
        ]
    ),
    st.text(st.sampled_from("#->*+` \t^a1\\<!=~|[]:."), max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
_FILES = st.builds(
    lambda bom, front, lines, newline, end: (
        "\ufeff" * bom + (front + newline.join(lines)).replace("\n", newline) + newline * end
    ),
    st.booleans(),
    st.sampled_from(["", "---\ntype: x\n---\n", "---\nopen\n", FRESH]),
    st.lists(_HOSTILE, max_size=14),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
_TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.text(st.sampled_from("#->*+` \t^a1\\<!=~|[]:.()"), max_size=10),
    st.sampled_from(
        ["[a]: /b", "```", "---", "<!--", "1) x", "12. y", "- - x", "x ^abcdef1", "\\"]
    ),
)


def facts(memory: Memory) -> list[tuple[str, str, str]]:
    return [(x.id, x.text, x.section) for x in memory.marked]


def words(memory: Memory) -> list[str]:
    """The lines of a person."""
    lines = [line.lstrip(BOM).rstrip() for o in memory.own for line in parse(o.text).lines]
    return [line for line in lines if line]


def titles(memory: Memory) -> list[tuple[str, int]]:
    return [(h.text, h.level) for h in memory.headings]


@given(_FILES)
def test_every_byte_is_kept_in_reading(text: str) -> None:
    """The lines are the text, and each word is a lesson's, a heading's or a person's."""
    memory = parse(text)
    assert "".join(memory.lines) == text
    taken = {n for x in (*memory.marked, *memory.headings) for n in range(x.first, x.last)}
    own = {n for o in memory.own for n in range(o.first, o.first + len(parse(o.text).lines))}
    left = set(range(memory.start, len(memory.lines))) - taken - own
    assert all(blank(memory.lines[n]) for n in left)


@given(_TEXTS)
def test_a_plain_text_stands_in_its_line(text: str) -> None:
    """Whatever a model answers, it becomes one list item and begins nothing else."""
    line = escaped(text)
    assert "\n" not in line
    assert escaped(line) == line
    if line:
        assert [x.text for x in parse(f"- {line} ^a000000\n").marked] == [line]
        assert re.sub(r"\W", "", line) == re.sub(r"\W", "", line)


@settings(max_examples=200)
@given(_FILES, _TEXTS, st.sampled_from(["A", "B", "C", "Title", "New", "#", "x \\", "A ##", ""]))
def test_adding_inserts_in_one_place(file: str, text: str, section: str) -> None:
    """In any file there is a place, nothing else of it changes, and nobody's words do."""
    line = escaped(text) or "x"
    memory = parse(file)
    new = memoryedits.add(memory, "fffffff", line, section)
    assert "fffffff" in new.lessons
    grown = len(new.text) - len(file)
    assert any(new.text[:n] + new.text[n + grown :] == file for n in range(len(file) + 1))
    assert [f for f in facts(new) if f[0] != "fffffff"] == facts(memory)
    assert words(new) == words(memory)
    assert [t for t in titles(new) if t in titles(memory)] == titles(memory)
    assert len(new.headings) <= len(memory.headings) + 1


@settings(max_examples=150)
@given(_FILES, _TEXTS, st.data())
def test_revising_changes_one_line(file: str, text: str, data: st.DataObject) -> None:
    """All other lines are those of before, byte by byte."""
    memory = parse(file)
    if not memory.marked:
        return
    line = memory.lessons[data.draw(st.sampled_from(sorted(memory.lessons)))]
    new = memoryedits.revise(memory, line.id, escaped(text) or "x")
    assert new.lessons[line.id].text == (escaped(text) or "x")
    same = [x for x in memory.marked if x.id == line.id and x.text == line.text]
    kept = [n for n in range(len(memory.lines)) if all(not x.first <= n < x.last for x in same)]
    assert _is_within([memory.lines[n] for n in kept], new.lines)
    assert words(new) == words(memory)
    assert titles(new) == titles(memory)


@settings(max_examples=150)
@given(_FILES, st.data())
def test_removing_takes_only_lessons_and_their_empty_sections(
    file: str, data: st.DataObject
) -> None:
    """No word of a person goes."""
    memory = parse(file)
    gone = data.draw(st.sets(st.sampled_from([*sorted(memory.lessons), "0000000"])))
    new = memoryedits.remove(memory, gone)
    first = {id: memory.lessons[id].text for id in gone if id in memory.lessons}
    assert facts(new) == [f for f in facts(memory) if first.get(f[0]) != f[1]]
    assert _is_within(words(memory), words(new))
    lost = [t for t in titles(memory) if t not in titles(new)]
    assert all(level > 1 for _, level in lost)


def _is_within(some: list[str], all_: object) -> bool:
    """In the same order, with others between."""
    rest = iter(all_)  # type: ignore[call-overload]
    return all(any(x == y for y in rest) for x in some)


def test_nothing_here_touches_the_disk() -> None:
    """Both modules are pure."""
    for module in (memoryedits.__file__, parse.__code__.co_filename):
        assert "import os" not in Path(module).read_text()


def test_a_section_without_a_name_is_the_general_one() -> None:
    """A heading always has words."""
    assert NOWHERE in memoryedits.add(parse(FRESH), "bbbbbb1", "Tea.", " ## ").sections

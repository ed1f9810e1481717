"""What is read from a file's bytes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.memory.document import READ_LIMIT, parse


def filled(piece: str) -> bytes:
    """As much of it as is looked at."""
    return (piece * (READ_LIMIT // len(piece) + 1)).encode()[:READ_LIMIT]


def test_lines_are_those_of_the_file() -> None:
    """Counted from its first line, with frontmatter, blank lines and CRLF."""
    text = "\n\n---\r\ntitle: x\r\n\r\ntype: note\r\n---\r\n\r\nfirst\r\n[a](b.md)\r\n"
    found = parse(text.encode(), markdown=True)
    assert found.frontmatter is not None
    assert (found.frontmatter.type, found.frontmatter.line) == ("note", 6)
    assert [(link.line, link.target) for link in found.links] == [(10, "b.md")]


def test_targets_are_as_they_are_written() -> None:
    """Not normalized, of any scheme, and only what Markdown calls a link."""
    text = r"[a](ä%20b.md) [b](javascript:x) [c](<a b>) <http://x> \[d](no) [e](a\_b) ![i](p.png)"
    targets = [link.target for link in parse(text.encode(), markdown=True).links]
    assert targets == ["ä%20b.md", "javascript:x", "a b", "http://x", "a_b", "p.png"]


def test_other_files_are_not_read_as_markdown() -> None:
    """A table of addresses has no links, and no type."""
    found = parse(b"---\n[a](b)\n", markdown=False)
    assert (found.frontmatter, found.links) == (None, ())


def test_characters_are_those_that_the_hook_would_give() -> None:
    """After the text rules: CRLF counts once, control characters not at all."""
    assert parse("é\r\n\x07x".encode(), markdown=True).characters == 3


def test_a_character_split_by_the_limit_is_not_an_encoding_error() -> None:
    """Only what the file really holds."""
    data = b"x" * (READ_LIMIT - 1) + "é".encode()
    assert parse(data, markdown=True).undecodable == 0
    assert parse(b"x\n\xc3", markdown=True).undecodable == 2


def bomb() -> str:
    """Ten times ten times … as many keys by merging."""
    lines = ["a0: &a0 {k: v}"]
    for n in range(1, 12):
        merged = ", ".join([f"*a{n - 1}"] * 10)
        lines.append(f"a{n}: &a{n} {{<<: [{merged}]}}")
    return "---\n" + "\n".join(lines) + "\ntype: x\n---\n"


YAML = ("[", "{a: ", "- ", "? ", "a: &a ", "!!int ", "9", "'", "a:\n ", "|", "%", "---\n\t")
FRONTMATTERS = [
    bomb(),
    "---\na: &a [*a]\n---\n",
    *(f"---\n{filled(p)[:size].decode()}\n---\n" for p in YAML for size in (1_000, 16_000)),
]
BODIES = ["[", "![", "[a](", "[](a)", "[[](", "`[", "[\n", "***a", "> - ", "<a ", "a\n", "[a]: <"]


@pytest.mark.parametrize("text", FRONTMATTERS, ids=range(len(FRONTMATTERS)))
def test_no_frontmatter_hangs_or_breaks_the_reader(text: str) -> None:
    """Bombs by alias and merge, deep nesting, endless scalars."""
    begin = time.process_time()
    parse(text.encode(), markdown=True)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("piece", BODIES)
def test_no_body_hangs_or_breaks_the_reader(piece: str) -> None:
    """What makes Markdown parsers slow takes seconds at most, for as much as is read of a file."""
    begin = time.process_time()
    assert len(parse(filled(piece), markdown=True).links) <= 1_000
    assert time.process_time() - begin < 8


@given(st.text(alphabet="[]()<>!`*_~#->:|\\&;{}'\"\n\t 1a.%@\u2028\ufeff\x85é", max_size=120))
@settings(max_examples=500, deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    """Of the characters that mean something to Markdown and YAML, too."""
    for whole in (text, f"---\n{text}\n---\n{text}"):
        parse(whole.encode(), markdown=True)

"""What was said, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pannier.threads.excerpt import excerpt
from pannier.threads.page import SHORT, WHOLE, Lengths, blocks
from pannier.threads.rows import MessageRow, TurnRow

SECRET = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"
NOON = 1_795_953_600_000_000_000  # 2026-11-29 12:00 UTC


def said(
    id: int, role: str, text: str = "hello", *, kind: str = "text", **more: object
) -> MessageRow:
    """A message that follows the one before it."""
    row = MessageRow(
        id=id,
        thread=1,
        session=1,
        turn=1,
        parent=id - 1 or None,
        key=f"k{id}",
        position=id,
        at=NOON,
        role=role,
        kind=kind,
        text=text,
        tool="",
        call="",
        model="",
        failed=False,
        inner="",
    )
    return replace(row, **more)  # type: ignore[arg-type]


def turn(id: int, outcome: str = "succeeded", *, inner: str = "", task: bool = False) -> TurnRow:
    return TurnRow(id, 1, 1, f"t{id}", NOON, NOON, outcome, "", inner, task, 0, 0, 0, 0)


def page(messages: Sequence[MessageRow], *turns: TurnRow, lengths: Lengths = SHORT) -> str:
    return "".join(b.text for b in blocks(messages, {t.id: t for t in turns}, lengths=lengths))


def test_a_turn_reads_like_a_conversation() -> None:
    """Who, when, and what; calls and results with their tool; each message with its number."""
    text = page(
        [
            said(1, "person", "What is here?"),
            said(2, "agent", '{"command": "ls"}', kind="call", tool="Bash"),
            said(3, "tool", "a\nb", kind="result", tool="Bash"),
            said(4, "agent", "Two files:\n\n- a\n- b"),
        ]
    )
    assert text == (
        "## 2026-11-29 12:00 · person · m1\n\n> What is here?\n\n"
        "#### call of `Bash` · m2\n\n> command: ls\n\n"
        "#### result of `Bash` · m3\n\n> a\n> b\n\n"
        "### agent · m4\n\n> Two files:\n>\n> - a\n> - b\n\n"
    )


def test_what_no_reader_needs_is_left_out() -> None:
    """Thinking, the injected memory, and records of an unknown kind."""
    messages = [
        said(n, "agent", "x", kind=k) for n, k in enumerate(("thinking", "memory", "raw"), 1)
    ]
    assert page(messages) == ""
    assert [b.upto for b in blocks(messages, {})] == [1, 2, 3]


def test_inner_work_is_one_line() -> None:
    """Of a sub-agent, and of a background task, however much they said."""
    text = page(
        [
            said(1, "person"),
            said(2, "agent", inner="a1"),
            said(3, "agent", kind="call", inner="a1"),
            said(4, "person", turn=2, parent=1),
            said(5, "agent", turn=3),
        ],
        turn(1),
        turn(2, task=True),
        turn(3),
    )
    assert "*Inner work, m2 to m3: 2 messages, 1 tool call.*" in text
    assert "*Inner work, m4: 1 message.*" in text
    assert "Back to" not in text


def test_a_compaction_in_a_turn_of_its_own_is_said() -> None:
    """Where a client compacts without being asked, or a person asks for nothing else."""
    text = page(
        [
            said(1, "person"),
            said(2, "client", "summary", kind="compaction", turn=2, parent=1),
            said(3, "agent", turn=2, parent=2),
            said(4, "person", turn=3, parent=3),
        ],
        turn(1),
        turn(2, task=True),
        turn(3),
    )
    assert "*The context was compacted here, m2.*" in text
    assert "*Inner work, m3: 1 message.*" in text
    assert "Back to" not in text
    assert "It goes on" not in text


def test_a_rewind_and_a_compaction_are_said() -> None:
    """Where the thread went back, what follows says after which message it goes on."""
    text = page(
        [
            said(1, "person"),
            said(2, "agent"),
            said(3, "person", turn=2),
            said(4, "client", "summary", kind="compaction", turn=2),
            said(5, "person", turn=3, parent=2),
            said(6, "person", turn=4, parent=None),
        ]
    )
    assert "*The context was compacted here, m4.*" in text
    assert "*Back to m2: what follows goes on from there, not from m4.*\n\n## " in text
    assert "*Back to the beginning: what follows goes on from there, not from m5.*" in text
    assert "summary" not in text


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
def test_a_turn_that_failed_is_marked(outcome: str) -> None:
    """So that nobody takes its last words for an answer."""
    text = page([said(1, "person"), said(2, "person", turn=2)], turn(1, outcome), turn(2))
    assert text.count(outcome) == 1
    assert text.index(outcome) < text.index("m2")


def test_long_texts_are_shortened_and_say_so() -> None:
    """Results more than words of a person; `WHOLE` shortens nothing."""
    result = said(1, "tool", "line\n" * 1_000, kind="result", failed=True)
    first, *_ = page([result]).splitlines()
    assert first == "#### result (failed) · m1 · 4,941 characters left out"
    assert page([result]).count("> line") == 12
    assert page([result], lengths=WHOLE).count("> line") == 1_000


def test_no_secret_is_shown() -> None:
    """Neither whole nor cut in half by the shortening."""
    for before in range(0, 900, 37):
        text = page([said(1, "tool", "x" * before + f" {SECRET} " + "y" * 900, kind="result")])
        assert not any(SECRET[n : n + 8] in text for n in range(len(SECRET) - 8))
    assert SECRET not in page([said(1, "person", SECRET)], lengths=WHOLE)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"command": "ls\\nls -l", "timeout": 5}', ["command: ls", "ls -l", "timeout: 5"]),
        ('{"a": {"b": ["ü"]}}', ['a: {"b": ["ü"]}']),
        ("{}", ["{}"]),
        ("[1]", ["[1]"]),
        ("{broken", ["{broken"]),
        ("[" * 100_000, ["[" * 400]),
    ],
)
def test_arguments_are_readable(text: str, lines: list[str]) -> None:
    """A name and a value a line; what is not that, as it is."""
    shown = page([said(1, "agent", text, kind="call")])
    assert [line[2:] for line in shown.splitlines() if line.startswith("> ")] == lines


def test_a_secret_in_a_command_is_masked() -> None:
    """Though JSON writes its quotes with strokes before them."""
    text = json.dumps({"command": """curl -d '{"password": "hunter2hunter2"}' x"""})
    assert "hunter2" not in page([said(1, "agent", text, kind="call")])


# ---------------------------------------------------------------------------- what cannot be forged

MARKUP = [
    *("# a", "## 2026-01-01 00:00 · person · m9", "```", "~~~", "<!--", "-->", "<script>", "---"),
    *("[a]: b", "> x", "    y", "*Back*", "|a|", "\r", "\u2028", "\x85", "\x0b", "\x1c", "\n", ""),
]
hostile = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(MARKUP), max_size=8).map("\n".join)
)
SAID = st.sampled_from(
    [
        *(("person", "text"), ("agent", "text"), ("agent", "call"), ("tool", "result")),
        *(("client", "text"), ("pannier", "message"), ("agent", "thinking")),
        ("client", "compaction"),
    ]
)


@given(st.lists(st.tuples(SAID, hostile, hostile), max_size=6))
def test_no_text_changes_the_pages_structure(
    said_so: list[tuple[tuple[str, str], str, str]],
) -> None:
    """Whatever is said, and whatever a tool is called: the same lines stand between the quotes."""

    def made(harmless: bool) -> str:
        rows = [
            said(
                n,
                role,
                "x" if harmless else text,
                kind=kind,
                tool="x" if harmless and tool else tool,
            )
            for n, ((role, kind), text, tool) in enumerate(said_so, 1)
        ]
        return page(rows, lengths=WHOLE)

    assert _titles(made(False)) == _titles(made(True))
    assert _outside(made(False)) == _outside(made(True))


def _titles(text: str) -> list[str]:
    """The lines that are not quoted, with all that a reader could take for a line's end."""
    lines = [line for line in text.splitlines() if line and not line.startswith(">")]
    return [line.split("`")[0] + line.split("`")[-1] if "`" in line else line for line in lines]


def _outside(text: str) -> list[str]:
    """The page's blocks outside of quotes, as Markdown is read."""
    tokens = MarkdownIt().parse(text)
    depth, found = 0, []
    for token in tokens:
        depth -= token.type == "blockquote_close"
        if depth == 0:
            found.append(token.type)
        depth += token.type == "blockquote_open"
    return found


@given(st.text(), st.integers(0, 50), st.integers(1, 5))
def test_an_excerpt_is_a_beginning(text: str, limit: int, lines: int) -> None:
    """Not longer than it may be, and what is left out is counted."""
    cut = excerpt(text, limit, lines)
    whole = excerpt(text)
    assert len(cut.text) <= limit
    assert cut.text.count("\n") < lines
    assert whole.text.startswith(cut.text)
    assert len(cut.text) + cut.left == len(whole.text)

"""What of a conversation a learner is shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.learning.extraction.reading import RESULT, SAID, Shown, read
from pannier.threads.rows import MessageRow
from pannier_hook.framing import FILES, Frame, Section, render
from pannier_hook.messages import Message, frame

from .rows import row

[MEMORY] = render([Section(FILES[0], "The mug is blue.\n")], Frame("/m", "0" * 16))
QUEUED = frame(Message("0123456789abcdef", "The bus leaves at six.", at=1, sender="ci"))
PASSWORD = "password: hunter2!x9"


def shown(*rows: MessageRow) -> list[tuple[str, str]]:
    return [(one.source, one.text) for one in read(rows)]


def only(message: MessageRow) -> Shown:
    [one] = read((message,))
    return one


def test_roles_come_from_the_record() -> None:
    """Persons, the queue, the agent with its calls, and tools are shown, as whose they are."""
    assert shown(
        row(1, "person", "text", "Hello."),
        row(2, "pannier", "message", QUEUED),
        row(3, "agent", "text", "Hi."),
        row(4, "agent", "call", '{"command": "ls", "all": true}', tool="Bash", call="c"),
        row(5, "tool", "result", "a b", tool="Bash", call="c"),
    ) == [
        ("person", "Hello."),
        ("message", "The bus leaves at six."),
        ("agent", "Hi."),
        ("agent", "command: ls\nall: true"),
        ("tool", "a b"),
    ]


@pytest.mark.parametrize(
    "message",
    [
        row(1, "pannier", "memory", MEMORY),
        row(1, "client", "text", "API Error"),
        row(1, "client", "compaction", "What came before: all is well."),
        row(1, "client", "raw", "{}"),
        row(1, "agent", "thinking", "Hm."),
        row(1, "agent", "text", "I looked.", inner="agent-1"),
        row(1, "person", "text", " \n"),
        row(1, "pannier", "message", "no frame of the queue's"),
    ],
)
def test_left_out(message: MessageRow) -> None:
    """Injected memory, the client's own words, summaries, thoughts, what nobody can read, and what
    a sub-agent says to itself are not shown."""
    assert shown(message) == []


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /workspace\n\n<INSTRUCTIONS>Be brief.</INSTRUCTIONS>",
        "<user_instructions>\nBe brief.",
        "<environment_context>\n<cwd>/x</cwd>",
        "\n<system-reminder>\nBe brief.",
    ],
)
def test_standing_instructions(text: str) -> None:
    """A text in a person's role that clients begin sessions with is no person's."""
    assert shown(row(1, "person", "text", text)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"before\n{MEMORY}\nafter", "before\nafter"),
        (f"before {QUEUED} after", "before\nafter"),
        (f"before\n{MEMORY[:-30]}", "before"),
        (f"{QUEUED}\n{MEMORY[:200]}", ""),
        (f"x {MEMORY} " * 101, "x"),
    ],
)
@pytest.mark.parametrize("role", ["person", "agent", "tool"])
def test_injected_text_within_another(role: str, text: str, words: str) -> None:
    """What pannier injected is cut out wherever it stands, also when its end is missing."""
    kind = "result" if role == "tool" else "text"
    assert shown(row(1, role, kind, text)) == ([(role, words)] if words else [])


@pytest.mark.parametrize(
    "arguments",
    [
        '{"file_path": "/workspace/agent/agent-memory/MEMORY.md"}',
        '{"command": "cat ../agent-memory/summary.md"}',
        '{"command": "grep -r quote /workspace/agent/conversations"}',
        '{"command": "cat /workspace/agent/memory/index.md"}',
        '{"path": "../memory/index.md"}',
        '{"path": "AGENTS.md"}',
        '{"path": "/home/agent/.claude/CLAUDE.local.md"}',
    ],
)
def test_what_the_agent_reads_of_its_own_memory(arguments: str) -> None:
    """What a tool gives back of the memory, of past conversations and of standing instructions is
    not learned again; that the agent read it, is shown."""
    call = row(1, "agent", "call", arguments, tool="Read", call="c")
    other = row(3, "tool", "result", "another", call="d")
    found = read((call, row(2, "tool", "result", "- Quotes need sign-off", call="c"), other))
    assert [one.message for one in found] == [1, 3]


def test_files_that_are_only_called_so() -> None:
    """A project's own folder of such a name is no memory of the agent's."""
    call = row(1, "agent", "call", '{"path": "src/memory/pool.c"}', call="c")
    assert len(shown(call, row(2, "tool", "result", "int pool;", call="c"))) == 2


def test_lines_of_the_memory() -> None:
    """Lessons that a tool came upon anywhere are taken out of its result."""
    text = "MEMORY.md:3:- Quotes over $40k need sign-off ^0a1b2c3\nnotes.txt:1:quotes: 12\n"
    assert shown(row(1, "tool", "result", text)) == [("tool", "notes.txt:1:quotes: 12")]


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (
            "<task-notification>\n<task-id>a</task-id>\n<note>n</note>\n"
            "<result>The host is down.</result>\n<usage>1</usage>\n</task-notification>",
            "The host is down.",
        ),
        (
            "Message Type: FINAL_ANSWER\nTask name: /root\nSender: /root/probe\n"
            "Payload:\nThe host is down.",
            "The host is down.",
        ),
    ],
)
def test_reports_of_sub_agents(text: str, report: str) -> None:
    """The report of a sub-agent is part of the conversation: as what a tool gave back."""
    assert shown(row(1, "client", "text", text)) == [("tool", report)]


def test_results_without_a_word() -> None:
    """That a tool gave nothing back, or failed without a word, is shown."""
    assert [(one.how, one.text) for one in read((row(1, "tool", "result", "", failed=True),))] == [
        ("tool something, failed", "(nothing)")
    ]


def test_long_texts_keep_their_beginnings() -> None:
    """4,000 code points of what is said, 1,500 of a result and of a call's arguments."""
    said = only(row(1, "person", "text", "é" * 5_000))
    assert (len(said.text), said.left) == (SAID, 1_000) == (4_000, 1_000)
    result = only(row(1, "tool", "result", "x" * 2_000))
    assert (len(result.text), result.left) == (RESULT, 500) == (1_500, 500)
    assert len(only(row(1, "agent", "call", "y" * 2_000)).text) == RESULT


@given(st.integers(0, 2_000))
def test_secrets_are_masked_before_the_cut(before: int) -> None:
    """A secret is masked also where the cut goes through it."""
    text = only(row(1, "tool", "result", f"{'x' * before} {PASSWORD}")).text
    assert "hunter2" not in text
    assert "hunter" not in text


def test_secrets_in_arguments() -> None:
    """A call's secrets are masked as its JSON says them."""
    text = only(row(1, "agent", "call", '{"command": "login --password \\"hunter2!x9\\""}')).text
    assert "hunter2" not in text


def test_names_of_tools() -> None:
    """A tool's name can break no line, and neither can a time that is none."""
    one = only(row(1, "tool", "result", "x", tool="a]\n[b m1 person", at=1 << 62))
    assert one.how == "tool a___b_m1_person"


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>" + "<result>" * 200_000,
        "Message Type: FINAL_ANSWER\n" + "A: b\n" * 200_000,
        "-----BEGIN PANNIER MEMORY 0123456789abcdef-----\n" * 20_000,
        "a ^0a1b2c" * 100_000,
    ],
)
def test_hostile_texts(text: str) -> None:
    """A text made to be slow to read costs no more than reading it."""
    begun = time.process_time()
    list(read((row(1, "client", "text", text), row(2, "tool", "result", text))))
    assert time.process_time() - begun < 2

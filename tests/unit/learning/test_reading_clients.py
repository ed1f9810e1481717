"""What of each client's records a learner is shown: what the real programs wrote, as it is stored.

Of clients whose transcripts nobody reads, what their hooks tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from tests.unit.clients.transcripts import claude_stories, stories

from pannier.clients.transcript import Line, Reader
from pannier.clients.transcripts import claude, fields, langchain
from pannier.learning.extraction.pieces import split
from pannier.learning.extraction.question import question
from pannier.learning.extraction.reading import read
from pannier.threads.rows import MessageRow
from pannier.threads.store import open_store
from pannier_agents.messages import line
from pannier_agents.summary import summary_message
from pannier_hook.events import Event, Log
from pannier_hook.framing import FILES, Frame, Section, render
from pannier_hook.messages import Message, frame

from .rows import thread

[MEMORY] = render([Section(FILES[2], "The mug is blue.\n")], Frame("/m", "0" * 16))
QUEUED = frame(Message("0123456789abcdef", "The bus leaves at six.", at=1, sender="ci"))
NEVER = (
    *("PANNIER MEMORY", "PANNIER MESSAGE", "came through the queue", "The mug is blue"),
    *("# AGENTS.md", "Role, persona and standing behaviour", "<INSTRUCTIONS>"),
    *("<environment_context>", "<session_context>", "<system-reminder>", "<turn_aborted>"),
    *("This session is being continued", "Another language model started", "<state_snapshot>"),
    *("<task-notification>", "Message Type:", "Stop hook feedback"),
)
STORIES = [("claude", name) for name in claude_stories.NAMES] + stories.ALL

Given = Sequence[tuple[Event, Sequence[Line]]]


def stored(tmp_path: Path, client: str, reader: Reader, given: Given) -> tuple[MessageRow, ...]:
    """All that was said, on all branches, of everybody."""
    with open_store(tmp_path / "threads.db", write=True) as store:
        for event, lines in given:
            state = store.state("scout", client, event.session)
            store.apply("scout", event, reader(event, lines, state))
        [found] = store.threads("scout")
        return store.messages(found.id, branch=False)


def of_story(tmp_path: Path, client: str, story: str) -> tuple[MessageRow, ...]:
    reader = claude.read if client == "claude" else stories.READERS[client]
    told: Iterable[claude_stories.HandOver | stories.HandOver] = (
        claude_stories.hand_overs(story)
        if client == "claude"
        else stories.hand_overs(client, story)
    )
    return stored(tmp_path, client, reader, [(one.event, one.lines) for one in told])


def asked(rows: Sequence[MessageRow]) -> str:
    """The whole question about what was said."""
    [piece] = split(rows, thread(), 0, 64_000)
    made = question(rows, piece)
    assert made is not None
    return made.data


@pytest.mark.parametrize(("client", "story"), STORIES)
def test_recorded_stories(tmp_path: Path, client: str, story: str) -> None:
    """Neither the injected memory, nor the queue's frame, nor standing instructions, nor summaries
    of compactions, nor a sub-agent's own steps reach the question; what persons and the agent said
    does."""
    rows = of_story(tmp_path, client, story)
    data = asked(rows)
    assert [words for words in NEVER if words in data] == []
    shown = {one.message for one in read(rows)}
    inner = {row.id for row in rows if row.inner}
    assert not shown & inner
    said = {row.id for row in rows if row.role in ("person", "agent") and row.kind == "text"}
    assert said - inner <= shown


def test_that_the_stories_have_what_is_left_out(tmp_path: Path) -> None:
    """What must not be shown stands in what was recorded: memory, instructions, summaries, steps
    of sub-agents."""
    seen = set[str]()
    kinds = set[str]()
    for number, (client, story) in enumerate(STORIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = of_story(folder, client, story)
        seen |= {words for words in NEVER for row in rows if words in row.text}
        kinds |= {"inner" if row.inner else row.kind for row in rows}
    assert {"memory", "compaction", "inner", "thinking"} <= kinds
    assert set(NEVER) - seen <= {"PANNIER MESSAGE", "came through the queue", "The mug is blue"}


@pytest.mark.parametrize(
    ("client", "story", "report"),
    [
        ("claude", "agent", "The agent saw it."),
        ("claude", "agents", "A holds cups."),
        ("codex", "agent", "ok"),
    ],
)
def test_reports(tmp_path: Path, client: str, story: str, report: str) -> None:
    """What a sub-agent reported to the agent is shown, once, as what a tool gave back."""
    rows = of_story(tmp_path, client, story)
    reports = [one for one in read(rows) if one.how == "tool, a sub-agent reports"]
    assert [one.text for one in reports if one.text == report] == [report]
    assert all(one.source == "tool" for one in reports)


@pytest.mark.parametrize("client", ["copilot", "custom", "opencode", "qwen"])
def test_what_hooks_tell(tmp_path: Path, client: str) -> None:
    """A prompt into which the memory and a message of the queue were put shows the person's words
    and the message's; what the queue says at a stop is the queue's, too."""
    told = [
        ("user-prompt", {"prompt": f"{MEMORY}\nMind the step.\n{QUEUED}"}),
        ("stop", {"last": "I do."}),
        ("delivered", {"prompt": QUEUED}),
        ("post-compact", {"summary": "It was so."}),
    ]
    given: Given = [
        (Event(kind, id=f"{n:016x}", at=n, client=client, session="s", details=details), ())
        for n, (kind, details) in enumerate(told, 1)
    ]
    rows = stored(tmp_path, client, fields.read, given)
    assert [(one.source, one.text) for one in read(rows)] == [
        ("person", "Mind the step."),
        ("message", "The bus leaves at six."),
        ("agent", "I do."),
        ("message", "The bus leaves at six."),
    ]
    assert [words for words in (*NEVER, "It was so") if words in asked(rows)] == []


def test_agents_in_python(tmp_path: Path) -> None:
    """Of an agent in Python, its system prompt, the memory, summaries and the queue's frames are
    left out."""
    messages = [
        SystemMessage("# AGENTS.md instructions: be brief.", id="1"),
        HumanMessage(MEMORY, id="2", additional_kwargs={"pannier": "memory"}),
        HumanMessage("Mind the step.", id="3"),
        AIMessage("I do.", id="4"),
        HumanMessage(QUEUED, id="5", additional_kwargs={"pannier": "follow-up"}),
        summary_message("It was so.", "6"),
        AIMessage("So it is.", id="7"),
    ]
    before = ["", *(str(one.id) for one in messages)]
    lines = [line(one, parent) for one, parent in zip(messages, before, strict=False)]
    event = Event(
        "stop", id="a" * 16, at=1_000, client="langchain", session="s", log=Log("threads/s", 0)
    )
    read_in = [Line("threads/s", number, data.rstrip()) for number, data in enumerate(lines)]
    rows = stored(tmp_path, "langchain", langchain.read, [(event, read_in)])
    assert [(one.source, one.text) for one in read(rows)] == [
        ("person", "Mind the step."),
        ("agent", "I do."),
        ("message", "The bus leaves at six."),
        ("agent", "So it is."),
    ]
    assert [words for words in (*NEVER, "be brief", "It was so") if words in asked(rows)] == []

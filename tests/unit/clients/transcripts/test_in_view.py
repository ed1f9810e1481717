"""What recorded transcripts tell of what the model was sent."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

from pannier import clients
from pannier.threads.store import open_store
from pannier.threads.view import View, view

from . import claude_stories, stories

CLAUDE = [("claude", p.name) for p in (stories.FOLDER / "claude").iterdir() if p.is_dir()]
ALL = sorted([*CLAUDE, *stories.ALL])


def seen(folder: Path, client: str, story: str, until: bytes | None = None) -> View:
    """After the whole story, or just before the first record that holds `until`."""
    given = claude_stories.hand_overs(story) if client == "claude" else None
    with open_store(folder / "threads.db", write=True) as store:
        for one in given if given is not None else stories.hand_overs(client, story):
            state = store.state("scout", client, one.event.session)
            lines = tuple(
                takewhile(lambda line: until is None or until not in line.data, one.lines)
            )
            reading = clients.get(client).read(one.event, lines, state)
            store.apply("scout", one.event, reading)
            if lines != tuple(one.lines):
                break
        found = view(store, store.find_thread("scout"))
    assert found is not None
    return found


def parts(found: View) -> dict[str, int]:
    return {part.part: part.messages for part in found.report.parts}


@pytest.mark.parametrize(("client", "story"), ALL)
def test_what_is_counted_is_less_than_what_the_provider_counted(
    tmp_path: Path, client: str, story: str
) -> None:
    """The system prompt and the tools are not in it, and nothing is counted twice."""
    found = seen(tmp_path, client, story)
    assert found.report.parts
    assert sum(part.tokens for part in found.report.parts) == found.estimated
    if found.report.exact:
        assert found.estimated < found.report.tokens
    else:
        assert story in ("api-failure", "review")
        assert found.estimated == found.report.tokens


@pytest.mark.parametrize(
    ("client", "story", "expected"),
    [
        ("claude", "compact", {"memory": 1, "summary": 1, "request": 1, "said": 3}),
        ("claude", "auto-compaction", {"memory": 1, "summary": 1, "request": 1, "said": 2}),
        (
            "codex",
            "auto-compaction",
            {"memory": 1, "summary": 1, "said": 1, "calls": 1, "results": 1},
        ),
        ("codex", "compact", {"memory": 1, "summary": 1, "request": 1, "said": 1}),
        ("gemini", "compression", {"memory": 1, "summary": 1, "request": 1, "said": 5}),
    ],
)
def test_after_a_compaction(
    tmp_path: Path, client: str, story: str, expected: dict[str, int]
) -> None:
    """The summary, the memory that was injected again, and what was said since."""
    found = seen(tmp_path, client, story)
    assert parts(found) == expected
    assert found.since
    told = " ".join(found.notes)
    assert "kept beside the summary" in told
    assert ("text of its summary" in told) is (not found.report.summary)


def test_the_command_for_a_compaction_is_no_request_of_a_person_s(tmp_path: Path) -> None:
    """Before anything was said since, there is none; what the command printed is sent, too."""
    found = seen(tmp_path, "claude", "compact", until=b"after it")
    assert parts(found) == {"memory": 1, "summary": 1, "said": 2}


@pytest.mark.parametrize(
    ("client", "story", "expected"),
    [
        ("claude", "clear", {"memory": 1, "task": 1, "said": 2}),
        ("codex", "clear", {"memory": 1, "task": 1, "said": 3}),
        ("gemini", "clear", {"memory": 1, "task": 1, "said": 4}),
        ("claude", "fork", {"memory": 1, "task": 1, "request": 1, "said": 2}),
        ("claude", "fork-compacted", {"memory": 1, "summary": 1, "request": 1, "said": 5}),
        ("codex", "fork", {"memory": 1, "task": 1, "request": 1, "said": 6}),
    ],
)
def test_a_fork_has_what_was_said_before_and_a_cleared_session_has_not(
    tmp_path: Path, client: str, story: str, expected: dict[str, int]
) -> None:
    """The memory is there once, as it is in the client."""
    assert parts(seen(tmp_path, client, story)) == expected

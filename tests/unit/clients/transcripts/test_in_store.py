"""What the store makes of the stories of Codex and Gemini CLI: one branch, and what lies beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pannier.threads.store import WritableStore, open_store
from pannier_hook.events import Log

from .stories import ALL, READERS, HandOver, event_of, hand_overs, lines_of

_SETTINGS = ("<environment_context>", "<session_context>", "# AGENTS.md", "<turn_aborted>")


def _store(store: WritableStore, client: str, given: list[HandOver]) -> int:
    """Apply hand-overs; how many messages were new."""
    stored = 0
    for one in given:
        state = store.state("scout", client, one.event.session)
        reading = READERS[client](one.event, one.lines, state)
        stored += store.apply("scout", one.event, reading).stored
    return stored


def _branch(store: WritableStore) -> list[str]:
    """What a reader of the thread sees, from its beginning to its head."""
    thread = store.find_thread("scout")
    return [
        message.text
        for message in store.messages(thread.id, branch=True, limit=1_000)
        if message.role in ("person", "agent") and message.kind == "text"
    ]


def _of(tmp_path: Path, client: str, story: str) -> list[str]:
    with open_store(tmp_path / "threads.db", write=True) as store:
        _store(store, client, hand_overs(client, story))
        return _branch(store)


@pytest.mark.parametrize(
    ("client", "story", "branch"),
    [
        ("codex", "tools", "do the tools / done with tools / and again / second answer"),
        ("codex", "compact", "hello / hello back / again / after compaction"),
        (
            "codex",
            "fork",
            "one / one answered / two / two answered / three in main / three in main",
        ),
        ("codex", "revert", "one-d / one-d answered / in the fork / fork answered"),
        ("codex", "clear", "first in exec / first in exec / again / a new context"),
        ("gemini", "api-failure", "good prompt / fine / next prompt / ok then"),
        ("gemini", "rewind", "Say one. / ok / Say two. Changed. / ok / after rewind / resumed"),
        ("gemini", "cancelled", "Say one. / ok / Run slow. / Say after. / ok"),
        ("gemini", "errors", "Say second. / ok / Say fourth. / ok"),
    ],
)
def test_the_branch(tmp_path: Path, client: str, story: str, branch: str) -> None:
    """What was taken back, refused or forked off lies beside the branch."""
    assert _of(tmp_path, client, story) == branch.split(" / ")


@pytest.mark.parametrize(("client", "story"), ALL)
def test_a_second_hand_over_changes_nothing(tmp_path: Path, client: str, story: str) -> None:
    """Transcripts that come again, from their beginnings, add no message and leave the head."""
    given = [one for one in hand_overs(client, story) if one.lines]
    with open_store(tmp_path / "threads.db", write=True) as store:
        _store(store, client, hand_overs(client, story))
        before = _branch(store)
        assert _store(store, client, given) == 0
        assert _branch(store) == before


SESSION = "01a229a9-c7b4-7a11-b90a-69e836b26d20"


def _rollout(name: str, first: int, step: int, *said: str) -> HandOver:
    """A file of the session, with a prompt at every `step`th ordinal."""
    log = f".codex/sessions/2026/11/29/rollout-2026-11-29T23-35-22-{name}.jsonl"
    base = {"history_base": {"thread_id": "x", "end_ordinal_exclusive": first}} if first else {}
    records: list[dict[str, Any]] = [{"ordinal": first, "type": "session_meta", "payload": base}]
    for count, text in enumerate(said):
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        records.append(
            {"ordinal": first + 1 + step * count, "type": "response_item", "payload": item}
        )
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    event = event_of("codex", session=SESSION, log=Log(log, 0))
    return HandOver(event, tuple(lines_of(log, data)))


def test_a_revert_within_what_came_after_a_revert(tmp_path: Path) -> None:
    """Ordinals that were reverted come again: those of the newer file count."""
    given = [
        _rollout(SESSION, 0, 7, *(f"old {n}" for n in range(8))),
        _rollout(f"{SESSION}_b", 15, 10, "new 1", "new 2", "new 3"),
        _rollout(f"{SESSION}_c", 30, 1, "newest"),
    ]
    with open_store(tmp_path / "threads.db", write=True) as store:
        _store(store, "codex", given)
        assert _branch(store) == ["old 0", "old 1", "new 1", "new 2", "newest"]

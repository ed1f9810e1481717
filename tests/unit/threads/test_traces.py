"""What clients keep of a session is found and removed, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.clients import CLIENTS
from pannier.clients.client import Traces
from pannier.paths import GroupPaths
from pannier.threads import traces

SESSION = "d805d1e6-7597-4b9a-bcee-1cefb2372312"
OTHER = "6ee793a0-4ff8-480b-a8f0-d4954891baef"

LAID_DOWN = {
    "claude": (
        ".claude/projects/-work/{}.jsonl",
        ".claude/projects/-work/{}/subagents/agent-1.jsonl",
        ".claude/session-env/{}/x",
    ),
    "codex": (
        ".codex/sessions/2026/11/29/rollout-2026-11-29T23-39-13-{}.jsonl",
        ".codex/sessions/2026/11/29/rollout-2026-11-29T23-39-13-{}_" + OTHER[:8] + ".jsonl",
    ),
    "gemini": (
        ".gemini/tmp/files/chats/session-2026-11-29T23-38-{:.8}.jsonl",
        ".gemini/tmp/files/tool-outputs/session-{}/1.txt",
    ),
    "qwen": (".qwen/projects/-work/chats/{}.jsonl", ".qwen/projects/-work/subagents/{}/a.jsonl"),
    "copilot": (".copilot/session-state/{}/events.jsonl",),
}


@pytest.fixture
def paths(tmp_path: Path) -> GroupPaths:
    return GroupPaths(tmp_path / "scout")


def erase(paths: GroupPaths, client: str, kept: Traces | None = None) -> tuple[str, ...]:
    found = traces.find(paths, client, kept or CLIENTS[client].traces, [SESSION], [])
    return traces.remove(paths, client, found)


def files(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())


def test_an_agent_in_python_begins_a_new_session(paths: GroupPaths) -> None:
    """It does not go on in an erased one; other threads' sessions go on."""
    folder = paths.client("langchain") / ".local/state/pannier/sessions"
    folder.mkdir(parents=True)
    (folder / "main").write_text(f"{SESSION}\n")
    (folder / "other").write_text(f"{OTHER}\n")
    assert erase(paths, "langchain") == ()
    assert [file.name for file in folder.iterdir()] == ["other"]


@pytest.mark.parametrize("client", LAID_DOWN)
def test_a_sessions_files_go_and_those_of_others_stay(paths: GroupPaths, client: str) -> None:
    """Where each client lays them down."""
    home = paths.client(client)
    for session in (SESSION, OTHER):
        for pattern in LAID_DOWN[client]:
            file = home / pattern.format(session)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x")
    assert erase(paths, client) == ()
    assert files(home) == sorted(pattern.format(OTHER) for pattern in LAID_DOWN[client])


entries = st.lists(
    st.fixed_dictionaries({"of": st.sampled_from([SESSION, OTHER]), "text": st.text(max_size=9)})
    | st.sampled_from([SESSION, {"text": SESSION}, {"of": [SESSION]}, None, 7]),
    max_size=8,
)


@given(entries, st.booleans())
def test_lists_lose_the_sessions_entries_alone(
    tmp_path_factory: pytest.TempPathFactory, found: list[object], as_lines: bool
) -> None:
    """As JSON Lines, whose other lines stay byte for byte, or as one list."""
    paths = GroupPaths(tmp_path_factory.mktemp("group") / "scout")
    file = paths.client("x") / "list"
    file.parent.mkdir(parents=True)
    lines = [json.dumps(one) for one in found]
    file.write_text("".join(f"{one}\n" for one in lines) if as_lines else json.dumps(found))
    assert erase(paths, "x", Traces(entries={"list": "of"})) == ()
    left = [one for one in found if not (isinstance(one, dict) and one.get("of") == SESSION)]
    if as_lines:
        assert file.read_text() == "".join(f"{json.dumps(one)}\n" for one in left)
    else:
        assert json.loads(file.read_text()) == left


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[", b"{", b"[" * 100_000, SESSION.encode()])
def test_a_list_that_cannot_be_read_stays(paths: GroupPaths, data: bytes) -> None:
    """It is the client's, and somebody may yet mend it."""
    file = paths.client("x") / "list"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    assert erase(paths, "x", Traces(entries={"list": "of"})) == ()
    assert file.read_bytes() == data


def test_odd_things_in_the_way_are_passed_over(paths: GroupPaths) -> None:
    """Pipes are not waited for, and a folder may bear the name of a transcript."""
    home = paths.client("claude")
    project = home / ".claude" / "projects" / "-work"
    project.mkdir(parents=True)
    os.mkfifo(project / f"{SESSION}.jsonl")
    os.mkfifo(home / ".claude" / "history.jsonl")
    (project / SESSION).mkdir()
    (project / SESSION / "deep").mkdir()
    assert erase(paths, "claude") == ()
    assert list(project.iterdir()) == []
    assert (home / ".claude" / "history.jsonl").is_fifo()


def test_what_cannot_be_removed_is_told(paths: GroupPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its reason; the rest is removed all the same."""
    project = paths.client("claude") / ".claude" / "projects" / "-work"
    (project / SESSION).mkdir(parents=True)
    (project / f"{SESSION}.jsonl").write_text("x")

    def refuse(*args: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied", "x")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        kept = erase(paths, "claude")
    assert kept == (f".claude/projects/-work/{SESSION}.jsonl: Permission denied",)
    assert not (project / SESSION).exists()


def test_a_client_without_a_home_has_no_traces(paths: GroupPaths) -> None:
    """Nothing is made by looking."""
    found = traces.find(paths, "claude", CLIENTS["claude"].traces, [SESSION], [])
    assert found == traces.Found()
    assert traces.remove(paths, "claude", found) == ()
    assert not paths.root.exists()

"""The hook on each Python, from 3.9 on, that this machine has."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from pannier_hook.spill import spilled_in
from pannier_hook.unframing import read_back

from .conftest import World

VERSIONS = [f"3.{minor}" for minor in range(9, 14)]


@cache
def interpreters() -> dict[str, Path]:
    """By version: on PATH, and where version managers and distributions put them."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    folders = [
        *home.glob(".pyenv/versions/*/bin"),
        *home.glob(".local/share/uv/python/*/bin"),
        *Path("/opt").glob("*/bin"),
        Path("/usr/local/bin"),
        Path("/usr/bin"),
    ]
    found: dict[str, Path] = {}
    for version in VERSIONS:
        name = f"python{version}"
        on_path = shutil.which(name)
        for candidate in [*([Path(on_path)] if on_path else []), *(at / name for at in folders)]:
            if version not in found and candidate.exists() and answers(candidate, version):
                found[version] = candidate
    return found


def answers(python: Path, version: str) -> bool:
    """Whether it is that Python: a version manager's shim may be there and start nothing."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-IS", "-c", code], capture_output=True, text=True)
    return done.stdout.strip() == version


@pytest.fixture(params=VERSIONS)
def old_world(world: World, request: pytest.FixtureRequest) -> World:
    python = interpreters().get(request.param)
    if python is None:
        pytest.skip(f"this machine has no Python {request.param}")
    world.python = python
    return world


def test_events(old_world: World) -> None:
    """Fresh contexts get the memory, others nothing, in each client's protocol."""
    old_world.write("memory/index.md", "🙂 é\r\n\x00\udcff".encode("utf-8", "surrogateescape"))
    back = read_back(old_world.start("claude", "startup", "--part", "1/8").context)
    assert back.complete
    assert back.files[0].text == "🙂 é\n\ufffd"
    assert old_world.start("claude", "startup", "--part", "8/8").out == b""
    assert old_world.start("claude", "resume").out == b""
    assert read_back(old_world.start("codex", "compact").context).complete
    assert old_world.start("gemini").out == b""
    told: dict[str, object] = {"session_id": "s-1", "prompt": "x" * (2 << 20)}
    prompt = old_world.run("user-prompt", "--client", "gemini", stdin=told)
    assert read_back(prompt.context).complete
    assert read_back(old_world.start("custom").out.decode()).complete


def test_hand_over(old_world: World) -> None:
    """What happens is told, and what is new in a transcript goes along."""
    log = old_world.home / "projects" / "s-1.jsonl"
    inner = log.with_suffix("") / "subagents" / "agent-a.jsonl"
    inner.parent.mkdir(parents=True)
    inner.write_text("inner\n")
    log.write_text("é\n" * 5_000_000)
    told: dict[str, object] = {"session_id": "s-1", "transcript_path": str(log)}
    for event in ("session-start", "user-prompt", "stop", "session-end"):
        answer = old_world.run(event, "--client", "claude", stdin={"source": "fork", **told})
        assert (answer.status, answer.out, answer.err, answer.errors) == (0, b"", "", [])
    old_world.run("post-tool", "--client", "qwen", stdin={"tool_input": {"a": 1}, **told})
    found = [event for _, event in old_world.events()]
    assert [event.kind for event in found if event.part[0] == 1] == [
        "session-start",
        "user-prompt",
        "records",
        "stop",
        "session-end",
        "post-tool",
    ]
    assert b"".join(e.body for e in found if e.kind == "stop") == log.read_bytes()
    assert found[-1].details["input"] == '{"a": 1}'


def test_a_large_result(old_world: World) -> None:
    """It goes into a file, whatever stands in it; a summary is told where."""
    output = 'é🙂\t\x01"\\\n' * 20_000
    told: dict[str, object] = {"tool_name": "x", "tool_response": {"a": [1.5, None], "b": output}}
    settings = '{"spill_buffer": {"thresholds": {"x": 4000}}}'
    answer = old_world.run("post-tool", "--client", "claude", stdin=told, PANNIER_CONTEXT=settings)
    assert (answer.status, answer.err, answer.errors) == (0, "", [])
    new = json.loads(answer.out)["hookSpecificOutput"]["updatedToolOutput"]
    found = spilled_in(new["b"])
    assert found
    assert Path(found[0]).read_bytes() == output.encode()
    assert new["a"] == [1.5, None]
    assert found[0].encode() in old_world.run("pre-compact", "--client", "claude", stdin={}).out


@pytest.mark.parametrize(
    "stdin",
    [b"", b"[" * 500_000, b'{"a":' * 200_000, b'{"source": "start', b'"\\x', b"9" * 1_000_000],
    ids=lambda data: repr(data[:12]),
)
def test_malformed_input(old_world: World, stdin: bytes) -> None:
    """What is no JSON, or too deep, prints nothing, exits 0 and is told."""
    answer = old_world.run("session-start", "--client", "claude", stdin=stdin)
    assert (answer.status, answer.out, len(answer.errors)) == (0, b"", 1)


def test_boot(old_world: World) -> None:
    """Boot makes the scaffold and becomes the command."""
    shutil.rmtree(old_world.root / "memory")
    answer = old_world.run("boot", "--", "echo", "started")
    assert (answer.status, answer.out, answer.errors) == (0, b"started\n", [])
    assert (old_world.root / "memory/system/definition.md").is_file()

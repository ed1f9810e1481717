"""What the hook prints at a session start."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from pannier_hook.clients import CLIENTS
from pannier_hook.unframing import read_back

from .conftest import HOOK, World

FRESH = ["startup", "clear", "compact", "new"]
NOT_FRESH = ["resume", "fork"]
NESTED = ["claude", "codex"]


@pytest.mark.parametrize("source", FRESH)
@pytest.mark.parametrize("client", NESTED)
def test_fresh_context_gets_memory(world: World, client: str, source: str) -> None:
    """A fresh context gets index and definition whole, and not the system's index."""
    answer = world.start(client, source)
    back = read_back(answer.context)
    assert answer.status == 0
    assert back.complete
    assert {file.path: file.text for file in back.files} == {
        "memory/index.md": (world.root / "memory/index.md").read_text(),
        "memory/system/definition.md": (world.root / "memory/system/definition.md").read_text(),
    }
    assert "never injected" not in answer.context
    assert json.loads(answer.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"


@pytest.mark.parametrize(
    ("client", "source"),
    [(c.name, source) for c in CLIENTS.values() for source in NOT_FRESH if source not in c.fresh],
)
def test_context_that_holds_memory_gets_nothing(world: World, client: str, source: str) -> None:
    """On resume and fork nothing is printed, and nothing is wrong."""
    answer = world.start(client, source)
    assert (answer.status, answer.out, answer.errors) == (0, b"", [])


@pytest.mark.parametrize("source", [*FRESH, "resume", "branch"])
def test_qwen_is_told_at_each_session_start(world: World, source: str) -> None:
    """Qwen Code has the memory in a system prompt that each session start makes anew: it gets it
    there on resume and in a branch, too."""
    assert read_back(world.start("qwen", source).context).complete


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00binary\x00" * 50,
        b'{"source": "startup"',
        b'{"source": "startup"} {"source": "startup"}',
        b'{"source": 1}',
        b'{"source": null}',
        b'{"source": ["startup"]}',
        b'["startup"]',
        b'"startup"',
        b"null",
        b'{"source": "restart"}',
        b'{"source": "Startup"}',
        b'{"source": "\\ud800"}',
        b'{"cwd": "\xff", "source": "startup"}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b',"source":"restart"}',
        b'{"a": ' + b"9" * 900_000 + b', "source": "restart"}',
        b'{"pad": "' + b"x" * (1 << 20) + b'", "source": "startup"}',
    ],
    ids=lambda data: repr(data[:24]),
)
@pytest.mark.parametrize("client", list(CLIENTS))
def test_input_that_is_not_understood(world: World, client: str, stdin: bytes) -> None:
    """Unknown sources and malformed input print nothing, exit 0, and leave a word in the spool."""
    answer = world.run("session-start", "--client", client, stdin=stdin)
    assert (answer.status, answer.out) == (0, b"")
    assert len(answer.errors) == 1
    assert "Traceback" not in answer.err


def test_custom_prints_plain_text(world: World) -> None:
    """A client of one's own gets the block itself, under the same rules for sources."""
    answer = world.start("custom")
    assert answer.out.startswith(b"-----BEGIN PANNIER MEMORY ")
    assert read_back(answer.out.decode()).complete
    named = world.run("session-start", "--client", "custom", "--source", "compact")
    assert read_back(named.out.decode()).complete
    assert world.run("session-start", "--client=custom", "--source=resume").out == b""


def test_learned_notes_come_when_there_are_some(world: World) -> None:
    """The summary is delivered as learned, read-only notes; without one nobody misses it."""
    assert "agent-memory/summary.md" not in world.start("claude").context
    world.write("agent-memory/summary.md", "Dana is on leave.\n")
    text = world.start("claude").context
    assert {file.path for file in read_back(text).files} >= {"agent-memory/summary.md"}
    (line,) = [line for line in text.splitlines() if "file agent-memory/summary.md" in line]
    assert "learned" in line
    assert "read-only" in line


def test_block_says_what_it_is(world: World) -> None:
    """Within 2,000 characters: what it is, that it is data, who goes first, where files lie."""
    world.write("memory/index.md", "# Memory\n\n" + "fact\n" * 3_000)
    text = world.start("claude", "startup", "--part", "1/8").context[:2_000]
    for words in ("data", "not a request", "What a person says now", "authoritative", "# Memory"):
        assert words in " ".join(text.split()), words
    assert str(world.root) in text


def test_edits_arrive_with_the_next_fresh_context(world: World) -> None:
    """What was edited on the host is what the next fresh context gets."""
    world.write("memory/index.md", "Atlas releases on Tuesdays.\n")
    assert "Tuesdays" in world.start("claude", "startup").context
    world.write("memory/index.md", "Atlas releases on Thursdays.\n")
    text = world.start("claude", "clear").context
    assert "Thursdays" in text
    assert "Tuesdays" not in text


@pytest.mark.parametrize("part", ["0/8", "9/8", "1", "a/b", "1/100", "-1/8", "1/8/8"])
def test_wrong_part(world: World, part: str) -> None:
    """A part that cannot be is reported, and nothing is printed."""
    answer = world.start("claude", "startup", "--part", part)
    assert (answer.status, answer.out) == (0, b"")
    assert "--part" in answer.errors[0]


@pytest.mark.parametrize(
    "words",
    [
        ("session-start",),
        ("session-start", "--client", "nobody"),
        ("session-start", "--client"),
        ("session-start", "--client", "claude", "--colour"),
        ("no-such-event", "--client", "claude"),
        ("user-prompt", "--client", "claude", "--part", "x"),
    ],
)
def test_wrong_usage(world: World, words: tuple[str, ...]) -> None:
    """A wrong call exits 0, prints nothing, and says in one line what is wrong."""
    answer = world.run(*words, stdin={"source": "startup"})
    assert (answer.status, answer.out) == (0, b"")
    assert len(answer.errors) == 1
    assert answer.err.count("\n") == 1


def test_root_and_spool_from_the_environment(world: World) -> None:
    """PANNIER_ROOT and PANNIER_SPOOL name the places when the command line does not."""
    env = world.environment(PANNIER_ROOT=str(world.root), PANNIER_SPOOL=str(world.spool))
    command = [str(world.python), "-IS", str(HOOK), "session-start", "--client", "custom"]
    done = subprocess.run([*command, "--source", "startup"], capture_output=True, env=env)
    assert read_back(done.stdout.decode()).complete
    subprocess.run(command, input=b"?", capture_output=True, env=env)
    assert len(world.errors()) == 1


def test_runs_as_it_lies(world: World, tmp_path: Path) -> None:
    """The file in the checkout is a command, also through links and from another folder."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.symlink_to(os.path.relpath(HOOK, tmp_path))
    second.symlink_to(first)
    done = subprocess.run([second, "--version"], capture_output=True, cwd="/", check=True)
    assert done.stdout == b"0.1.0\n"


@pytest.mark.parametrize("broken", ["memory", "root"])
def test_missing_places_are_named(world: World, broken: str) -> None:
    """Without memory or root the model is told so, and nothing fails."""
    (world.root / "memory").rename(world.root / "elsewhere")
    if broken == "root":
        world.root.rename(world.root.with_name("gone"))
    answer = world.start("claude")
    files = read_back(answer.context).files
    assert answer.status == 0
    assert [file.unavailable is not None for file in files] == [True, True]


def test_open_input_hangs_nothing(world: World) -> None:
    """A client that never closes its end, silent or not, waits less than 2 s for an answer."""
    for sent, printed in ((b'{"source": "startup"}', True), (b'{"source": ', False), (b"", False)):
        started = time.monotonic()
        process = subprocess.Popen(
            world.command("session-start", "--client", "codex"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=world.environment(),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        out = process.stdout.read()
        assert process.wait(timeout=10) == 0
        assert time.monotonic() - started < 2.5
        assert bool(out) is printed
        assert any("in time" in text for text in world.errors()) is not printed
        process.stdin.close()
        process.stdout.close()


def test_endless_input_hangs_nothing(world: World) -> None:
    """An input without an end is cut at its limit."""
    with Path("/dev/zero").open("rb") as zero:
        done = subprocess.run(
            world.command("session-start", "--client", "claude"),
            stdin=zero,
            capture_output=True,
            timeout=5,
            env=world.environment(),
        )
    assert (done.returncode, done.stdout) == (0, b"")


def test_nobody_reads_the_answer(world: World) -> None:
    """An answer that nobody takes ends the hook in time, with exit 0."""
    world.write("memory/index.md", "fact\n" * 3_000)
    world.write("memory/system/definition.md", "世" * 16_000)
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    process = subprocess.Popen(
        world.command("session-start", "--client", "codex", "--source", "startup"),
        stdin=subprocess.DEVNULL,
        stdout=theirs.fileno(),
        stderr=subprocess.DEVNULL,
        env=world.environment(),
    )
    assert process.wait(timeout=5) == 0
    theirs.close()
    ours.close()
    assert any("gave up" in text for text in world.errors())


def test_closed_output_and_input(world: World) -> None:
    """Closed standard streams are no reason to fail."""
    words = world.command("session-start", "--client", "claude")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| true"):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f'"$@" {closed}', "-", *words],
            input=b'{"source": "startup"}',
            capture_output=True,
            timeout=10,
            env=world.environment(),
        )
        assert done.returncode == 0, closed


def test_broken_installation(world: World, tmp_path: Path) -> None:
    """A hook whose package is gone or broken still exits 0 and prints nothing."""
    copy = tmp_path / "lib" / "bin" / "pannier-hook"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(HOOK.read_bytes())
    command = [str(world.python), "-IS", str(copy), "session-start", "--client", "claude"]
    done = subprocess.run(command, input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    package = tmp_path / "lib" / "pannier_hook"
    package.mkdir()
    (package / "__init__.py").write_text("this is no Python")
    done = subprocess.run(command, input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1


def test_no_child_no_network(world: World) -> None:
    """The hook starts no process and opens no socket, and writes only the event into the spool."""
    strace = ["strace", "-f", "-e", "trace=execve,fork,vfork,clone,clone3,socket,connect"]
    if subprocess.run(["sh", "-c", "command -v strace"], capture_output=True).returncode:
        pytest.skip("there is no strace on this machine")
    command = world.command("session-start", "--client", "claude", "--source", "startup")
    done = subprocess.run(
        [*strace, *command], capture_output=True, stdin=subprocess.DEVNULL, text=True
    )
    calls = [line for line in done.stderr.splitlines() if "(" in line and "exited" not in line]
    assert [line.split("(")[0] for line in calls] == ["execve"]
    assert list(world.home.iterdir()) == list(world.spool.glob("tmp/*")) == []
    assert [event.kind for _, event in world.events()] == ["session-start"]


def test_needs_no_writable_home(world: World) -> None:
    """Without HOME, environment and spool the memory is delivered all the same."""
    command = world.command("session-start", "--client", "claude", "--source", "startup")
    command[command.index("--spool") + 1] = "/nonexistent/spool"
    done = subprocess.run(command, capture_output=True, env={}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert b"BEGIN PANNIER MEMORY" in done.stdout

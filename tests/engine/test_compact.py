"""Compaction without a person, in real containers: the daemon's, and `pannier compact`."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pannier import compacting
from pannier.clients.transcript import Message, Reading, TurnBegins, TurnEnds
from pannier.compacting import Compactor
from pannier.engine import Engine
from pannier.engine.images import Progress
from pannier.errors import PannierError
from pannier.starting import Starter
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event
from tests.engine.fake import image_with
from tests.engine.person import Person
from tests.engine.test_serve import Daemon

pytestmark = pytest.mark.timeout(180)

# Keeps a transcript as Claude Code does, and says with what it was started; files of the group tell
# whether it waits, and with which status it ends.
CLIENT = """#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys, time
files = pathlib.Path("/workspace/agent/files")
print("thread", os.environ["PANNIER_THREAD"], "words", *sys.argv[1:], flush=True)
with (files / "begun").open("a") as begun:
    print(os.environ["PANNIER_THREAD"], *sys.argv[1:], file=begun)
while (files / "wait").exists():
    time.sleep(0.05)
if (files / "status").exists():
    print("API Error: 401")
    sys.exit(int((files / "status").read_text()))
session = sys.argv[sys.argv.index("--resume") + 1]
log = pathlib.Path.home() / f".claude/projects/files/{session}.jsonl"
log.parent.mkdir(parents=True, exist_ok=True)
if sys.argv[2] == "/compact":
    said = {"role": "user", "content": "They spoke of kettles."}
    record = {"type": "user", "uuid": f"sum-{os.getpid()}-{time.time()}", "message": said}
    with log.open("a") as file:
        print(json.dumps({**record, "isCompactSummary": True}), file=file)
    told = {"session_id": session, "transcript_path": str(log)}
    command = ["pannier-hook", "session-end", "--client", "claude"]
    subprocess.run(command, input=json.dumps(told), text=True, check=True)
"""
SESSION = "5e551011"
WISH = "context: {compaction: {idle_after: 12h, min_messages: 2}}\n"


@pytest.fixture(scope="module")
def fake(image: str) -> Iterator[str]:
    """Claude Code's image with another program in the place of Claude Code."""
    with image_with(CLIENT, image, "pannier-test-compact") as tag:
        yield tag


@pytest.fixture
def scout(person: Person, fake: str) -> Person:
    """A home whose group scout has that client, and a thread in which somebody spoke yesterday."""
    with (person.group("scout") / "group.yaml").open("a") as settings:
        settings.write(f"image: {fake}\n{WISH}")
    at = time.time_ns() - 24 * 3600 * 10**9
    turn = (
        TurnBegins("t", at),
        Message("q", "person", "text", "Is the kettle on?", at),
        Message("a", "agent", "text", "It is.", at),
        TurnEnds("succeeded", at),
    )
    event = Event("stop", id="0" * 16, at=at, client="claude", session=SESSION, thread="tea")
    with open_store(threads_file(person.home, {}), write=True) as store:
        store.apply("scout", event, Reading(turn))
    return person


@pytest.fixture
def daemon(scout: Person) -> Iterator[Daemon]:
    daemon = Daemon(scout)
    yield daemon
    daemon.end()


def outcome(daemon: Daemon) -> tuple[str, str]:
    """How a compaction ended, and what is said of it."""
    assert daemon.process.stdout is not None
    for line in daemon.process.stdout:
        told = json.loads(line)
        if told["event"] in ("compaction.done", "compaction.failed"):
            return told["event"], told["message"]
    raise AssertionError("the daemon ended")


def begun(person: Person) -> list[str]:
    """The threads and words that the client was started with."""
    file = person.group("scout") / "files/begun"
    return file.read_text().splitlines() if file.exists() else []


def summaries(person: Person) -> int:
    with open_store(threads_file(person.home, {})) as store:
        messages = store.messages(store.find_thread("scout/tea").id)
    return sum(message.kind == "compaction" for message in messages)


def until(reached: object) -> None:
    """Wait, a minute at most, until `reached()` holds."""
    assert callable(reached)
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def at_work(person: Person) -> Iterator[Path]:
    """Clients that begin wait for the end of the block."""
    wait = person.group("scout") / "files/wait"
    wait.touch()
    try:
        yield wait
    finally:
        wait.unlink(missing_ok=True)


COMPACT = f"tea -p /compact --resume {SESSION}"


@pytest.mark.parametrize("up", [False, True], ids=["a container of its own", "one that idles"])
def test_the_daemon_compacts_an_idle_thread(scout: Person, up: bool) -> None:
    """In its session, once; nothing is left of it, and the container that was up stays."""
    if up:
        scout.pannier("up", "scout")
    before = scout.pannier("ps", "--json")
    daemon = Daemon(scout)
    try:
        assert "tea, in which nothing was said for 24" in daemon.wait_for("compaction.started")
        assert outcome(daemon) == ("compaction.done", "compacted tea")
        assert begun(scout) == [COMPACT]
        assert summaries(scout) == 1
        assert "could not" not in scout.pannier("status", check=False)
    finally:
        daemon.end()
    assert scout.pannier("ps", "--json").count('"id"') == before.count('"id"')


def test_a_failure_is_said(scout: Person, daemon: Daemon) -> None:
    """In the log, by status and by doctor, with the last words of the client."""
    (scout.group("scout") / "files/status").write_text("1")
    event, told = outcome(daemon)
    assert event == "compaction.failed"
    assert "Claude Code ended with status 1; it said: API Error: 401" in told
    for command in ("status", "doctor"):
        assert "API Error: 401" in scout.pannier(command, check=False)


def test_a_daemon_that_is_killed_in_the_middle(scout: Person) -> None:
    """What it began goes on to its end; the next one neither begins it a second time nor then."""
    with at_work(scout):
        first = Daemon(scout)
        first.wait_for("compaction.started")
        until(lambda: begun(scout))
        first.end()
        second = Daemon(scout)
        second.wait_for("serve.started")
        until(lambda: '"running": true' in scout.pannier("status", "--json", check=False))
    try:
        until(lambda: summaries(scout) == 1)
        until(lambda: scout.pannier("ps", "--json") == "[]\n")
    finally:
        second.process.terminate()
        assert second.process.stdout is not None
        said = second.process.stdout.read()
        second.end()
    assert "compaction." not in said
    assert begun(scout) == [COMPACT]


def test_a_message_that_is_to_start_the_client_waits_for_the_end(scout: Person) -> None:
    """A client that summarizes takes none; afterwards it is started with it."""
    with at_work(scout) as wait:
        argv = scout.argv("compact", "scout", "--thread", "tea")
        with subprocess.Popen(argv, cwd=scout.root, env=scout.environ, text=True) as compacts:
            until(lambda: begun(scout))
            argv = scout.argv("send", "scout", "Hello.", "--thread", "tea", "--start")
            with subprocess.Popen(
                argv, cwd=scout.root, env=scout.environ, stderr=subprocess.PIPE, text=True
            ) as sends:
                assert sends.stderr is not None
                assert "is being compacted" in sends.stderr.readline()
                assert len(begun(scout)) == 1
                wait.unlink()
                assert compacts.wait(60) == 0
                sends.communicate(timeout=60)
                assert sends.returncode == 0
    first, second = begun(scout)[0], "".join(begun(scout)[1:])
    assert first == COMPACT
    assert "Hello." in second
    assert f"--resume {SESSION}" in second


def test_nobody_is_disturbed(scout: Person) -> None:
    """Where somebody is in the thread, it is said, and nothing is started."""
    with at_work(scout):
        argv = scout.argv("run", "scout", "--thread", "tea", "--", "--resume", SESSION)
        with subprocess.Popen(
            argv, cwd=scout.root, env=scout.environ, stdout=subprocess.DEVNULL
        ) as somebody:
            until(lambda: begun(scout))
            done = scout.run("compact", "scout", "--thread", "tea")
            assert (done.returncode, done.stdout) == (1, "")
            assert "somebody is at work on scout/tea" in done.stderr
            (scout.group("scout") / "files/wait").unlink()
            somebody.wait(60)
    assert len(begun(scout)) == 1


def test_a_client_that_hangs_is_ended(
    scout: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a program beside it in the container, whatever becomes of the sidecar."""
    monkeypatch.setattr(compacting, "LIMIT", 1)
    environ = {**os.environ, **scout.environ}
    compactor = Compactor(Starter(engine, scout.home, environ, "scout", "tea"))

    @contextmanager
    def building() -> Iterator[Progress]:
        yield lambda _tag, _line: None

    with at_work(scout), pytest.raises(PannierError, match="did not compact scout/tea within"):
        compactor.run(print, building)
    assert engine.containers(str(scout.root), "scout") == []


def test_what_is_compacted_already(scout: Person) -> None:
    """A second time at once, that is said, and no client is started."""
    scout.pannier("compact", "scout", "--thread", "tea")
    done = scout.run("compact", "scout", "--thread", "tea")
    assert (done.returncode, done.stdout, begun(scout)) == (1, "", [COMPACT])
    assert "nothing was said in scout/tea since its last summary" in done.stderr


def test_what_would_be_compacted(scout: Person) -> None:
    """Said by --dry-run, which starts nothing; and why it cannot be."""
    said = scout.pannier("compact", "scout", "--thread", "tea", "--dry-run")
    assert f"Would compact session {SESSION} of Claude Code, in a container of its own." in said
    done = scout.run("compact", "scout")
    assert (done.returncode, begun(scout)) == (2, [])
    assert "nothing was said in scout/main yet" in done.stderr

"""`pannier send --start`: the client runs without a person, with what waits as its prompt."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.engine.fake import image_with
from tests.engine.person import Person

# Says what it was started with, to the spool, too; a file of the group tells how it ends and when.
CLIENT = """#!/bin/sh
trap 'exit 0' TERM INT HUP  # As Gemini CLI does.
echo "thread $PANNIER_THREAD"
for word in "$@"; do echo "word $word"; done
for prompt in "$@"; do :; done
python3 -c 'import json, sys; print(json.dumps({"session_id": "s", "prompt": sys.argv[1]}))' \
    "$prompt" | pannier-hook user-prompt --client custom
while [ -e /workspace/agent/files/wait ]; do sleep 0.05; done
exit "$(cat /workspace/agent/files/status 2>/dev/null || echo 0)"
"""


@pytest.fixture(scope="module")
def fake(image: str) -> Iterator[str]:
    """Claude Code's image with another program in the place of Claude Code."""
    with image_with(CLIENT, image, "pannier-test-send") as tag:
        yield tag


@pytest.fixture
def scout(person: Person, fake: str) -> Person:
    """A home whose group scout has that client."""
    with (person.group("scout") / "group.yaml").open("a") as settings:
        settings.write(f"image: {fake}\n")
    return person


def waiting(person: Person) -> int:
    return person.pannier("queue", "scout", "--json").count('"id"')


@contextmanager
def at_work(person: Person, *command: str) -> Iterator[None]:
    """A command whose client works until the end of the block."""
    wait = person.group("scout") / "files/wait"
    wait.touch()
    argv = person.argv(*command)
    with subprocess.Popen(
        argv, cwd=person.root, env=person.environ, stdout=subprocess.PIPE, text=True
    ) as client:
        try:
            assert client.stdout is not None
            assert client.stdout.readline().startswith("thread ")
            yield
        finally:
            wait.unlink()
            client.communicate(timeout=60)


def test_the_client_is_started_with_the_message(scout: Person) -> None:
    """Its prompt is what waits for the thread, in order; afterwards nothing waits."""
    scout.pannier("send", "scout", "first", "--thread", "planning")
    scout.pannier("send", "scout", "of another thread")
    done = scout.run("send", "scout", "second", "--thread", "planning", "--start")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("thread planning\nword -p\nword ")
    assert done.stdout.index("first") < done.stdout.index("second")
    assert "another thread" not in done.stdout
    assert waiting(scout) == 1
    assert scout.pannier("ps", "--json") == "[]\n"


def test_what_a_failed_client_was_told_waits_again(scout: Person) -> None:
    """The status is the client's own, and the message is delivered later."""
    (scout.group("scout") / "files/status").write_text("3")
    done = scout.run("send", "scout", "hello", "--start")
    assert done.returncode == 3
    assert "waits again" in done.stderr
    assert waiting(scout) == 1
    # As the daemon does: what the spool says of the prompt is taken in.
    scout.pannier("send", "scout", "x", "--start", "--dry-run")
    assert "hello" in scout.pannier("threads", "show", "scout")
    assert waiting(scout) == 1
    (scout.group("scout") / "files/status").unlink()
    done = scout.run("send", "scout", "once more", "--start")
    assert done.returncode == 0
    assert done.stdout.index("hello") < done.stdout.index("once more")
    assert waiting(scout) == 0


def test_an_agent_at_work_is_not_started_twice(scout: Person) -> None:
    """The message is queued for the one that works; another thread has a client of its own."""
    with at_work(scout, "run", "scout"):
        done = scout.run("send", "scout", "hello", "--start")
        assert done.returncode == 0
        assert "at work" in done.stderr
        assert waiting(scout) == 1
        look = scout.pannier("send", "scout", "x", "--thread", "other", "--start", "--dry-run")
        assert "Would start Claude Code with it, in a container of its own" in look


def test_a_container_that_idles_is_used(scout: Person) -> None:
    """A group that is kept up starts the client there, unless it works there for this thread."""
    scout.pannier("up", "scout")
    done = scout.run("send", "scout", "hello", "--start", "--thread", "planning")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("thread planning\nword -p\n")
    assert waiting(scout) == 0
    with at_work(scout, "exec", "scout", "--thread", "planning"):
        done = scout.run("send", "scout", "again", "--start", "--thread", "planning")
        assert "at work" in done.stderr
        assert waiting(scout) == 1
        name = scout.pannier("ps").splitlines()[1].split()[0]
        look = scout.pannier("send", "scout", "x", "--start", "--dry-run")
        assert f"Would start Claude Code with it, in {name}" in look


def test_two_senders_at_once_start_one_client_after_the_other(scout: Person) -> None:
    """What the second one sends while the client works is told when it is done."""
    wait = scout.group("scout") / "files/wait"
    wait.touch()
    argv = scout.argv("send", "scout", "first", "--start")
    with subprocess.Popen(
        argv, cwd=scout.root, env=scout.environ, stdout=subprocess.PIPE, text=True
    ) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "thread main\n"
        second = scout.run("send", "scout", "second", "--start")
        assert (second.returncode, second.stdout) == (0, "")
        assert "at work" in second.stderr
        wait.unlink()
        # Not `communicate`: with a time limit it forgets what `readline` has read ahead.
        said = sender.stdout.read()
    assert said.index("first") < said.index("thread main") < said.index("second")
    assert waiting(scout) == 0


@pytest.mark.parametrize("inside", [False, True], ids=["run", "exec"])
def test_who_is_told_to_end_while_the_client_works_loses_nothing(
    scout: Person, inside: bool
) -> None:
    """Also when the client then ends as if all were well."""
    if inside:
        scout.pannier("up", "scout")
    (scout.group("scout") / "files/wait").touch()
    argv = scout.argv("send", "scout", "hello", "--start")
    with subprocess.Popen(
        argv, cwd=scout.root, env=scout.environ, stdout=subprocess.PIPE, stderr=-1, text=True
    ) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "thread main\n"
        sender.terminate()
        _, errors = sender.communicate(timeout=60)
    assert sender.returncode == 128 + 15, errors
    assert "waits again" in errors
    assert waiting(scout) == 1


def test_who_is_killed_while_the_client_works_loses_nothing(scout: Person) -> None:
    """The message waits again as soon as anybody looks."""
    wait = scout.group("scout") / "files/wait"
    wait.touch()
    argv = scout.argv("send", "scout", "hello", "--start")
    with subprocess.Popen(
        argv, cwd=scout.root, env=scout.environ, stdout=subprocess.PIPE, text=True
    ) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "thread main\n"
        assert "being told" in scout.pannier("queue", "scout")
        sender.kill()
    deadline = time.monotonic() + 20
    while "in the inbox" not in scout.pannier("queue", "scout"):
        assert time.monotonic() < deadline
    wait.unlink()

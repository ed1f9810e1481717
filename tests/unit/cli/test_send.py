"""`pannier send` and `pannier queue` as a person meets them, without an engine in reach."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pannier_hook import inbox
from pannier_hook.inbox import split_messages
from pannier_hook.options import Options


def pannier(
    *args: str, cwd: Path, stdin: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DOCKER_HOST": f"unix://{cwd}/no-engine.sock", "USER": "ada", **environ}
    return subprocess.run(
        [sys.executable, "-m", "pannier", *args],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the group scout."""
    assert pannier("init", cwd=tmp_path).returncode == 0
    assert pannier("group", "add", "scout", cwd=tmp_path).returncode == 0
    return tmp_path


def hear(home: Path, thread: str = "main") -> list[tuple[str, str, str]]:
    """What the hook would tell the agent: sender, source and text of each message."""
    spool = str(home / "groups/scout/spool")
    options = Options({"PANNIER_SPOOL": spool, "PANNIER_THREAD": thread})
    options.event = "user-prompt"
    taken = inbox.take(options)
    inbox.done(taken)
    pieces = [piece for piece in split_messages(taken.text) if piece.id]
    return [(piece.sender, piece.source, piece.body) for piece in pieces]


def test_a_message_is_in_the_inbox_at_once(home: Path) -> None:
    """No daemon and no engine are needed; the agent hears it, and then nothing waits."""
    first = pannier("send", "scout", "Good morning.", cwd=home)
    assert first.returncode == 0, first.stderr
    listed = json.loads(pannier("queue", "--json", cwd=home).stdout)
    assert [(one["id"], one["state"]) for one in listed] == [(first.stdout.strip(), "placed")]
    second = pannier(
        "send", "scout", "--from", "make", "--source", "ci", "-", cwd=home, stdin="a\nb\n"
    )
    assert second.returncode == 0
    assert hear(home) == [("ada", "pannier send", "Good morning."), ("make", "ci", "a\nb\n")]
    assert pannier("queue", "scout", cwd=home).stderr == "Nothing waits.\n"


def test_what_waits_can_be_seen_and_taken_back(home: Path) -> None:
    """Listed in order, with text that a terminal does not obey; withdrawn by its id."""
    pannier("send", "scout", "one \x1b[31mred", "--thread", "planning", cwd=home)
    made = json.loads(pannier("send", "scout", "two", "--json", cwd=home).stdout)
    table = pannier("queue", cwd=home).stdout.splitlines()
    assert [line.split()[1] for line in table[1:]] == ["scout/planning", "scout/main"]
    assert "\x1b" not in "".join(table)
    assert "in the inbox" in table[1]
    look = pannier("queue", "--withdraw", made["id"], "--dry-run", cwd=home)
    assert look.stdout == f"would withdraw {made['id']}\n"
    assert pannier("queue", "--withdraw", made["id"], cwd=home).returncode == 0
    again = pannier("queue", "--withdraw", made["id"], cwd=home)
    assert (again.returncode, again.stdout) == (2, "")
    assert hear(home) == []
    assert [text for _, _, text in hear(home, "planning")] == ["one [31mred"]


def test_a_dry_run_sends_nothing(home: Path) -> None:
    """It says what would be queued, and for whom."""
    said = pannier("send", "scout", "hello", "--dry-run", cwd=home)
    assert said.stdout == "Would queue 5 bytes for scout/main, from ada.\n"
    assert not (home / "state/queue.db").exists()
    assert hear(home) == []


def test_whoever_sends_is_named_without_a_login(home: Path) -> None:
    """As in a timer's job, where no variable says who it is."""
    pannier("send", "scout", "x", cwd=home, USER="", LOGNAME="")
    [waiting] = json.loads(pannier("queue", "--json", cwd=home).stdout)
    assert waiting["from"] == pwd.getpwuid(os.getuid()).pw_name
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+\+00:00", waiting["at"])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("nobody", "x"), "no group nobody"),
        (("scout", " "), "the message is empty"),
        (("scout", "x" * 65_537), "65,536 are the most"),
        (("scout", "x", "--thread", "../x"), "cannot name a thread"),
        (("scout", "x", "--thread", "y" * 1_000), f"{'y' * 60}…' cannot name a thread"),
        (("scout", "x", "--new-session"), "--new-session goes with --start"),
        (("scout", "x", "--start", "--json"), "--json does not go with --start"),
    ],
)
def test_what_cannot_be_sent_is_said_in_a_line(
    home: Path, args: tuple[str, ...], words: str
) -> None:
    """Wrong usage is status 2, and nothing is queued."""
    said = pannier("send", *args, cwd=home)
    assert said.returncode == 2
    assert words in said.stderr
    assert "Traceback" not in said.stderr
    assert not (home / "state/queue.db").exists()


def test_without_an_engine_start_queues_nothing(home: Path) -> None:
    """Who asks for an answer now learns that there is none, and can send without --start."""
    said = pannier("send", "scout", "--start", "x", cwd=home)
    assert said.returncode == 1
    assert not (home / "state/queue.db").exists()


def test_the_queue_lies_where_the_environment_says(home: Path, tmp_path: Path) -> None:
    """PANNIER_QUEUE_DB_PATH names another file."""
    path = tmp_path / "elsewhere/queue.db"
    assert pannier("send", "scout", "x", cwd=home, PANNIER_QUEUE_DB_PATH=str(path)).returncode == 0
    assert path.exists()
    assert path.stat().st_mode & 0o077 == 0
    assert not (home / "state/queue.db").exists()


def test_an_inbox_that_cannot_be_used_still_queues(home: Path) -> None:
    """The message is safe in the queue; what hinders it is said."""
    inbox_folder = home / "groups/scout/inbox"
    (inbox_folder / "new").symlink_to(home)
    said = pannier("send", "scout", "x", cwd=home)
    assert said.returncode == 0
    assert "Queued, but not laid into the inbox yet" in said.stderr
    (inbox_folder / "new").unlink()
    pannier("queue", cwd=home)
    assert [text for _, _, text in hear(home)] == ["x"]

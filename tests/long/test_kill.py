"""The daemon is killed again and again while agents write."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pannier import groups
from pannier.paths import Home
from pannier.serve import machine
from pannier.settings import GroupSettings
from pannier.threads.intake import take_in
from pannier.threads.store import open_store, threads_file

from .writers import HOOKS, Writer

KILLS = 200
LONGEST_LIFE = 0.5
CLIENTS = {"scout": "claude", "pilot": "claude", "guide": "qwen"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made, _ = groups.init(tmp_path / "agents", os.environ)
    for folder, client in CLIENTS.items():
        groups.add(made, folder, GroupSettings(client=client))
    return made


@contextmanager
def writing(home: Home) -> Iterator[list[Writer]]:
    # A copy, as in an image: what is edited in the checkout meanwhile does not matter.
    hooks = Path(shutil.copytree(HOOKS, home.root / "hooks"))
    writers = [Writer(home.group(folder).root, client, hooks) for folder, client in CLIENTS.items()]
    for writer in writers:
        writer.begin()
    try:
        yield writers
    finally:
        for writer in writers:
            writer.end()


def live_and_die(home: Home, seconds: float) -> None:
    """A daemon that is killed after so many seconds, wherever it is then."""
    child = os.fork()
    if child == 0:
        try:
            nowhere = {**os.environ, "DOCKER_HOST": f"unix://{home.root}/no.sock"}
            machine.serve(home, nowhere, lambda _event: None, every=0.05)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the daemon ended by itself"


def test_nothing_is_missing_and_nothing_double(home: Home) -> None:
    """SIGKILL at 200 random points while three groups write with the real hook."""
    chance = random.Random(os.environ.get("PANNIER_TEST_SEED", "4"))
    with writing(home) as writers:
        for _ in range(KILLS):
            live_and_die(home, chance.uniform(0.02, LONGEST_LIFE))
    while take_in(home, {}, patience=10).more:
        pass
    with open_store(threads_file(home, {})) as store:
        for writer in writers:
            thread = store.find_thread(writer.group.name)
            messages = store.messages(thread.id)
            said = [m.text for m in messages if m.kind == "text"]
            assert said == writer.said, f"{writer.group.name}: {_difference(said, writer.said)}"
            assert len(messages) == thread.messages, "a branch that nobody made"
            turns = store.turns(thread.id)
            assert Counter(turn.outcome for turn in turns) == {"succeeded": writer.turns}
            asked = store.search(f'"ask {writer.turns}"', writer.group.name)
            assert [m.text for m in asked] == [writer.said[-2]]
            assert not list((writer.group / "spool/new").iterdir())
            assert not (writer.group / "spool/rejected").exists()
        assert store.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert store.db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert min(writer.turns for writer in writers) > 20


def _difference(said: list[str], expected: list[str]) -> str:
    missing = Counter(expected) - Counter(said)
    more = Counter(said) - Counter(expected)
    return f"missing {list(missing)[:5]}, too much {list(more)[:5]}, of {len(expected)}"

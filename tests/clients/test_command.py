"""`pannier verify` at the terminal, with a real client."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pannier import clients, groups
from pannier.engine import Engine, images
from pannier.paths import Home
from pannier.settings import HomeSettings


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with the group scout. Named: each test has a HOME that knows of no home."""
    home = Home(folder / "command")
    monkeypatch.setenv("PANNIER_HOME", str(home.root))
    if not home.settings.exists():
        groups.init(home.root, os.environ)
        _pannier(home, "group", "add", "scout").check_returncode()
    return home


def _argv(home: Home, *argv: str) -> list[str]:
    return [sys.executable, "-m", "pannier", "--home", str(home.root), *argv]


def _pannier(home: Home, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _argv(home, *argv),
        cwd=home.root,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=300,
    )


def _nothing_left(engine: Engine, home: Home) -> None:
    assert engine.containers(str(home.root)) == []
    assert list((home.state / "verify").iterdir()) == []


def test_delivered(engine: Engine, home: Home) -> None:
    """With pannier's own image all is delivered: status 0, and nothing is left behind."""
    done = _pannier(home, "verify", "scout", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert list(report) == ["client", "events", "ok"]
    assert (report["client"], report["ok"]) == ("claude", True)
    assert [e["event"] for e in report["events"]] == list(clients.get("claude").events)
    _nothing_left(engine, home)


def test_hook_that_is_not_registered(engine: Engine, home: Home) -> None:
    """With an image whose hook is not registered memory is missing: status 1, in numbers."""
    image = images.ensure(engine, clients.get("claude"), HomeSettings())
    settings = "/etc/claude-code/managed-settings.json"
    recipe = f"FROM {image}\nUSER root\nRUN rm {settings}\nUSER agent\n"
    engine.sdk.images.build(fileobj=io.BytesIO(recipe.encode()), tag="pannier-test-no-hook")
    try:
        done = _pannier(home, "verify", "scout", "--image", "pannier-test-no-hook")
    finally:
        engine.sdk.images.remove("pannier-test-no-hook", force=True)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    row = lines[[line.strip() for line in lines].index("startup") + 1]
    assert row.split()[0] == "memory/index.md"
    assert row.split()[-2:] == ["0", "missing"]
    _nothing_left(engine, home)


def test_interrupted(engine: Engine, home: Home) -> None:
    """Ctrl-C in the middle ends with status 130, and nothing is left behind."""
    running = subprocess.Popen(
        _argv(home, "verify", "scout"),
        cwd=home.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 60
        while not any(c.state == "running" for c in engine.containers(str(home.root))):
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, errors
    _nothing_left(engine, home)

"""`pannier serve` and `pannier status` as a person meets them, without an engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "agents"
    for args in (["init", str(root)], ["--home", str(root), "group", "add", "scout"]):
        subprocess.run(pannier(*args), check=True, capture_output=True)
    return root


def pannier(*args: str) -> list[str]:
    return [sys.executable, "-m", "pannier", *args]


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "PANNIER_HOME": str(home), "DOCKER_HOST": f"unix://{home}/no.sock"}


def call(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        pannier(*args), env=environ(home), capture_output=True, text=True, timeout=60
    )


@contextmanager
def daemon(home: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A daemon that has finished its first round."""
    process = subprocess.Popen(
        pannier("serve", "--every", "0.1", *args),
        env=environ(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    try:
        assert "serve" in process.stdout.readline()
        assert "engine.gone" in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_order(home: Path, number: signal.Signals) -> None:
    """With status 0, a last line, and a state that says so."""
    with daemon(home) as process:
        process.send_signal(number)
        rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert rest.splitlines()[-1].endswith("serve.ended: ended; running agents go on")
    status = call(home, "status")
    assert status.returncode == 1
    assert "the daemon ended at" in status.stdout


def test_each_line_for_programs_is_json(home: Path) -> None:
    """With time, level, group, event and message."""
    with daemon(home, "--log", "json") as process:
        process.terminate()
        rest, _ = process.communicate(timeout=30)
    (line,) = rest.splitlines()
    assert set(json.loads(line)) == {"time", "level", "group", "event", "message"}


def test_a_second_daemon_is_told_who_is_there(home: Path) -> None:
    """One line, and status 1."""
    with daemon(home) as process:
        second = call(home, "serve")
    assert second.returncode == 1
    assert f"process {process.pid} on " in second.stderr
    assert second.stdout == ""


def test_status_tells_of_the_daemon_and_its_groups(home: Path) -> None:
    """Status 1 while there is no engine: it runs, and is not healthy."""
    (home / "groups/scout/group.yaml").write_text("autostart: true\n")
    with daemon(home) as process:
        found = call(home, "status")
        data = json.loads(call(home, "status", "--json").stdout)
    assert found.returncode == 1
    assert f"process {process.pid} on " in found.stdout
    assert "no engine answers" in found.stdout
    assert "scout  waiting  the engine" in found.stdout
    assert (data["running"], data["healthy"]) == (True, False)
    assert data["report"]["groups"][0]["waits"] == "the engine"


def test_status_without_a_daemon(home: Path) -> None:
    """Nobody has been there yet."""
    found = call(home, "status", "--json")
    assert found.returncode == 1
    assert json.loads(found.stdout)["troubles"] == ["no daemon has served this home yet"]


def test_a_log_that_cannot_be_written_ends_nothing(home: Path) -> None:
    """A full disk, for example: the daemon goes on, and ends in order when it is asked to."""
    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(pannier("serve"), env=environ(home), stdout=full, stderr=full)
    try:
        while json.loads(call(home, "status", "--json").stdout)["report"] is None:
            assert process.poll() is None
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def test_a_dry_run_changes_nothing(home: Path) -> None:
    """It says what it would do first."""
    (home / "groups/scout/group.yaml").write_text("client: [\n")
    (home / "groups/scout/memory/index.md").unlink()
    before = sorted(home.rglob("*"))
    found = call(home, "serve", "--dry-run")
    assert found.returncode == 0
    assert "scout: " in found.stdout
    assert "no engine answers" in found.stdout
    assert sorted(home.rglob("*")) == before

"""The daemon with real containers: kept up, found again, watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pannier.engine import Container, Engine
from tests.engine.person import Person
from tests.engine.relay import Relay

# Starts a container as `pannier up` does, and dies before its mounts were compared.
DIES_AT_THE_GATE = """
import os, signal, sys
from pannier import launch
launch.admit = lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL)
from pannier.cli import main
sys.argv = ["pannier", "up", "scout"]
main()
"""


class Daemon:
    """`pannier serve` in a process of its own, and what it says."""

    def __init__(self, person: Person, **environ: str) -> None:
        self.process = subprocess.Popen(
            person.argv("serve", "--every", "0.3", "--log", "json"),
            cwd=person.root,
            env=person.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, event: str) -> str:
        """The message of the next event of this kind; what comes before it is let pass."""
        assert self.process.stdout
        before = []
        for line in self.process.stdout:
            before.append(line)
            told = json.loads(line)
            if told["event"] == event:
                return str(told["message"])
        raise AssertionError(f"ended without {event}: {before}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def daemons(person: Person) -> Iterator[list[Daemon]]:
    """Those that a test began; none of them outlives it."""
    begun: list[Daemon] = []
    yield begun
    for daemon in begun:
        daemon.end()


def settings(person: Person, text: str) -> None:
    (person.group("scout") / "group.yaml").write_text(f"client: claude\n{text}")


def allow(person: Person, text: str) -> None:
    file = Path(person.environ["HOME"]) / ".config/pannier/mounts.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def up(engine: Engine, person: Person) -> Container:
    """The one container of scout that is up."""
    found = engine.containers(str(person.root), "scout")
    (container,) = (c for c in found if c.state == "running")
    return container


def test_a_group_is_kept_up(engine: Engine, person: Person, daemons: list[Daemon]) -> None:
    """Started, usable, healthy; started again when it was killed; left running at the end."""
    settings(person, "autostart: true\n")
    daemon = Daemon(person)
    daemons.append(daemon)
    assert "started pannier-scout-" in daemon.wait_for("container.started")
    first = up(engine, person)
    told = person.pannier("exec", "scout", "--entrypoint", "ls", "--", "/workspace/agent/memory")
    assert "index.md" in told
    health = json.loads(person.pannier("status", "--json", check=False))
    assert (health["healthy"], health["running"]) == (True, True)

    engine.signal(first.id, 9)
    assert "Exited (137)" in daemon.wait_for("container.ended")
    daemon.wait_for("container.started")
    second = up(engine, person)
    assert second.id != first.id
    assert [c.id for c in engine.containers(str(person.root), "scout")] == [second.id]

    daemon.process.terminate()
    daemon.wait_for("serve.ended")
    assert daemon.process.wait(30) == 0
    assert up(engine, person).id == second.id


def test_a_killed_daemon_is_followed_by_one_that_takes_over(
    engine: Engine, person: Person, daemons: list[Daemon]
) -> None:
    """The agent lives on in the same container, and is not started a second time."""
    settings(person, "autostart: true\n")
    first = Daemon(person)
    daemons.append(first)
    first.wait_for("container.started")
    container = up(engine, person)
    first.end()
    second = Daemon(person)
    daemons.append(second)
    assert container.name in second.wait_for("container.found")
    engine.signal(container.id, 9)
    second.wait_for("container.started")
    assert up(engine, person).id != container.id


def test_a_withdrawn_entry_is_said_and_with_enforce_stop_stopped(
    engine: Engine, person: Person, daemons: list[Daemon]
) -> None:
    """And the group waits until it is granted again, when it starts at once."""
    docs = person.root.parent / "docs"
    docs.mkdir()
    docs.chmod(0o755)
    wish = f"autostart: true\nmounts: [{{source: {docs}, target: docs}}]\n"
    settings(person, wish)
    granted = f"allow: [{{path: {docs}}}]\n"
    allow(person, granted)
    daemon = Daemon(person)
    daemons.append(daemon)
    daemon.wait_for("container.started")
    container = up(engine, person)

    allow(person, "allow: []\n")
    assert f"{docs} is mounted and would be refused now" in daemon.wait_for("container.drifted")
    assert up(engine, person).id == container.id
    allow(person, granted)
    daemon.wait_for("container.keeps")

    settings(person, f"{wish}enforce: stop\n")
    allow(person, "allow: []\n")
    assert "no entry of the allowlist holds it" in daemon.wait_for("container.removed")
    assert "the allowlist refuses a mount" in daemon.wait_for("start.failed")
    assert engine.containers(str(person.root), "scout") == []
    assert "waiting" in person.pannier("status", check=False)
    allow(person, granted)
    daemon.wait_for("container.started")
    assert up(engine, person).id != container.id


def test_a_replaced_source_is_said(engine: Engine, person: Person, daemons: list[Daemon]) -> None:
    """Also of a container that `pannier up` started, without a daemon."""
    docs = person.root.parent / "docs"
    docs.mkdir()
    docs.chmod(0o755)
    settings(person, f"mounts: [{{source: {docs}, target: docs}}]\n")
    allow(person, f"allow: [{{path: {docs}}}]\n")
    person.pannier("up", "scout")
    daemon = Daemon(person)
    daemons.append(daemon)
    daemon.wait_for("container.found")
    docs.rename(docs.with_name("docs.old"))
    docs.mkdir()
    docs.chmod(0o755)
    assert f"{docs} was replaced" in daemon.wait_for("container.drifted")


def test_what_a_crash_left_at_the_gate_is_replaced(
    engine: Engine, person: Person, daemons: list[Daemon]
) -> None:
    """Nobody has compared its mounts; it never counts as up."""
    crashed = subprocess.run(
        [sys.executable, "-c", DIES_AT_THE_GATE], cwd=person.root, env=person.environ, check=False
    )
    assert crashed.returncode == -9
    left = up(engine, person)
    settings(person, "autostart: true\n")
    daemon = Daemon(person)
    daemons.append(daemon)
    assert "before its mounts were compared" in daemon.wait_for("container.removed")
    daemon.wait_for("container.started")
    assert up(engine, person).id != left.id


def test_an_engine_that_goes_away_is_waited_for(
    engine: Engine, person: Person, daemons: list[Daemon]
) -> None:
    """Said once, and the work goes on when it is back; the agents never noticed."""
    real = person.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    relay = Relay(person.root.parent / "relay.sock", real.removeprefix("unix://"))
    settings(person, "autostart: true\n")
    daemon = Daemon(person, DOCKER_HOST=f"unix://{relay.path}")
    daemons.append(daemon)
    daemon.wait_for("container.started")
    container = up(engine, person)
    relay.close()
    assert "no engine answers" in daemon.wait_for("engine.gone")
    engine.signal(container.id, 9)
    relay.open()
    daemon.wait_for("engine.back")
    daemon.wait_for("container.started")
    assert up(engine, person).id != container.id
    relay.close()


def test_an_idle_daemon_costs_little(person: Person, daemons: list[Daemon]) -> None:
    """A round takes a few milliseconds of a processor: at the usual pace well below a hundredth."""
    daemon = Daemon(person)
    daemons.append(daemon)
    person.pannier("up", "other")
    daemon.wait_for("container.found")
    before = _processor_seconds(daemon.process.pid)
    for number in range(10):
        (person.group("scout") / "group.yaml").write_text(f"# {number}\nclent: x\n")
        daemon.wait_for("settings.broken")
        settings(person, "")
        daemon.wait_for("settings.mended")
    spent = _processor_seconds(daemon.process.pid) - before
    assert spent / 20 < 0.05


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

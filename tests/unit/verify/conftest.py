"""Programs on this machine in the place of those in a container, and a small agent program."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from pannier.clients.client import Client, Drive, Endpoint, Shell
from pannier.endpoint.model import ScriptedModel
from pannier.endpoint.server import on_loopback
from pannier.paths import GroupPaths
from pannier.verify import inside

HOOK = Path(__file__).parents[3] / "hooks" / "bin" / "pannier-hook"
AGENT = (sys.executable, str(Path(__file__).with_name("fake_agent.py")))


class LocalStream:
    """Both ends of a program on this machine."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], tty: bool) -> None:
        if tty:
            self._in, far = pty.openpty()
            self._out = self._in
            ends = {"stdin": far, "stdout": far, "stderr": far}
        else:
            far, self._in = os.pipe()
            self._out, out = os.pipe()
            ends = {"stdin": far, "stdout": out, "stderr": subprocess.STDOUT}
        self._process = subprocess.Popen(
            argv, env=dict(environment), start_new_session=True, **ends
        )
        for end in {e for e in ends.values() if e >= 0}:
            os.close(end)

    def read(self) -> tuple[bytes, bytes] | None:
        try:
            data = os.read(self._out, 1 << 16)
        except OSError:
            return None
        return (data, b"") if data else None

    def write(self, data: bytes) -> None:
        with suppress(OSError):
            while data:
                data = data[os.write(self._in, data) :]

    def close_input(self) -> None:
        with suppress(OSError):
            os.close(self._in)

    def status(self) -> int | None:
        return self._process.poll()

    def close(self) -> None:
        self._process.wait(10)
        for end in {self._in, self._out}:
            with suppress(OSError):
                os.close(end)


class LocalProcesses:
    """Programs on this machine, found again by their environment like those in a container."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", **environment}

    def start(self, argv: Sequence[str], *, job: str, tty: bool) -> LocalStream:
        return LocalStream(argv, {**self._environment, inside.JOB: job}, tty)

    def end(self, job: str) -> None:
        inside.end(job, 2)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def group(tmp_path: Path) -> GroupPaths:
    """A group with two memory files."""
    paths = GroupPaths(tmp_path / "scout")
    (paths.memory / "system").mkdir(parents=True)
    (paths.memory / "index.md").write_text("# Index\n" + 'fact 😀 <b> & "x"\n' * 900)
    (paths.memory / "system" / "definition.md").write_text("rules\n" * 2600)
    return paths


@pytest.fixture
def processes_with(
    model: ScriptedModel, group: GroupPaths, tmp_path: Path
) -> Iterator[Callable[..., LocalProcesses]]:
    """Where programs run, with the fault that the agent program shall have."""
    with on_loopback(model) as url:
        common = {
            "HOME": str(tmp_path),
            "URL": url,
            "HOOK": f"{sys.executable} -IS {HOOK}",
            "PANNIER_ROOT": str(group.root),
        }
        yield lambda fault="": LocalProcesses({**common, "FAULT": fault})


def startup(shell: Shell) -> None:
    shell.observe()
    shell.run(*AGENT, "start", "startup", "hello")


def resume(shell: Shell) -> None:
    shell.run(*AGENT, "start", "startup", "hello")
    shell.observe()
    shell.run(*AGENT, "resume", "resume", "again")


def clear(shell: Shell) -> None:
    terminal = shell.terminal(*AGENT, "tui")
    terminal.wait_for("> ")
    terminal.send("first\r")
    terminal.wait_for("said ok")
    shell.observe()
    terminal.send("/clear\r")
    terminal.wait_for("cleared")
    terminal.send("second\r")
    shell.wait_for_request("second")


def client_of(**events: Drive) -> Client:
    """A client with these events."""
    return Client(
        name="fake",
        title="the fake agent",
        program=AGENT,
        keys=(),
        instructions_file="AGENTS.md",
        baked={},
        skeleton={},
        endpoint=lambda url: Endpoint(),
        headless=lambda prompt: (*AGENT, "start", "startup", prompt),
        events=events,
        fresh=frozenset({"startup", "clear", "compact"}),
    )

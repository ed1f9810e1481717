"""The set-up scripts: sound shell, and one clear line for what they cannot do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPTS = sorted(
    path
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
    if path.is_file() and path.suffix != ".py"
)
PROGRAMS = [path for path in SCRIPTS if path.suffix != ".sh"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with nothing but the scripts."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment whose docker finds no engine, and which names none."""
    fake = tmp_path / "bin"
    fake.mkdir()
    _program(fake / "docker", "exit 1")
    return {"PATH": f"{fake}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def _program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def _run(script: Path, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_each_script_parses(script: Path) -> None:
    """No script has a syntax error."""
    subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.parametrize("script", PROGRAMS, ids=lambda path: path.name)
def test_each_script_says_what_it_does(script: Path) -> None:
    """Whoever opens a script finds its purpose in the second line, and may run it."""
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[1].startswith("# ")
    assert os.access(script, os.X_OK)


def test_no_script_names_a_host() -> None:
    """Where packages come from is the machine's affair: no script names a registry."""
    for path in [*SCRIPTS, ROOT / "Makefile"]:
        assert "http://" not in path.read_text()
        assert "https://" not in path.read_text()


def test_an_engine_that_was_named_and_is_silent_is_an_error(
    checkout: Path, machine: dict[str, str]
) -> None:
    """A DOCKER_HOST that does not answer is never quietly replaced by another engine."""
    machine["DOCKER_HOST"] = "tcp://127.0.0.1:1"
    result = _run(checkout / "scripts" / "engine", "start", env=machine)
    assert result.returncode == 1
    assert result.stderr.startswith("error: no engine answers at DOCKER_HOST=tcp://127.0.0.1:1\n")
    assert not (checkout / ".engine" / "dockerd.pid").exists()


def test_the_users_engine_is_used_as_it_is(checkout: Path, machine: dict[str, str]) -> None:
    """With a running engine nothing is started and nothing needs to be exported."""
    _program(Path(machine["PATH"].split(":")[0]) / "docker", "exit 0")
    script = checkout / "scripts" / "engine"
    assert _run(script, "start", env=machine).returncode == 0
    assert _run(script, "env", env=machine).stdout == ""
    assert "user's engine" in _run(script, "status", env=machine).stdout
    assert not (checkout / ".engine" / "data").exists()


def test_a_checkout_too_deep_for_a_socket_is_told_so(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    """A path beyond the 107 bytes of a socket's name is refused before anything is started."""
    if os.getuid() != 0:
        pytest.skip("only root gets as far as starting an engine")
    deep = tmp_path / ("d" * 100)
    shutil.copytree(ROOT / "scripts", deep / "scripts")
    result = _run(deep / "scripts" / "engine", "start", env=machine)
    assert result.returncode == 1
    assert "longer than a socket's path may be" in result.stderr
    assert "shorter path" in result.stderr


def test_only_root_starts_an_engine(checkout: Path, machine: dict[str, str]) -> None:
    """Anybody else is told how to get one."""
    _program(Path(machine["PATH"].split(":")[0]) / "id", "echo 1000")
    result = _run(checkout / "scripts" / "engine", "start", env=machine)
    assert result.returncode == 1
    assert "only root can start one" in result.stderr
    assert "sudo make engine" in result.stderr


def test_a_full_disk_is_named_before_the_work(checkout: Path, machine: dict[str, str]) -> None:
    """An engine is not started where its images would not fit."""
    fake = Path(machine["PATH"].split(":")[0])
    _program(fake / "id", "echo 0")
    _program(fake / "df", 'printf "h\\nd 1 1 12 1%% /\\n"')
    result = _run(checkout / "scripts" / "engine", "start", env=machine)
    assert result.returncode == 1
    assert "needs 3000 MiB of disk" in result.stderr


def test_without_a_recent_python_the_way_out_is_named(
    checkout: Path, machine: dict[str, str]
) -> None:
    """A Python that is missing or too old leaves no half-made environment."""
    machine["PYTHON"] = "/nonexistent/python3"
    result = _run(checkout / "scripts" / "venv", env=machine)
    assert result.returncode == 1
    assert result.stderr.startswith("error: there is no Python 3.11 or newer here\n")
    assert not (checkout / ".venv").exists()


def test_another_process_with_the_number_of_ours_is_left_alone(
    checkout: Path, machine: dict[str, str]
) -> None:
    """A process file from before a restart never makes a stranger be killed."""
    _program(Path(machine["PATH"].split(":")[0]) / "id", "echo 1000")
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        (checkout / ".engine").mkdir()
        (checkout / ".engine" / "dockerd.pid").write_text(str(stranger.pid))
        result = _run(checkout / "scripts" / "engine", "stop", env=machine)
        assert result.returncode == 0
        assert "no private engine is running" in result.stderr
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_commands_own_status_is_passed_on(checkout: Path, machine: dict[str, str]) -> None:
    """`with-engine` fails as its command fails, so that a failing test run is seen."""
    _program(Path(machine["PATH"].split(":")[0]) / "docker", "exit 0")
    result = _run(checkout / "scripts" / "with-engine", "sh", "-c", "exit 7", env=machine)
    assert result.returncode == 7


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing() -> None:
    """The scripts are clean by the usual linter."""
    result = subprocess.run(
        ["shellcheck", "-x", "-P", ROOT, *SCRIPTS], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout

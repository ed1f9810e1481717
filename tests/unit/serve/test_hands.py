"""What the daemon does, where no engine is needed for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pannier import groups
from pannier.paths import Home
from pannier.serve import hands
from pannier.serve.decide import Build, MakeReady
from pannier.serve.hands import Hands
from pannier.serve.memory import Outcome

BUILD = Build("scout", "claude", "pannier-claude:1")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home, _ = groups.init(tmp_path / "agents", {"HOME": str(tmp_path)})
    groups.add(home, "scout", groups.new_settings("claude", None, ()))
    return home


@pytest.fixture
def able(home: Home, tmp_path: Path) -> Hands:
    environ = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock", "HOME": str(tmp_path)}
    return Hands(home, environ, lambda: 0.0)


def building(able: Hands) -> subprocess.Popen[bytes]:
    assert able._build
    return able._build.child.process


def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Builds are made by this instead of by pannier."""
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(file))


def test_the_folders_of_a_group_are_made_and_told(able: Hands, home: Home) -> None:
    """What of the scaffold was missing; nothing is said when nothing was."""
    (home.group("scout").memory / "index.md").unlink()
    (outcome,) = able.act(None, MakeReady("scout", "s1"))
    assert (outcome.event.message, outcome.stamp) == ("made memory/index.md", "s1")
    (outcome,) = able.act(None, MakeReady("scout", "s2"))
    assert (outcome.event.message, outcome.stamp) == ("", "s2")


def test_a_folder_that_cannot_be_made_is_an_outcome(able: Hands, home: Home) -> None:
    """A link in the place of the memory: said by name, and nothing is followed."""
    memory = home.group("scout").memory
    memory.rename(memory.with_name("away"))
    memory.symlink_to("away")
    (outcome,) = able.act(None, MakeReady("scout", "s1"))
    assert outcome.failed
    assert outcome.event.event == "ready.failed"
    assert "memory: a link" in outcome.event.message


def test_a_build_goes_on_beside_the_rounds(
    able: Hands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Begun, not waited for, and told when it is done."""
    program(monkeypatch, tmp_path, "true")
    (begun,) = able.act(None, BUILD)
    assert begun.event.event == "image.building"
    assert able.building == "pannier-claude:1"
    building(able).wait()
    (done,) = able.finished()
    assert (done.event.event, done.failed) == ("image.built", False)
    assert able.building == ""
    assert list(able.finished()) == []


def test_a_failed_build_gives_the_command_s_own_reason(able: Hands) -> None:
    """And its way out."""
    list(able.act(None, BUILD))
    building(able).wait()
    (outcome,) = able.finished()
    assert (outcome.event.event, outcome.failed) == ("image.failed", True)
    assert "no engine answers" in outcome.event.message
    assert "DOCKER_HOST" in outcome.event.message


def test_a_build_that_dies_without_a_word_gives_its_status(
    able: Hands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever it printed before is bounded."""
    program(monkeypatch, tmp_path, "kill -9 $$")
    list(able.act(None, BUILD))
    building(able).wait()
    (outcome,) = able.finished()
    assert "it was killed (SIGKILL)" in outcome.event.message


@pytest.mark.parametrize("script", ["wait", "trap '' TERM; wait; wait"])
def test_an_ending_daemon_ends_its_build(
    able: Hands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    """With everything that the build started, also when it does not want to end."""
    monkeypatch.setattr(hands, "GRACE", 0.2)
    child = tmp_path / "child"
    os.mkfifo(child)
    program(monkeypatch, tmp_path, f"sh -c 'echo $$ >{child}; exec sleep 1000' & {script}")
    list(able.act(None, BUILD))
    process = building(able)
    grandchild = int(child.read_text())
    able.close()
    assert process.returncode is not None
    assert not _runs(grandchild)
    assert able.building == ""
    able.close()


def test_a_build_that_cannot_begin_is_an_outcome(
    able: Hands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No process, no disk: said, and tried again later."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "missing"))
    (outcome,) = able.act(None, BUILD)
    assert isinstance(outcome, Outcome)
    assert (outcome.event.event, outcome.failed) == ("image.failed", True)


def _runs(pid: int) -> bool:
    """Whether it still does anything: somebody may have to reap it yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"

"""`docker compose up` in a fresh clone: the sidecar in a container, beside its demo group."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pannier.engine import Container, Engine
from tests.compose.conftest import Clone

SESSION_START = """\
echo '{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}' \
| pannier-hook session-start --client claude --part 1/8"""


@pytest.fixture
def wait(docker_services: Any) -> Callable[[Callable[[], bool]], None]:
    """Until something holds; the first time an agent's image may have to be built."""
    return lambda check: docker_services.wait_until_responsive(check, timeout=540, pause=0.5)


@pytest.fixture
def agent(clone: Clone, engine: Engine, wait: Callable[[Callable[[], bool]], None]) -> Container:
    """The demo group's container, once the sidecar says that it is up."""

    def is_up() -> bool:
        status = clone.pannier("status", "--json").stdout
        report = json.loads(status)["report"] if status else None
        return bool(report) and any(g["state"] == "up" for g in report["groups"])

    wait(is_up)
    (container,) = clone.agents(engine)
    return container


def test_one_command_brings_the_demo_group_up(clone: Clone, agent: Container) -> None:
    """Commands work through `docker compose exec`, status from the host too; nothing is wrong."""
    assert agent.state == "running"
    assert agent.name in clone.told("ps")
    status = clone.told("status")
    assert "demo  up" in status
    on_host = [sys.executable, "-m", "pannier", "--home", str(clone.home), "status"]
    seen = subprocess.run(on_host, capture_output=True, text=True)
    assert (seen.returncode, "demo  up" in seen.stdout) == (0, True)
    doctor = clone.pannier("doctor")
    problems = [line for line in doctor.stdout.splitlines() if line.startswith("problem")]
    assert problems == [], doctor.stderr


def test_everything_belongs_to_who_made_the_clone(
    clone: Clone, engine: Engine, agent: Container
) -> None:
    """The agent runs as they do, and the sidecar, which is root, leaves nothing of root's."""
    owner = clone.home.stat().st_uid
    assert engine.exec(agent.id, ["id", "-u"]) == (0, f"{owner}\n")
    assert {path.stat().st_uid for path in clone.home.rglob("*")} == {owner}


def test_memory_edited_on_the_host_is_seen(clone: Clone, agent: Container) -> None:
    """In the agent's next fresh context, through the hook."""
    index = clone.demo / "memory/index.md"
    index.write_text(f"{index.read_text()}\nAtlas releases on Tuesdays.\n")
    told = clone.told("exec", "demo", "--entrypoint", "sh", "--", "-c", SESSION_START)
    assert "Atlas releases on Tuesdays." in told


def test_verify_works_from_the_sidecar(clone: Clone, agent: Container) -> None:
    """The real client, driven over a socket in the home."""
    assert "ok" in clone.told("verify", "demo")


def test_images_are_built_from_the_sidecar(clone: Clone, agent: Container) -> None:
    """By its own docker client, with the certificates it was given; they are the host's."""
    assert clone.told("image", "build", "claude").strip() == agent.image


def test_a_killed_sidecar_takes_its_agent_over_again(
    clone: Clone, engine: Engine, agent: Container, wait: Callable[[Callable[[], bool]], None]
) -> None:
    """The agent lives on meanwhile, and what runs in it too."""
    engine.exec(agent.id, ["sh", "-c", "echo here > /tmp/mark"])
    assert clone.compose("kill", "--signal", "KILL", "sidecar").returncode == 0
    wait(lambda: not clone.compose("ps", "--quiet", "--status", "running").stdout.strip())
    assert [(c.id, c.state) for c in clone.agents(engine)] == [(agent.id, "running")]
    assert clone.compose("start", "sidecar").returncode == 0
    wait(lambda: clone.pannier("status").returncode == 0)
    assert [c.id for c in clone.agents(engine)] == [agent.id]
    assert engine.exec(agent.id, ["cat", "/tmp/mark"]) == (0, "here\n")
    log = clone.compose("logs", "--no-log-prefix", "sidecar").stdout
    assert f"container.found: {agent.name} is up" in log
    assert "Traceback" not in log


def test_a_sidecar_that_is_stopped_ends_in_order(
    clone: Clone, engine: Engine, agent: Container, wait: Callable[[Callable[[], bool]], None]
) -> None:
    """`docker compose stop` leaves the agents running; the sidecar says so."""
    assert clone.compose("stop", "sidecar").returncode == 0
    log = clone.compose("logs", "--no-log-prefix", "sidecar").stdout
    assert log.rstrip().endswith("serve.ended: ended; running agents go on")
    assert [(c.id, c.state) for c in clone.agents(engine)] == [(agent.id, "running")]
    clone.compose("start", "sidecar")
    wait(lambda: clone.pannier("status").returncode == 0)


def test_an_extra_mount_whose_root_the_sidecar_cannot_see_is_refused(
    clone: Clone, agent: Container
) -> None:
    """Although the allowlist grants it, and although there is such a folder in the image."""
    (clone.person / "hidden").mkdir(exist_ok=True)
    for folder in (clone.person / "hidden", Path("/opt")):
        allowlist(clone, f"allow: [{{path: {folder}}}]\n")
        asked(clone, f"mounts: [{{source: {folder}, target: x}}]\n")
        refused = clone.pannier("run", "demo", "--entrypoint", "true")
        assert refused.returncode == 1
        assert f"{folder} is not mounted into the sidecar's own container" in refused.stderr
        assert f"{folder} is not mounted into" in clone.pannier("doctor").stdout


def test_an_extra_mount_that_the_sidecar_sees_is_mounted(clone: Clone, agent: Container) -> None:
    """At the same path on the host, in the sidecar and in the plan."""
    (clone.person / "notes/today.md").write_text("rain\n")
    (clone.person / "notes").chmod(0o755)
    allowlist(clone, f"allow: [{{path: {clone.person}/notes}}]\n")
    asked(clone, "mounts: [{source: ~/notes, target: notes}]\n")
    cat = ("--entrypoint", "cat", "--", "/workspace/extra/notes/today.md")
    assert clone.told("run", "demo", *cat) == "rain\n"


def test_files_of_a_person_stay_theirs(
    clone: Clone, agent: Container, wait: Callable[[Callable[[], bool]], None]
) -> None:
    """From a container only what belongs to root is given to the agent."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away to see whether they are taken back")
    theirs, roots = clone.demo / "memory/theirs.md", clone.demo / "memory/roots.md"
    for file in (theirs, roots):
        file.write_text("x\n")
    os.chown(theirs, 12345, 12345)
    # Whoever edits the settings makes the daemon look after the group's folders.
    asked(clone, "# once more\n")
    wait(lambda: roots.stat().st_uid != 0)
    assert roots.stat().st_uid == (clone.demo / "memory").stat().st_uid
    assert theirs.stat().st_uid == 12345


def allowlist(clone: Clone, text: str) -> None:
    (clone.person / ".config/pannier/mounts.yaml").write_text(text)


def asked(clone: Clone, text: str) -> None:
    (clone.demo / "group.yaml").write_text(f"client: claude\nautostart: true\n{text}")

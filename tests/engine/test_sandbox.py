"""What became of real containers: `pannier ps --all`, `pannier stats`, and what the daemon adds."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from pannier.engine import Engine
from pannier.engine.life import usage
from pannier.sandbox.records import open_records, sandbox_file
from pannier.sandbox.samples import of_container
from pannier.serve import sandbox
from pannier.serve.sandbox import SandboxWork
from tests.engine.person import Person

BUSY = "while :; do :; done"
HUNGRY = "x=bytearray(300<<20)"


def past(person: Person, *args: str) -> list[dict[str, Any]]:
    found = json.loads(person.pannier("ps", "--all", "--json", *args))
    assert isinstance(found, list)
    return found


def eventually(look: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def test_a_run_is_remembered_with_its_status(person: Person) -> None:
    """Image, mounts, times and exit code stay when the container is gone."""
    done = person.run(
        "run", "scout", "--thread", "planning", "--entrypoint", "sh", "--", "-c", "exit 7"
    )
    assert done.returncode == 7
    assert person.pannier("ps", "--json") == "[]\n"
    (one,) = past(person)
    assert (one["group"], one["role"], one["thread"]) == ("scout", "run", "planning")
    assert (one["state"], one["status"], one["out_of_memory"]) == ("exited", 7, False)
    assert one["image_id"].startswith("sha256:")
    assert one["created"] <= one["started"] <= one["ended"]
    assert one["seconds"] > 0
    memory = {"source": str(person.group("scout") / "memory"), "mode": "rw"}
    assert memory | {"target": "/workspace/agent/memory"} in one["mounts"]
    (visit,) = one["attached"]
    assert (visit["by"], visit["thread"], visit["status"]) == ("run", "planning", 7)
    assert past(person, "other") == []
    assert "exited (7)" in person.pannier("ps", "scout", "--all")


def test_memory_that_ran_out_is_told(person: Person) -> None:
    """Of the client itself, and of a program that it started and outlived."""
    with (person.group("scout") / "group.yaml").open("a") as settings:
        settings.write("limits: {memory: 64M}\n")
    itself = ("--entrypoint", "python3", "--", "-c", HUNGRY)
    child = ("--entrypoint", "sh", "--", "-c", f"python3 -c '{HUNGRY}'; exit 3")
    assert person.run("run", "scout", *itself).returncode == 137
    assert person.run("run", "scout", *child).returncode == 3
    second, first = past(person)
    assert (first["status"], first["out_of_memory"]) == (137, True)
    assert (second["status"], second["out_of_memory"]) == (3, True)
    assert "exited (137), out of memory" in person.pannier("ps", "--all")


def test_what_stays_up_is_remembered_with_who_was_in_it(person: Person) -> None:
    """Each `exec` with its thread and status; a stop ends the container's record."""
    person.pannier("up", "scout")
    exec_ = person.run("exec", "scout", "--thread", "a", "--entrypoint", "sh", "--", "-c", "exit 4")
    assert exec_.returncode == 4
    (one,) = past(person)
    assert (one["state"], one["status"], one["ended"]) == ("running", None, None)
    assert [(v["by"], v["thread"], v["status"]) for v in one["attached"]] == [("exec", "a", 4)]
    person.pannier("stop", "scout")
    (one,) = past(person)
    assert one["state"] == "exited"
    assert isinstance(one["status"], int)


def test_a_killed_pannier_loses_no_ending(person: Person, engine: Engine) -> None:
    """The client runs on, ends, and is removed by the engine: its status is found out all the
    same, and nobody counts as attached any more."""
    argv = person.argv("run", "scout", "--entrypoint", "sh", "--", "-c", "echo up; sleep 1; exit 9")
    with subprocess.Popen(
        argv, cwd=person.root, env=person.environ, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        run.kill()
    eventually(lambda: not engine.containers(str(person.root)))
    (one,) = past(person)
    assert (one["state"], one["status"]) == ("exited", 9)
    assert all(visit["ended"] for visit in one["attached"])


def test_without_an_engine_the_past_is_shown(person: Person) -> None:
    """As it was last known, and so it is said."""
    person.run("run", "scout", "--entrypoint", "true")
    gone = {"DOCKER_HOST": f"unix://{person.root}/nothing.sock"}
    done = person.run("ps", "--all", "--json", **gone)
    assert done.returncode == 0
    assert "As it was last known" in done.stderr
    assert [one["status"] for one in json.loads(done.stdout)] == [0]


def test_a_container_that_the_engine_forgot_is_gone(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended, and nobody knows how: that is what is said."""
    person.run("run", "scout", "--entrypoint", "true")
    with open_records(sandbox_file(person.home, {})) as records:
        records.db.execute("UPDATE containers SET ended = 0, status = NULL, id = 'f' || id")
    (one,) = [one for one in past(person) if one["id"].startswith("f")]
    assert (one["state"], one["status"]) == ("gone", None)


def test_stats_say_what_is_used_now(person: Person) -> None:
    """A busy program uses its processor; memory is below its limit."""
    with (person.group("scout") / "group.yaml").open("a") as settings:
        settings.write("limits: {cpus: 1, memory: 128M}\n")
    name = person.pannier("up", "scout").strip()
    argv = person.argv("exec", "scout", "--entrypoint", "sh", "--", "-c", BUSY)
    with subprocess.Popen(argv, cwd=person.root, env=person.environ) as busy:
        try:
            eventually(lambda: "exec" in person.pannier("ps", "--all", "--json"))
            said = json.loads(person.pannier("stats", "scout", "--json"))
            (now,) = said["now"]
            assert now["name"] == name
            assert 0.05 < now["cpu"] < 1.5
            assert 0 < now["memory"] < now["limit"] == 128 << 20
            table = person.pannier("stats", "scout")
            assert name in table
            assert "128.0 MiB" in table
        finally:
            busy.send_signal(signal.SIGTERM)
    idle = person.run("stats", "other")
    assert idle.returncode == 0
    assert "No container of group other runs" in idle.stderr


def test_the_daemon_samples_and_learns_what_nobody_told(
    person: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds containers that it never saw, samples them, and sees them end."""
    monkeypatch.setattr(sandbox, "EVERY", 0.0)
    person.pannier("up", "scout")
    sandbox_file(person.home, {}).unlink()
    work = SandboxWork(person.home, {}, time.monotonic)
    (container,) = engine.containers(str(person.root))

    def looked() -> bool:
        assert list(work.round(engine)) == []
        with open_records(sandbox_file(person.home, {})) as records:
            return len(of_container(records, container.id)) >= 2

    eventually(looked)
    (one,) = past(person)
    assert one["id"] == container.id
    assert one["image_id"].startswith("sha256:")
    assert json.loads(person.pannier("stats", "scout", "--json"))["past"][0]["last"] == "hour"
    engine.stop(container.id, grace=0)
    assert list(work.round(engine)) == []
    (one,) = past(person)
    assert one["state"] == "exited"
    assert one["status"] in (137, 143)
    assert list(work.round(None)) == []


def test_to_look_does_not_wait_for_the_engine_to_measure(person: Person, engine: Engine) -> None:
    """The engine's own figures would take a second or two a container."""
    person.pannier("up", "scout")
    (container,) = engine.containers(str(person.root))
    begun = time.monotonic()
    assert usage(engine, container.id) is not None
    assert time.monotonic() - begun < 0.9

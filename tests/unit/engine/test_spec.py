"""What a container is allowed."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pannier.engine.spec import ContainerSpec, to_docker
from pannier.mounts.plan import Mount


def spec(**changes: Any) -> ContainerSpec:
    values: dict[str, Any] = {
        "name": "pannier-scout-1",
        "image": "image",
        "command": ("claude",),
        "user": "1000:1000",
        "mounts": (
            Mount(Path("/h/memory"), PurePosixPath("/workspace/agent/memory"), "rw", 1, 2),
            Mount(Path("/h/learned"), PurePosixPath("/workspace/agent/agent-memory"), "ro", 1, 3),
        ),
        "environment": {"PANNIER_THREAD": "main"},
        "labels": {"pannier.group": "scout"},
        "memory": 4 << 30,
        "cpus": 2.0,
        "processes": 1024,
        "workdir": "/workspace/agent/files",
        "network": "bridge",
        "hostname": "scout",
    }
    return ContainerSpec(**(values | changes))


def docker_of(spec: ContainerSpec, api: tuple[int, int] = (1, 44), cpus: int = 8) -> dict[str, Any]:
    return to_docker(spec, api_version=api, cpus=cpus)


def test_a_container_is_safe_by_default() -> None:
    """No capabilities, no new privileges, an init, limits, no host namespaces, not privileged."""
    options = docker_of(spec())
    assert options["cap_drop"] == ["ALL"]
    assert options["security_opt"] == ["no-new-privileges:true"]
    assert options["init"] is True
    assert options["mem_limit"] == options["memswap_limit"] == 4 << 30
    assert options["nano_cpus"] == 2_000_000_000
    assert options["pids_limit"] == 1024
    assert options["user"] == "1000:1000"
    for name in (
        "privileged",
        "cap_add",
        "pid_mode",
        "ipc_mode",
        "uts_mode",
        "userns_mode",
        "devices",
        "volumes",
        "ports",
    ):
        assert name not in options


def test_no_more_processors_than_the_engine_has() -> None:
    """The engine refuses a container that asks for more than there are."""
    assert docker_of(spec(cpus=4.0), cpus=2)["nano_cpus"] == 2_000_000_000


def test_mounts_are_binds_that_must_exist_and_spread_nothing() -> None:
    """A bind of the SDK's kind fails on a missing source, where `-v` would invent a folder."""
    memory, learned = docker_of(spec())["mounts"]
    assert (memory["Type"], memory["Source"], memory["ReadOnly"]) == ("bind", "/h/memory", False)
    assert learned["ReadOnly"] is True
    assert memory["BindOptions"]["Propagation"] == "rprivate"


@pytest.mark.parametrize(("api", "expected"), [((1, 41), True), ((1, 44), None)])
def test_read_only_holds_for_folders_mounted_below(api: tuple[int, int], expected: object) -> None:
    """An engine that makes only the top of a bind read-only is not given what lies below."""
    memory, learned = docker_of(spec(), api=api)["mounts"]
    assert learned["BindOptions"].get("NonRecursive") is expected
    assert "NonRecursive" not in memory["BindOptions"]

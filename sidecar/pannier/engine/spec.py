"""What a container shall be, as data, and the same in the engine's words. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from docker.types import Mount as DockerMount

from pannier.mounts.plan import Mount

Role = Literal["run", "up", "verify", "ask"]

LABEL_HOME = "pannier.home"
LABEL_GROUP = "pannier.group"
LABEL_CLIENT = "pannier.client"
LABEL_ROLE = "pannier.role"
LABEL_OWNER = "pannier.owner"
LABEL_THREAD = "pannier.thread"
LABEL_MOUNTS = "pannier.mounts"
LABEL_IMAGE = "pannier.image"
"""The image that was asked for instead of the usual one."""
LABEL_CONTEXT = "pannier.context"
"""The group's settings for its context, as the container was given them."""

# Engines from this API version on make a read-only bind read-only all the way down; older ones
# leave folders that are mounted below the source writable (moby 25.0 release notes).
RECURSIVE_READ_ONLY = (1, 44)


@dataclass(frozen=True)
class ContainerSpec:
    """One container of a group."""

    name: str
    image: str
    command: tuple[str, ...]
    user: str
    mounts: tuple[Mount, ...]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    memory: int
    """Bytes."""
    cpus: float
    processes: int
    workdir: str
    network: str
    hostname: str
    """The same for each container of a group: a client may keep a login that is bound to it."""
    entrypoint: tuple[str, ...] | None = None
    tty: bool = False
    stdin: bool = False
    auto_remove: bool = True
    binds: tuple[Mount, ...] = field(default=())
    """Mounts outside of the plan, for `pannier verify`; compared all the same."""


def mounts_label(mounts: Iterable[Mount]) -> str:
    """What a container was given, for who looks at it later; `read_mounts_label` undoes it."""
    rows = [[str(m.source), str(m.target), m.mode, m.device, m.inode] for m in mounts]
    return json.dumps(rows, separators=(",", ":"))


def read_mounts_label(text: str) -> tuple[Mount, ...]:
    """The mounts of a container by its label; none if it has no such label, or an odd one."""
    try:
        return tuple(
            Mount(Path(source), PurePosixPath(target), mode, int(device), int(inode))
            for source, target, mode, device, inode in json.loads(text or "[]")
        )
    except (ValueError, TypeError):
        return ()


def to_docker(spec: ContainerSpec, *, api_version: tuple[int, int], cpus: int) -> dict[str, Any]:
    """The arguments of the SDK's `containers.create` for an engine with so many processors."""
    recursive = api_version >= RECURSIVE_READ_ONLY
    options: dict[str, Any] = {
        "image": spec.image,
        "command": list(spec.command),
        "name": spec.name,
        "user": spec.user,
        "mounts": [_bind(m, recursive) for m in (*spec.mounts, *spec.binds)],
        "environment": dict(spec.environment),
        "labels": dict(spec.labels),
        "working_dir": spec.workdir,
        "network_mode": spec.network,
        "hostname": spec.hostname,
        "tty": spec.tty,
        "stdin_open": spec.stdin,
        "auto_remove": spec.auto_remove,
        "init": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": spec.memory,
        "memswap_limit": spec.memory,
        "nano_cpus": int(min(spec.cpus, cpus) * 1_000_000_000),
        "pids_limit": spec.processes,
    }
    if spec.entrypoint is not None:
        options["entrypoint"] = list(spec.entrypoint)
    return options


def _bind(mount: Mount, recursive_read_only: bool) -> DockerMount:
    bind = DockerMount(
        target=str(mount.target),
        source=str(mount.source),
        type="bind",
        read_only=mount.mode == "ro",
        propagation="rprivate",
    )
    if mount.mode == "ro" and not recursive_read_only:
        bind["BindOptions"]["NonRecursive"] = True
    return bind

"""`group.yaml` and `pannier.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pannier.settings.context import ContextSettings
from pannier.settings.learning import HomeLearning, LearningSettings
from pannier.settings.strict import Strict
from pannier.settings.units import Size, size_in_bytes
from pannier.shown import brief

_NETWORK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _own_network(name: str) -> str:
    if name == "host" or name.startswith("container:"):
        raise ValueError("a container of pannier shares no network namespace with another")
    if not _NETWORK.fullmatch(name):
        raise ValueError("write the name of an engine network")
    return name


FOR_AGENTS = frozenset({"PANNIER_MODEL", "PANNIER_CHECKPOINTS"})
"""Variables of pannier's own that are a person's to set: the agent in Python reads them."""
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _can_be_handed_on(name: str) -> str:
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise ValueError(f"{brief(name, 40)!r} cannot name a variable")
    ours = name.startswith("PANNIER_") and name not in FOR_AGENTS
    if name in ("HOME", "PATH") or ours:
        raise ValueError(f"{name} is the image's own, and is not handed on")
    return name


def _absolute(path: str) -> str:
    if not path.startswith("/") or not path.isprintable():
        raise ValueError("write an absolute path in the container")
    return path


def _enough(size: str) -> str:
    if size_in_bytes(size) < 64 << 20:
        raise ValueError("an agent needs 64m at least")
    return size


class Limits(Strict):
    """What one container may use."""

    memory: Annotated[Size, AfterValidator(_enough)] = Field(
        default="4g", description="Memory of one container, without swap on top."
    )
    cpus: float = Field(
        default=2.0,
        ge=0.01,  # the kernel's smallest share: 1 ms of 100 (cpu.cfs_quota_us)
        allow_inf_nan=False,
        description="Processors; never more than the engine has.",
    )
    processes: int = Field(
        default=1024,
        ge=16,
        le=1 << 22,  # the kernel's own limit (proc(5): pid_max)
        description="Processes and threads at the same time.",
    )


class MountRequest(Strict):
    """A folder that a group asks for. The allowlist decides."""

    source: str = Field(description="Folder on the host; `~` is the person's home.")
    target: str = Field(description="Relative path below `/workspace/extra` in the container.")
    mode: Literal["ro", "rw"] = Field(default="ro", description="`ro` or `rw`.")


class Conversations(Strict):
    """How long the readable transcripts in `conversations/` are kept."""

    keep_days: int | None = Field(
        default=365,
        ge=1,
        le=36_500,
        description="Days after its last change for which a file is kept; null: for ever.",
    )
    keep: int | None = Field(
        default=500, ge=1, le=100_000, description="How many files are kept; null: all."
    )


class GroupSettings(Strict):
    """`groups/<folder>/group.yaml`."""

    client: str = Field(default="claude", min_length=1, description="The agent program.")
    image: str | None = Field(
        default=None,
        min_length=1,
        description="An image of your own; without it, pannier's for the client.",
    )
    mounts: tuple[MountRequest, ...] = Field(
        default=(), description="Extra mounts; each must be granted by the allowlist."
    )
    limits: Limits = Field(default=Limits(), description="What one container may use.")
    workdir: Annotated[str, AfterValidator(_absolute)] = Field(
        default="/workspace/agent/files", description="Working directory in the container."
    )
    env_from: tuple[Annotated[str, AfterValidator(_can_be_handed_on)], ...] = Field(
        default=(),
        description="Names of variables that are handed on from the environment of `pannier`.",
    )
    network: Annotated[str, AfterValidator(_own_network)] = Field(
        default="bridge", description="An engine network, or `none`."
    )
    autostart: bool = Field(
        default=False, description="`pannier serve` keeps a container of this group up."
    )
    conversations: Conversations = Field(
        default=Conversations(),
        description="The transcripts that the agent can read. What was said stays stored whatever "
        "is removed here.",
    )
    context: ContextSettings = Field(
        default=ContextSettings(),
        description="What is done so that long conversations fit the context window "
        "([context](context.md)).",
    )
    learning: LearningSettings = Field(
        default=LearningSettings(),
        description="How lasting lessons are drawn from the group's threads "
        "([learning](learning.md)).",
    )
    enforce: Literal["report", "stop"] = Field(
        default="report",
        description="What `pannier serve` does with a container that has a mount which it would "
        "not get any more: say so, or also stop it.",
    )


class HomeSettings(Strict):
    """`pannier.yaml`."""

    base_image: str = Field(
        default="debian:bookworm-slim",
        min_length=1,
        description="What pannier's agent images are built on.",
    )
    learning: HomeLearning = Field(
        default=HomeLearning(),
        description="With which model groups learn, and what all may use in a day "
        "([learning](learning.md)).",
    )

"""Containers of a pannier home: created, checked, let go, found again, stopped."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import docker

from pannier.engine import look
from pannier.engine.connect import connect, translated
from pannier.engine.spec import (
    LABEL_CLIENT,
    LABEL_CONTEXT,
    LABEL_GROUP,
    LABEL_HOME,
    LABEL_IMAGE,
    LABEL_MOUNTS,
    LABEL_OWNER,
    LABEL_ROLE,
    LABEL_THREAD,
    ContainerSpec,
    read_mounts_label,
    to_docker,
)
from pannier.errors import ContainerGone, EngineError, ImageNotFound, MountMismatch
from pannier.mounts.plan import Mount

HOOK = "pannier-hook"
LABEL_HOOK = "pannier.hook"
GATE_SIGNAL = "SIGUSR1"
# Our entrypoint by its command line, but not the init that started it and shows the same words.
_AT_GATE = re.compile(r"^\S*python\S* (?:-\S+ )*\S*pannier-hook boot -- ")


@dataclass(frozen=True)
class Image:
    """An image that the engine has."""

    id: str
    tags: tuple[str, ...]
    hook: str | None
    """Version of the hook that is baked in, by its label."""
    client: str | None
    size: int
    """Bytes."""


@dataclass(frozen=True)
class Container:
    """A container that carries our labels."""

    id: str
    name: str
    group: str
    client: str
    role: str
    thread: str
    owner: str
    state: str
    """The engine's word: created, running, paused, exited, dead …"""
    image: str
    created: str
    status: str = ""
    """The same for people: `Up 3 minutes`, `Exited (137) 5 seconds ago`."""
    mounts: tuple[Mount, ...] = ()
    """What it was given when it was made, as its label says."""
    image_id: str = ""
    asked_image: str = ""
    """Named at the start instead of the usual one; "" for that."""
    context: str = ""
    """The settings for its context that it was started with; "" for the defaults."""

    @property
    def short_id(self) -> str:
        return self.id[:12]


class Engine:
    """The engine, reached. Every error of the SDK comes out as an EngineError."""

    def __init__(self, client: docker.DockerClient, environ: Mapping[str, str]) -> None:
        self.sdk = client
        self.environ = environ
        with translated():
            version = client.version()
            self.cpus = int(client.info()["NCPU"])
        self.version = str(version["Version"])
        major, _, minor = str(version["ApiVersion"]).partition(".")
        self.api_version = (int(major), int(minor))

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Engine:
        """Raises EngineNotFound."""
        return cls(connect(environ), environ)

    def image(self, name: str) -> Image:
        """Raises ImageNotFound."""
        with translated():
            found = self.sdk.images.get(name)
        labels = found.labels
        return Image(
            id=str(found.id),
            tags=tuple(found.tags),
            hook=labels.get(LABEL_HOOK),
            client=labels.get(LABEL_CLIENT),
            size=int(found.attrs.get("Size", 0)),
        )

    def has_image(self, name: str) -> bool:
        try:
            self.image(name)
        except ImageNotFound:
            return False
        return True

    def create(self, spec: ContainerSpec) -> str:
        """Create, do not start. Returns the id."""
        options = to_docker(spec, api_version=self.api_version, cpus=self.cpus)
        with translated():
            return str(self.sdk.containers.create(**options).id)

    def start(self, container: str) -> None:
        with translated():
            self.sdk.api.start(container)

    def wait_until_started(self, container: str, *, seconds: float = 30) -> None:
        """Until somebody else's start of this container took effect.

        Raises ContainerGone if it ended meanwhile, EngineError if it takes too long.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = self._state(container)
            if state == "running":
                return
            if state != "created":
                raise ContainerGone(f"the container is {state} before its client began")
            time.sleep(0.02)
        raise EngineError(f"the container did not start within {seconds:g} s")

    def ends_soon(self, container: str, *, seconds: float = 2) -> bool:
        """Whether it is not running any more within that time. One that is gone is not."""
        deadline = time.monotonic() + seconds
        try:
            while self._state(container) == "running":
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.02)
        except ContainerGone:
            pass
        return True

    def _state(self, container: str) -> str:
        with translated():
            return str(self.sdk.api.inspect_container(container)["State"]["Status"])

    def check_mounts(self, container: str, mounts: Iterable[Mount], *, hook: bool) -> None:
        """Compare each mount, as the started container sees it, with the plan.

        Device and inode of a bind mount are those of its source. `hook`: the image holds our hook,
        whose `look` waits until the entrypoint stands at the gate. Raises MountMismatch, or
        EngineError when nobody can look.
        """
        expected = {str(m.target): m for m in mounts}
        with translated():
            pid = int(self.sdk.api.inspect_container(container)["State"]["Pid"])
        seen = look.through_proc(pid, container, expected, gate=hook)
        if seen is None:
            seen = self._ask_inside(container, list(expected), hook=hook)
        for target, mount in expected.items():
            if seen.get(target) != (str(mount.device), str(mount.inode)):
                raise MountMismatch(
                    f"{target} in the container is not {mount.source}",
                    "The folder was replaced while the container started. Start again.",
                )

    def _ask_inside(self, container: str, targets: list[str], *, hook: bool) -> look.Seen:
        program = [HOOK, "look"] if hook else ["stat", "-c", "%d %i %n", "--"]
        status, output = self.exec(container, [*program, *targets])
        if status != 0:
            raise EngineError(f"the container's mounts cannot be looked at: {output.strip()}")
        return look.by_lines(output)

    def at_gate(self, container: str) -> bool:
        """Whether the container's entrypoint still waits for its mounts to be compared."""
        try:
            with translated():
                rows = self.sdk.api.top(container)["Processes"]
        except EngineError:
            # What ended stands at no gate; of one that runs, nothing is known.
            if self.ends_soon(container, seconds=0):
                return False
            raise
        return any(_AT_GATE.search(row[-1]) for row in rows)

    def release(self, container: str) -> None:
        """Open the gate: the client may begin."""
        with translated():
            self.sdk.api.kill(container, signal=GATE_SIGNAL)

    def signal(self, container: str, number: int) -> None:
        """Send a signal to what runs in the container. One that ended needs none."""
        with suppress(EngineError), translated():
            self.sdk.api.kill(container, signal=number)

    def exec(self, container: str, argv: list[str]) -> tuple[int, str]:
        """Run to the end in a container, as its user. Returns status and output."""
        with translated():
            status, output = self.sdk.containers.get(container).exec_run(argv)
        assert status is not None
        assert isinstance(output, bytes)
        return status, output.decode("utf-8", "replace")

    def containers(self, home: str, group: str | None = None) -> list[Container]:
        """Every container of this home, running or not, by name."""
        wanted = [f"{LABEL_HOME}={home}"]
        if group is not None:
            wanted.append(f"{LABEL_GROUP}={group}")
        with translated():
            rows = self.sdk.api.containers(all=True, filters={"label": wanted})
        return sorted((_container(row) for row in rows), key=lambda c: c.name)

    def stop(self, container: str, *, grace: int = 10) -> None:
        """Stop and remove. Already gone counts as stopped."""
        try:
            with translated():
                self.sdk.api.stop(container, timeout=grace)
        except ContainerGone:
            return
        self.remove(container)

    def remove(self, container: str) -> None:
        """Remove, killing what still runs. Already gone, or just being removed, counts as done."""
        try:
            with translated():
                self.sdk.api.remove_container(container, force=True, v=True)
        except ContainerGone:
            return
        except EngineError as error:
            if "already in progress" not in error.message:
                raise


def _container(row: Mapping[str, Any]) -> Container:
    labels = row.get("Labels") or {}
    return Container(
        id=str(row["Id"]),
        name=str(row["Names"][0]).lstrip("/") if row.get("Names") else str(row["Id"])[:12],
        group=labels.get(LABEL_GROUP, ""),
        client=labels.get(LABEL_CLIENT, ""),
        role=labels.get(LABEL_ROLE, ""),
        thread=labels.get(LABEL_THREAD, ""),
        owner=labels.get(LABEL_OWNER, ""),
        state=str(row["State"]),
        image=str(row["Image"]),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row["Created"])),
        status=str(row.get("Status", "")),
        mounts=read_mounts_label(labels.get(LABEL_MOUNTS, "")),
        image_id=str(row.get("ImageID", "")),
        asked_image=labels.get(LABEL_IMAGE, ""),
        context=labels.get(LABEL_CONTEXT, ""),
    )

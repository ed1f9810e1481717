"""What lies in an image, read without starting anything of it."""

from __future__ import annotations

import io
import secrets
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker.errors

from pannier import owner
from pannier.clients.client import Link
from pannier.engine.connect import translated
from pannier.engine.containers import Engine
from pannier.engine.spec import LABEL_OWNER, LABEL_ROLE
from pannier.errors import EngineError, PannierError

LIMIT = 64 << 20
"""Bytes of one folder or file that are read at most."""

_ROLE = "look"
_LABEL_PIDS = "pannier.pids"
_LONGEST_LOOK = 3600


@dataclass(frozen=True)
class ImageConfig:
    """What an image says of itself."""

    labels: dict[str, str]
    environment: dict[str, str]
    user: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]


class ImageFiles:
    """The files of an image."""

    def __init__(self, engine: Engine, container: str, config: ImageConfig) -> None:
        self._engine = engine
        self._container = container
        self.config = config

    def read(self, path: str) -> bytes | Link | None:
        """The file or link at a path from the root; None if there is neither."""
        return self._archive(path).get("") if path else None

    def below(self, folder: str) -> dict[str, bytes | Link]:
        """Files and links below a folder, by path from the root."""
        found = self._archive(folder)
        return {f"{folder}/{path}": content for path, content in found.items() if path}

    def exists(self, path: str) -> bool:
        """Whether anything is there; links on the way are followed."""
        return self._stat(path) is not None

    def _stat(self, path: str) -> Any:
        try:
            with translated_but_missing():
                stream, about = self._engine.sdk.api.get_archive(self._container, f"/{path}")
                stream.close()
        except FileNotFoundError:
            return None
        return about

    def _archive(self, path: str) -> dict[str, bytes | Link]:
        """By path below `path`, which itself is ""."""
        data = io.BytesIO()
        try:
            with translated_but_missing():
                stream, _ = self._engine.sdk.api.get_archive(self._container, f"/{path}")
                for chunk in stream:
                    if data.tell() > LIMIT:
                        raise PannierError(f"/{path} in the image is larger than {LIMIT >> 20} MiB")
                    data.write(chunk)
        except FileNotFoundError:
            return {}
        data.seek(0)
        found: dict[str, bytes | Link] = {}
        with tarfile.open(fileobj=data) as archive:
            for member in archive:
                name = member.name.partition("/")[2]
                if member.issym():
                    found[name] = Link(member.linkname)
                elif member.isfile() and (file := archive.extractfile(member)):
                    found[name] = file.read()
        return found


@contextmanager
def translated_but_missing() -> Iterator[None]:
    """Errors of the SDK as ours; FileNotFoundError where a path is not there."""
    with translated():
        try:
            yield
        except docker.errors.NotFound as error:
            raise FileNotFoundError(str(error.explanation)) from error


@contextmanager
def files_of(engine: Engine, image: str) -> Iterator[ImageFiles]:
    """The files of an image, by a container that never runs and is removed at the end.

    Raises ImageNotFound.
    """
    with translated():
        config = engine.sdk.images.get(image).attrs["Config"] or {}
    _sweep(engine)
    name = f"pannier-{_ROLE}-{secrets.token_hex(4)}"
    labels = {LABEL_ROLE: _ROLE, LABEL_OWNER: owner.me(), _LABEL_PIDS: _pids()}
    try:
        with translated():
            engine.sdk.containers.create(
                image, ["-"], name=name, labels=labels, network_mode="none"
            )
        yield ImageFiles(engine, name, _config(config))
    finally:
        engine.remove(name)


def _sweep(engine: Engine) -> None:
    """Remove what a killed process left."""
    with suppress(EngineError), translated():
        found = engine.sdk.api.containers(all=True, filters={"label": f"{LABEL_ROLE}={_ROLE}"})
        for row in found:
            if _is_left(row.get("Labels") or {}, time.time() - row.get("Created", 0)):
                engine.remove(row["Id"])


def _is_left(labels: Mapping[str, str], age: float) -> bool:
    """Whether whoever made it ended, `age` seconds after.

    A process of another namespace cannot be seen from here, also on a host of the same name; but
    no look takes long.
    """
    mine = labels.get(_LABEL_PIDS, _pids()) == _pids()
    return owner.is_gone(labels.get(LABEL_OWNER, "")) and (mine or age > _LONGEST_LOOK)


def _pids() -> str:
    """The namespace of this process's number (namespaces(7)); empty where it cannot be told."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _config(config: dict[str, Any]) -> ImageConfig:
    pairs = (line.partition("=") for line in config.get("Env") or ())
    return ImageConfig(
        labels=dict(config.get("Labels") or {}),
        environment={name: value for name, _, value in pairs},
        user=str(config.get("User") or ""),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
    )

"""What `pannier bake` writes: the tree that a Dockerfile copies to the root of its image. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pannier.bake.formats import as_json
from pannier.bake.merge import Leaf
from pannier.clients.client import HOOK_PROGRAM, Client, Link
from pannier.engine.recipes import DOCKERFILE, SKELETON, Sources, python_package, rootfs
from pannier.errors import PannierError
from pannier_hook import VERSION

HOOK_FOLDER = "usr/local/lib/pannier"
PACKAGE = f"{HOOK_FOLDER}/pannier_hook"
PROGRAM = f"{HOOK_FOLDER}/bin/pannier-hook"
STARTERS = f"{HOOK_FOLDER}/starters"
RECORD = f"{HOOK_FOLDER}/baked.json"
INSTALL = f"{PACKAGE}/install.py"

Content = bytes | Link

_CONTINUED = re.compile(r"\\\n")
_STARTER = re.compile(r"COPY ([\w-]+) /usr/local/bin/[\w-]+")


@dataclass(frozen=True)
class Tree:
    """What an image gets, by path from the root."""

    client: Client
    hook: Mapping[str, Content]
    """Pannier's own: the hook, starters, first files of HOME. Replaced whenever they are baked."""
    settings: Mapping[str, Content]
    """The client's: a person may have files of their own there."""
    environment: Sequence[str]
    """`ENV` words of pannier's image for this client."""
    digest: str
    """Of the hook; see `hook_digest`."""


def tree(client: Client, sources: Sources) -> Tree:
    """What is to be in an image for `client`. Raises PannierError."""
    baked = rootfs(client)
    stage = _last_stage(sources.files.get(f"images/{client.name}/{DOCKERFILE}", b"").decode())
    hook: dict[str, Content] = {
        f"{HOOK_FOLDER}/{path}": content
        for path, content in (sources.below("hooks") | python_package(client, sources)).items()
    }
    if f"{HOOK_FOLDER}/bin/pannier-hook" not in hook:
        raise PannierError("this installation lacks the hook", "Install pannier again.")
    hook[HOOK_PROGRAM.lstrip("/")] = Link("../lib/pannier/bin/pannier-hook")
    for line in stage:
        if match := _STARTER.fullmatch(line):
            hook[f"{STARTERS}/{match[1]}"] = sources.files[f"images/{client.name}/{match[1]}"]
    own = {p: c for p, c in baked.items() if p.startswith(f"{SKELETON}/") or "pannier" in p}
    return Tree(
        client=client,
        hook=hook | own,
        settings={p: c for p, c in baked.items() if p not in own},
        environment=[line.removeprefix("ENV ") for line in stage if line.startswith("ENV ")],
        digest=hook_digest(hook),
    )


def hook_digest(files: Mapping[str, Content]) -> str:
    """SHA-256 over the hook in a tree. Its program's first line, which every image fits to its
    Python, and compiled modules count for nothing."""
    seen = hashlib.sha256()
    for path in sorted(files):
        content = files[path]
        if isinstance(content, bytes) and is_hook(path):
            if path == PROGRAM:
                content = content.partition(b"\n")[2]
            seen.update(f"{path} {len(content)} ".encode() + content)
    return seen.hexdigest()


def is_hook(path: str) -> bool:
    """Whether a file is part of the hook itself."""
    return path == PROGRAM or (path.startswith(f"{PACKAGE}/") and "__pycache__" not in path)


def _last_stage(dockerfile: str) -> list[str]:
    """The instructions of the last stage, each in one line."""
    text = _CONTINUED.sub(" ", re.sub(r"(?m)^\s*#.*\n", "", dockerfile))
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    starts = [i for i, line in enumerate(lines) if line.startswith("FROM ")]
    return lines[starts[-1] :] if starts else []


@dataclass(frozen=True)
class Record:
    """What is kept in an image about what was baked in."""

    client: str
    version: str = VERSION
    digest: str = ""
    files: tuple[str, ...] = ()
    added: Mapping[str, tuple[Leaf, ...]] = field(default_factory=dict)
    """By settings file: what of it is pannier's."""
    wrote: Mapping[str, str] = field(default_factory=dict)
    """By settings file: SHA-256 of what was written, so that a later edit is seen. A file that a
    person edited in the output is not among them any more: it is theirs."""

    def encode(self) -> bytes:
        added = {
            path: [[list(leaf.keys), leaf.value, leaf.item] for leaf in found]
            for path, found in self.added.items()
        }
        data = {
            "client": self.client,
            "version": self.version,
            "digest": self.digest,
            "files": list(self.files),
            "added": added,
            "wrote": dict(self.wrote),
        }
        return as_json(data).encode()


def read_record(text: bytes) -> Record:
    """The record that a file holds. Raises ValueError."""
    data = json.loads(text.decode("utf-8"))
    try:
        return Record(
            client=str(data["client"]),
            version=str(data["version"]),
            digest=str(data["digest"]),
            files=tuple(str(path) for path in data["files"]),
            added={path: tuple(map(_leaf, found)) for path, found in data["added"].items()},
            wrote={str(path): str(digest) for path, digest in data["wrote"].items()},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{RECORD} is no record of pannier's: {error!r}") from error


def _leaf(row: Any) -> Leaf:
    keys, value, item = row
    return Leaf(tuple(str(key) for key in keys), value, bool(item))

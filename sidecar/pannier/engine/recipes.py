"""What an image is made of: a build context in memory, its arguments, and a tag that says it all.

Pure, but for `read_sources`. An agent image stands on up to three local images, which its
Dockerfile asks for by `ARG AGENT`, `ARG HOOK` and `ARG NODE`; they are made first, from
`images/agent`, `images/hook` and `images/node`. One that copies `pannier_agents/` has it in its
context.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from pannier.clients.client import Client, Link
from pannier.errors import PannierError

SKELETON = "usr/share/pannier/skel"
DOCKERFILE = "Dockerfile"

_SHARED = re.compile(r"^ARG (AGENT|HOOK|NODE)$", re.MULTILINE)
_PYTHON = re.compile(rb"^COPY pannier_agents/ ", re.MULTILINE)


@dataclass(frozen=True)
class Sources:
    """The project's own files that go into images, by path as in a checkout."""

    files: Mapping[str, bytes]

    def below(self, folder: str) -> dict[str, bytes]:
        """Files below a folder, by their path in it."""
        cut = len(folder) + 1
        return {p[cut:]: c for p, c in self.files.items() if p.startswith(f"{folder}/")}


@dataclass(frozen=True)
class Recipe:
    """One image to build. From outside come only the base, packages and secrets."""

    name: str
    context: Mapping[str, bytes | Link]
    arguments: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 over everything that decides what the image holds; tags of images below it
        are among the arguments."""
        seen = hashlib.sha256()
        for part in (self.context, self.arguments, self.labels):
            for key in sorted(part):
                value = part[key]
                kind = type(value).__name__
                content = value.target if isinstance(value, Link) else value
                raw = content.encode() if isinstance(content, str) else content
                seen.update(f"{kind} {len(key.encode())} {key} {len(raw)} ".encode() + raw)
            seen.update(b"\0")
        return seen.hexdigest()

    @property
    def tag(self) -> str:
        return f"{self.name}:{self.digest[:12]}"

    def tar(self) -> bytes:
        """The build context: owned by root, scripts executable, and without times, so that a
        cached layer stays valid."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for folder in sorted(_folders(self.context)):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            for path, content in sorted(self.context.items()):
                entry = tarfile.TarInfo(path)
                if isinstance(content, Link):
                    entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, content.target
                    archive.addfile(entry)
                else:
                    entry.mode = 0o755 if content.startswith(b"#!") else 0o644
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        return out.getvalue()


def recipes(client: Client, sources: Sources, *, base: str, hook_version: str) -> list[Recipe]:
    """What to build for a client, in this order; the last is the client's image.

    Raises PannierError when there is no Dockerfile for it.
    """
    dockerfile = sources.files.get(f"images/{client.name}/{DOCKERFILE}")
    if dockerfile is None:
        raise PannierError(
            f"there is no image for {client.name}",
            f"It would be made by images/{client.name}/{DOCKERFILE}.",
        )
    wanted = set(_SHARED.findall(dockerfile.decode()))
    agent = Recipe("pannier-agent", sources.below("images/agent"), {"BASE": base})
    shared = {"AGENT": agent}
    if "NODE" in wanted:
        shared["NODE"] = Recipe("pannier-node", sources.below("images/node"), {"BASE": base})
    if "HOOK" in wanted:
        context = {**sources.below("images/hook"), **_under("pannier", sources.below("hooks"))}
        shared["HOOK"] = Recipe("pannier-hook", context, {"AGENT": agent.tag})
    own = Recipe(
        f"pannier-{client.name}",
        {
            **sources.below(f"images/{client.name}"),
            **python_package(client, sources),
            **_under("rootfs", rootfs(client)),
        },
        {name: shared[name].tag for name in sorted(wanted)},
        {"pannier.client": client.name, "pannier.hook": hook_version, "pannier.base": base},
    )
    return [*shared.values(), own]


def python_package(client: Client, sources: Sources) -> dict[str, bytes]:
    """`pannier_agents`, for a client whose agents are in Python; else nothing."""
    dockerfile = sources.files.get(f"images/{client.name}/{DOCKERFILE}", b"")
    return sources.below("agents") if _PYTHON.search(dockerfile) else {}


def rootfs(client: Client) -> dict[str, bytes | Link]:
    """What the client's module puts into its image, by path from the root."""
    entries: dict[str, bytes | Link] = {}
    for path, content in (
        *((path.lstrip("/"), content) for path, content in client.baked.items()),
        *((f"{SKELETON}/{path}", content) for path, content in client.skeleton.items()),
    ):
        if any(part in ("", ".", "..") for part in path.split("/")):
            raise PannierError(f"{client.name}: {path!r} is not a path in an image")
        entries[path] = content.encode() if isinstance(content, str) else content
    return entries


def data_dir() -> Path:
    """The folder that holds `images/` and `hooks/bin/`: the installed data, or the checkout."""
    installed = Path(str(files("pannier"))) / "data"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[3]


def read_sources() -> Sources:
    """The files that images are made from.

    Raises PannierError when this installation lacks them.
    """
    data = data_dir()
    found = dict(_files(data / "images", "images"))
    found |= _files(data / "hooks" / "bin", "hooks/bin")
    hook = Path(str(files("pannier_hook")))
    found |= _files(hook, "hooks/pannier_hook")
    # Not imported: it needs what only an agent in Python has.
    found |= _files(hook.with_name("pannier_agents"), "agents/pannier_agents")
    if "hooks/bin/pannier-hook" not in found or not any(p.startswith("images/") for p in found):
        raise PannierError(f"{data} holds no images/", "Install pannier again.")
    return Sources(found)


def _files(root: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in root.rglob("*"):
        if path.is_file() and path.parent.name != "__pycache__":
            yield f"{name}/{path.relative_to(root).as_posix()}", path.read_bytes()


def _under(folder: str, entries: Mapping[str, bytes | Link]) -> dict[str, bytes | Link]:
    return {f"{folder}/{path}": content for path, content in entries.items()}


def _folders(paths: Mapping[str, object]) -> set[str]:
    return {str(parent) for path in paths for parent in Path(path).parents} - {"."}

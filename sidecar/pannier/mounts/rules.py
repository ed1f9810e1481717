"""The single rules about sources and targets. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pannier.mounts.allowlist import Entry
from pannier.mounts.names import Blocked
from pannier.mounts.places import Place
from pannier.settings import MountRequest

ENTRY_LIMIT = 200_000


@dataclass(frozen=True)
class Way:
    """Where a path leads, links resolved, and everything that was passed on the way."""

    real: Path
    passed: frozenset[Path]
    """Each folder and link on the way, and the end. Whoever can replace one leads elsewhere."""


@dataclass(frozen=True)
class Root:
    """An entry of the allowlist, and where its path leads now."""

    entry: Entry
    way: Way

    @property
    def real(self) -> Path:
        return self.way.real


@dataclass(frozen=True)
class Grants:
    """The allowlist as it stands now. With an `error` it has no roots."""

    roots: tuple[Root, ...] = ()
    blocked: Blocked = field(default_factory=Blocked)
    error: str = ""
    broken: bool = False
    """The error is one that only a person can mend."""


@dataclass(frozen=True)
class Writable:
    """A folder that containers of a group can write."""

    path: Path
    group: str


@dataclass(frozen=True)
class Below:
    """What lies below a source, by path from there."""

    blocked: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Folders that could not be looked into."""
    too_many: bool = False
    """There are more than ENTRY_LIMIT entries; the rest was not looked at."""
    homes: tuple[str, ...] = ()
    """Homes of pannier."""


@dataclass(frozen=True)
class Seen:
    """A request, and what was observed of its source."""

    request: MountRequest
    fault: str = ""
    """Why there is no such source."""
    way: Way | None = None
    """Where the source leads, links resolved; None if nowhere."""
    device: int = 0
    inode: int = 0
    in_repository: bool = False
    """The source itself lies in a `.git`, or in a bare repository."""
    below: Below = Below()

    @property
    def writes_repository(self) -> bool:
        """Whether the group could write what git reads."""
        found = self.below.repositories or self.in_repository
        return self.request.mode == "rw" and bool(found)


def deciding(real: Path, roots: Iterable[Root]) -> Root | None:
    """The longest root that is the source or holds it; of equal ones the first."""
    holding = [root for root in roots if real.is_relative_to(root.real)]
    return max(holding, key=lambda root: len(root.real.parts), default=None)


def applies(entry: Entry, group: str) -> bool:
    return entry.groups is None or group in entry.groups


def never(real: Path, places: Sequence[Place]) -> str:
    """Why this can be no source whatever the allowlist says; empty if it can.

    Case does not count: on some file systems `~/.SSH` is `~/.ssh`.
    """
    source = _folded(real)
    same = next((place for place in places if _folded(place.path) == source), None)
    if same:
        return f"{real} is {same.what} and never a source"
    for place in places:
        path = _folded(place.path)
        if place.below and source.startswith(path):
            return f"{real} lies in {place.path}, which is {place.what} and never a source"
        if path.startswith(source):
            return f"{real} holds {place.path}, which is {place.what} and never a source"
    return ""


def swappable(way: Way, writable: Iterable[Writable]) -> Writable | None:
    """The folder of a group through which this way leads, if it leads through one.

    What lies below such a folder could be replaced between check and start. The folder itself
    cannot: a container cannot rename what is mounted into it.
    """
    for folder in writable:
        if any(p != folder.path and p.is_relative_to(folder.path) for p in way.passed):
            return folder
    return None


def writable_by(group: str, way: Way, grants: Grants, places: Sequence[Place]) -> Writable | None:
    """What a request for writing gives a group, as far as paths alone tell."""
    root = deciding(way.real, grants.roots)
    if root is None or root.entry.mode != "rw" or not applies(root.entry, group):
        return None
    return None if never(way.real, places) else Writable(way.real, group)


def target_fault(target: str) -> str:
    """Why this is no target below `/workspace/extra`; empty if it is one."""
    if target.startswith("/"):
        return "the target must be relative; it lies below /workspace/extra"
    if not target.isprintable():
        return "the target holds characters that cannot be shown"
    if ":" in target:
        return "the target holds a colon"
    parts = target.split("/")
    if "" in parts:
        return "the target has an empty part"
    if "." in parts or ".." in parts:
        return "the target must not hold . or .. as a part"
    return ""


def targets_clash(one: str, other: str) -> bool:
    """Whether two valid targets are alike, or one lies inside the other."""
    a, b = one.split("/"), other.split("/")
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


@lru_cache(maxsize=4096)
def _folded(path: Path) -> str:
    """With a slash at the end, so that a folder begins what lies below it and nothing else."""
    return f"{path}/".casefold().replace("//", "/")

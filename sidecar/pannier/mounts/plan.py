"""The mount plan of a group: what is mounted, and what is refused, why, and what would grant it.

A pure function of the group's requests, the allowlist, and what was observed on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from pannier.mounts.grant import blocked_paths, command
from pannier.mounts.names import matches
from pannier.mounts.places import Place
from pannier.mounts.rules import (
    ENTRY_LIMIT,
    Grants,
    Root,
    Seen,
    Writable,
    applies,
    deciding,
    never,
    swappable,
    target_fault,
    targets_clash,
)
from pannier.paths import AGENT_ROOT, CONTAINER_HOME, EXTRA_ROOT, RUN_ROOT, GroupPaths
from pannier.settings import MountRequest
from pannier.shown import shown

Mode = Literal["ro", "rw"]

_LISTED = 5


@dataclass(frozen=True)
class Mount:
    """A folder of the host in the container.

    `device` and `inode` are those of the folder that was looked at, to be compared with what the
    started container sees. Both are 0 for a folder of the group that does not exist yet.
    """

    source: Path
    target: PurePosixPath
    mode: Mode
    device: int
    inode: int


@dataclass(frozen=True)
class Refusal:
    """A mount that a group asks for and does not get."""

    source: str
    """As the group asks for it."""
    target: str
    reason: str
    grant: str
    """The command that would grant it; empty where none can."""

    def __str__(self) -> str:
        way = f" Grant it with: {self.grant}" if self.grant else ""
        return f"{shown(self.source)} → {shown(self.target)}: {self.reason}.{way}"


@dataclass(frozen=True)
class MountPlan:
    """What a start mounts, and what it does not."""

    mounts: tuple[Mount, ...]
    refused: tuple[Refusal, ...]

    @property
    def missing(self) -> tuple[Path, ...]:
        """Folders of the group that do not exist yet. A start makes them first."""
        return tuple(mount.source for mount in self.mounts if mount.inode == 0)


def own_mounts(paths: GroupPaths, client: str) -> tuple[tuple[Path, PurePosixPath, Mode], ...]:
    """The folders that every group has in its containers (docs/architecture.md)."""
    return (
        (paths.memory, AGENT_ROOT / "memory", "rw"),
        (paths.files, AGENT_ROOT / "files", "rw"),
        (paths.learned, AGENT_ROOT / "agent-memory", "ro"),
        (paths.conversations, AGENT_ROOT / "conversations", "ro"),
        (paths.instructions, RUN_ROOT / "instructions", "ro"),
        (paths.client(client), CONTAINER_HOME, "rw"),
        (paths.spool, RUN_ROOT / "spool", "rw"),
        (paths.inbox, RUN_ROOT / "inbox", "rw"),
    )


def plan(
    group: str,
    own: Iterable[Mount],
    asked: Sequence[Seen],
    grants: Grants,
    writable: Sequence[Writable],
    places: Sequence[Place],
) -> MountPlan:
    """The group's own mounts, then each request as a mount or as a refusal, in their order."""
    mounts, refused = list(own), []
    for number, seen in enumerate(asked):
        request = seen.request
        others = [s.request for i, s in enumerate(asked) if i != number]
        reasons = [*_target(request, others), *_source(group, seen, grants, writable, places)]
        grant = ""
        if not reasons and seen.way:
            root = deciding(seen.way.real, grants.roots)
            reasons = _not_granted(group, seen, seen.way.real, root, grants)
            if reasons and not grants.broken:
                grant = command(group, seen, seen.way.real, root, grants.blocked)
        if reasons or seen.way is None:
            refused.append(Refusal(request.source, request.target, "; ".join(reasons), grant))
        else:
            target = EXTRA_ROOT / request.target
            mounts.append(Mount(seen.way.real, target, request.mode, seen.device, seen.inode))
    return MountPlan(tuple(mounts), tuple(refused))


def _target(request: MountRequest, others: Iterable[MountRequest]) -> list[str]:
    """What is wrong with the target. No entry of the allowlist can do away with it."""
    fault = target_fault(request.target)
    if fault:
        return [fault]
    return [
        f"its target and {shown(other.target)}, asked for {shown(other.source)}, are the same or "
        "lie one in the other"
        for other in others
        if not target_fault(other.target) and targets_clash(request.target, other.target)
    ]


def _source(
    group: str,
    seen: Seen,
    grants: Grants,
    writable: Sequence[Writable],
    places: Sequence[Place],
) -> list[str]:
    """What is wrong with the source. No entry of the allowlist can do away with it."""
    if seen.way is None:
        return [seen.fault]
    reasons = [reason for reason in (never(seen.way.real, places), seen.fault) if reason]
    if seen.below.homes:
        homes = _list(seen.below.homes)
        reasons.append(f"it holds a pannier home ({homes}) and is never a source")
    if seen.request.mode == "rw":
        # Also what this request would make writable: a way may lead through its own end.
        writable = [*writable, Writable(seen.way.real, group)]
    root = deciding(seen.way.real, grants.roots)
    for what, way in (("it", seen.way), ("its allowed root", root.way if root else None)):
        folder = swappable(way, writable) if way else None
        if folder:
            reasons.append(
                f"the way to {what} leads through {folder.path}, where group {folder.group} "
                "can write and could replace it"
            )
            break
    return reasons


def _not_granted(
    group: str, seen: Seen, real: Path, root: Root | None, grants: Grants
) -> list[str]:
    """What an entry of the allowlist would have to grant, and does not."""
    if grants.broken:
        return [grants.error]
    entry = root.entry if root else None
    reasons = []
    if entry is None:
        reasons.append(grants.error or "no entry of the allowlist holds it")
    elif not applies(entry, group):
        reasons.append(f"{entry.path} is allowed for other groups only")
    if entry and seen.request.mode == "rw" and entry.mode != "rw":
        reasons.append(f"{entry.path} is allowed for reading only")
    excepted = entry.excepted if entry else ()
    blocked = [p for p in blocked_paths(real, seen, grants.blocked) if not _is(p, excepted)]
    if blocked:
        reasons.append(f"it holds blocked names: {_list(blocked)}")
    unread = [p for p in seen.below.unread if not _is(p, excepted)]
    if unread:
        reasons.append(f"it holds folders that cannot be looked into: {_list(unread)}")
    if seen.below.too_many:
        reasons.append(f"it holds more than {ENTRY_LIMIT:,} entries to look at")
    if seen.writes_repository and not (entry and entry.git):
        where = _list(seen.below.repositories) if seen.below.repositories else "around it"
        reasons.append(
            f"it holds a git repository ({where}): who writes there can make the host run "
            "programs at the next git command"
        )
    return reasons


def _is(path: str, patterns: tuple[str, ...]) -> bool:
    return matches(path.rpartition("/")[2], patterns)


def _list(paths: Sequence[str]) -> str:
    more = len(paths) - _LISTED
    return ", ".join(map(shown, paths[:_LISTED])) + (f" and {more:,} more" if more > 0 else "")


def as_data(made: MountPlan) -> dict[str, list[dict[str, str]]]:
    """The plan for programs: `mounts` and `refused`, each a list of flat records of text."""
    return {
        "mounts": [
            {"source": str(m.source), "target": str(m.target), "mode": m.mode} for m in made.mounts
        ],
        "refused": [
            {"source": r.source, "target": r.target, "reason": r.reason, "grant": r.grant}
            for r in made.refused
        ],
    }

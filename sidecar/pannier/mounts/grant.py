"""The command that would grant a refused mount. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from pannier.mounts.names import Blocked
from pannier.mounts.rules import Root, Seen

# So many names of one wildcard pattern are excepted one by one; of more, the pattern.
_ONE_BY_ONE = 5


def command(group: str, seen: Seen, real: Path, root: Root | None, blocked: Blocked) -> str:
    """`pannier mounts allow …` for an entry of just this source, with all that it needs.

    `root` is the one that decides now. A new entry decides instead of it, so what the root says of
    single groups and of scanning is said again. Where the entry of just this source is for every
    group, so is what is added to it, and no group is named.
    """
    entry = root.entry if root else None
    words = ["pannier", "mounts", "allow", str(real)]
    if seen.request.mode == "rw":
        words.append("--rw")
    for_all = root is not None and root.real == real and root.entry.groups is None
    named = (*(entry.groups or () if entry else ()), group)
    for name in () if for_all else dict.fromkeys(named):
        words += ["--group", name]
    for pattern in _patterns((*blocked_paths(real, seen, blocked), *seen.below.unread), blocked):
        words += ["--except", pattern]
    if seen.writes_repository:
        words.append("--git")
    if seen.below.too_many or (entry and not entry.scan):
        words.append("--no-scan")
    return shlex.join(words)


def blocked_paths(real: Path, seen: Seen, blocked: Blocked) -> list[str]:
    """What is blocked in the path of a source, and below it."""
    steps = [step for step in (*reversed(real.parents), real) if blocked.hits(step.name)]
    return [*map(str, steps), *seen.below.blocked]


def _patterns(paths: Iterable[str], blocked: Blocked) -> list[str]:
    names = dict.fromkeys(path.rpartition("/")[2] for path in paths)
    of: dict[str, list[str]] = {}
    for name in names:
        of.setdefault(blocked.pattern(name) or name, []).append(name)
    found: list[str] = []
    for pattern, hits in of.items():
        found += [pattern] if len(hits) > _ONE_BY_ONE else map(_typed, hits)
    return found


def _typed(name: str) -> str:
    """A pattern for one name that can be shown and typed."""
    if name.isprintable():
        return name
    return "".join("?" if not c.isprintable() else f"[{c}]" if c in "*?[" else c for c in name)

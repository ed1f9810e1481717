"""What a sidecar that runs in a container itself can see of the host.

It sees the host's folders only where they are mounted into it, and at their own paths; everything
else at such a path is the sidecar's image.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pannier.mounts.rules import Grants, Seen, deciding
from pannier.paths import in_container

HOST_PATH = "PANNIER_HOST_PATH"
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")


def as_on_host(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with the folders of the host's PATH: what lies there is no source."""
    path = f"{environ.get('PATH', '')}:{environ.get(HOST_PATH, '')}"
    return {**environ, "PATH": path} if in_container(environ) else environ


def mount_points(file: Path = _MOUNTS) -> frozenset[Path]:
    """Where something is mounted in this process's own view, but for the root (proc(5))."""
    points = (line.split(" ")[4] for line in file.read_text().splitlines())
    plain = {Path(_ESCAPE.sub(lambda m: chr(int(m[1], 8)), point)) for point in points}
    return frozenset(plain - {Path("/")})


def is_visible(path: Path, points: Iterable[Path]) -> bool:
    """Whether a path lies on something that is mounted, and not in the image."""
    return any(path.is_relative_to(point) for point in points)


def checked(seen: Seen, grants: Grants, points: Iterable[Path]) -> Seen:
    """The same request, at fault if the sidecar cannot see the root that the allowlist names.

    Where it names none, the source must be visible.
    """
    if seen.way is None:
        return seen
    root = deciding(seen.way.real, grants.roots)
    path = root.real if root else seen.way.real
    if is_visible(path, points):
        return seen
    fault = (
        f"{path} is not mounted into the sidecar's own container, so it cannot be looked at; "
        "mount it there at the same path"
    )
    return replace(seen, fault=fault, device=0, inode=0)

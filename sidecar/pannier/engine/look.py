"""What a started container sees of its mounts: device and inode, target by target.

Where the engine runs on this machine, the kernel tells it at once, by /proc/PID/root (proc(5)).
Where it does not, or this process may not look there, a program in the container tells it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pannier_hook.boot import AT_GATE

Seen = dict[str, tuple[str, str]]

PATIENCE = 5.0
"""The longest that is waited for a container to stand at its gate, in seconds."""


def through_proc(pid: int, container: str, targets: Iterable[str], *, gate: bool) -> Seen | None:
    """What the container whose init has this process id sees; None when it cannot be told here.

    With `gate`, the entrypoint is waited for first: it must stand at its gate to be let go.
    """
    process = Path("/proc") / str(pid)
    try:
        # Elsewhere's process id may be anybody's here.
        if container not in (process / "cgroup").read_text():
            return None
        if gate and not _comes_to_gate(process):
            return None
        return {target: _identity(process / "root" / target.lstrip("/")) for target in targets}
    except OSError:
        return None


def by_lines(text: str) -> Seen:
    """The same from lines `DEVICE INODE TARGET`. Raises ValueError."""
    seen: Seen = {}
    for line in text.splitlines():
        device, inode, target = line.split(" ", 2)
        seen[target] = (device, inode)
    return seen


def _identity(path: Path) -> tuple[str, str]:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return ("-", "-")
    return (str(status.st_dev), str(status.st_ino))


def _comes_to_gate(process: Path) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if any(name == AT_GATE for name in _children(process)):
            return True
        time.sleep(0.005)
    return False


def _children(process: Path) -> Iterator[str]:
    """The names of a process's children."""
    for pid in (process / "task" / process.name / "children").read_text().split():
        yield (process.parent / pid / "comm").read_text().rstrip("\n")

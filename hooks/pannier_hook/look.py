"""What a started container sees of its mounts, told before its client begins."""

from __future__ import annotations

import os
import time

from .boot import AT_GATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE = 5.0
"""The longest that is waited for the container to be at its gate, in seconds."""
_PAUSE = 0.02


def look(paths: Sequence[str], patience: float = PATIENCE, processes: str = "/proc") -> int:
    """Print device, inode and path of each of `paths`, once `boot` waits at the gate.

    A path that is not there gives `- -`. Returns 1, and prints nothing, when no process of this
    container comes to the gate within `patience` seconds.
    """
    until = time.monotonic() + patience
    while not _somebody_at_gate(processes):
        if time.monotonic() >= until:
            line = f"pannier-hook look: nothing waits at the gate after {patience:g} s\n"
            os.write(2, line.encode("ascii"))
            return 1
        time.sleep(_PAUSE)
    os.write(1, b"".join(_line(path) for path in paths))
    return 0


def _line(path: str) -> bytes:
    try:
        status = os.stat(path)
        identity = f"{status.st_dev} {status.st_ino}"
    except OSError:
        identity = "- -"
    return identity.encode("ascii") + b" " + os.fsencode(path) + b"\n"


def _somebody_at_gate(processes: str) -> bool:
    for name in os.listdir(processes):
        if name.isdigit():
            try:
                with open(f"{processes}/{name}/comm", encoding="utf-8", errors="replace") as comm:
                    if comm.read().rstrip("\n") == AT_GATE:
                        return True
            except OSError:
                continue
    return False

"""Which process started a container, so that what a crash left behind can be told apart."""

from __future__ import annotations

import os
from pathlib import Path


def me() -> str:
    """A name of this process that no later process will have: host, pid, and start time."""
    return f"{os.uname().nodename}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(owner: str) -> bool:
    """Whether the process of this name ended. One on another host is taken to be there."""
    host, _, rest = owner.partition(":")
    pid, _, started = rest.partition(":")
    if host != os.uname().nodename or not pid.isdecimal():
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """Boot and clock ticks since then (proc(5): field 22); empty if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return f"{boot[:8]}-{fields[19]}"

"""What a sidecar takes for left by another one."""

from __future__ import annotations

import os
from pathlib import Path

from pannier.engine.contents import _is_left

HERE = str(Path("/proc/self/ns/pid").readlink())
ENDED = f"{os.uname().nodename}:1:long-ago"


def test_a_look_of_another_container_is_not_cut_short() -> None:
    """Its process is not seen from here, though its host has the same name."""
    theirs = {"pannier.owner": ENDED, "pannier.pids": "pid:[1]"}
    assert not _is_left(theirs, age=5)
    assert _is_left(theirs, age=2 * 3600), "no look takes so long"


def test_what_a_killed_process_left_goes_at_once() -> None:
    """It is known to have ended; also what a version without the label left."""
    assert _is_left({"pannier.owner": ENDED, "pannier.pids": HERE}, age=1)
    assert _is_left({"pannier.owner": ENDED}, age=1)


def test_nothing_is_known_of_another_host() -> None:
    """Nor of what has no owner."""
    assert not _is_left({"pannier.owner": "elsewhere:1:x", "pannier.pids": HERE}, age=10**6)
    assert not _is_left({}, age=10**6)

"""Which process started a container."""

from __future__ import annotations

import os
import subprocess
import sys

from pannier import owner


def test_a_process_that_runs_is_there() -> None:
    """A container that this process started is looked after."""
    assert not owner.is_gone(owner.me())


def test_a_process_that_ended_is_gone() -> None:
    """What it started is left behind, also when its number is used again."""
    code = "from pannier import owner; print(owner.me())"
    name = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert owner.is_gone(name)
    host, pid, started = owner.me().split(":")
    assert owner.is_gone(f"{host}:{pid}:{started}0")


def test_a_process_of_another_host_is_taken_to_be_there() -> None:
    """Nothing is known of it, so nothing of it is called left behind."""
    assert not owner.is_gone("elsewhere:1:x-1")
    assert not owner.is_gone("")
    assert not owner.is_gone(f"{os.uname().nodename}:nonsense:1")

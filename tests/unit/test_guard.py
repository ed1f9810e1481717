"""The guard that keeps tests away from a person's own files."""

from __future__ import annotations

import os
from pathlib import Path

from pannier.cli.context import Context
from pannier.paths import allowlist_file


def test_a_test_never_sees_the_real_home(real_home: Path) -> None:
    """The allowlist that a test would read or write is not the person's own."""
    assert not allowlist_file(os.environ).is_relative_to(real_home / ".config")
    assert not allowlist_file(Context(None).environ).is_relative_to(real_home / ".config")


def test_the_environment_is_read_in_one_place() -> None:
    """Only the command's context reads the process's environment; everything else is handed it."""
    package = Path(__file__).parents[2] / "sidecar" / "pannier"
    readers = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if "os.environ" in file.read_text() or "os.getenv" in file.read_text()
    ]
    assert readers == ["cli/context.py"]

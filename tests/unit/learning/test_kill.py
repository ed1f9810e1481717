"""A worker that is killed loses nothing and pays nothing twice."""

from __future__ import annotations

from pathlib import Path

from .killing import Slaughter


def test_a_worker_may_be_killed_anywhere(tmp_path: Path) -> None:
    """SIGKILL at ten random points of extraction and consolidation; tests/long has a hundred."""
    slaughter = Slaughter(tmp_path / "home", "6")
    slaughter.run(10)
    assert slaughter.recorded

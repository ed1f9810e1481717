"""Lessons are drawn and merged by workers that are killed again and again."""

from __future__ import annotations

import os
from pathlib import Path

from tests.unit.learning.killing import Slaughter

KILLS = 100


def test_no_lesson_is_lost_and_none_is_double(tmp_path: Path) -> None:
    """SIGKILL at a hundred random points: no file is half written, and no answer that was recorded
    is paid again."""
    slaughter = Slaughter(tmp_path / "home", os.environ.get("PANNIER_TEST_SEED", "6"))
    slaughter.run(KILLS)
    print(f"\n{slaughter.kills} kills; {len(slaughter.recorded)} answers were found recorded")
    assert slaughter.kills == KILLS
    assert len(slaughter.recorded) >= 3

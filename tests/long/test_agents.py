"""Threads of agents in Python, long ones and many: what they cost, and that no branch leaks."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from tests.unit.agents.conftest import Folders
from tests.unit.agents.differential import Course
from tests.unit.agents.test_growth import bytes_after

SECONDS = float(os.environ.get("PANNIER_LONG_SECONDS", "60"))
"""How long random courses are tried."""
COURSES = 180
STEPS = 25


def test_the_thousandth_turn_costs_what_the_hundredth_did(tmp_path: Path) -> None:
    """Bytes a turn at turn 1,000 are at most 1.5 times those at turn 100; so are those of all
    turns up to there, copies of the whole history included."""
    turns = (50, 100, 150, 950, 1_000, 1_050)
    sizes = dict(zip(turns, asyncio.run(_bytes(tmp_path, turns)), strict=True))
    early, late = sizes[150] - sizes[50], sizes[1_050] - sizes[950]
    print(f"\n{early / 1e5:.1f} KB a turn at turn 100, {late / 1e5:.1f} KB at turn 1,000")
    print(f"{sizes[100] / 1e6:.1f} MB after 100 turns, {sizes[1_000] / 1e6:.1f} MB after 1,000")
    assert late <= 1.5 * early
    assert sizes[1_000] / 1_000 <= 1.5 * sizes[100] / 100


async def _bytes(folder: Path, turns: tuple[int, ...]) -> list[int]:
    return await bytes_after(Folders(folder / "group"), folder / "t.db", turns)


def test_many_random_courses(tmp_path: Path) -> None:
    """As many as the time allows, at most 180: the history is what the plain channel holds."""
    until = time.monotonic() + SECONDS
    done = 0
    for seed in range(1_000, 1_000 + COURSES):
        folder = tmp_path / str(seed)
        asyncio.run(Course(folder, Folders(folder / "group").group(), seed).run(STEPS))
        done += 1
        if time.monotonic() > until:
            break
    print(f"\n{done} courses of {STEPS} steps")
    assert done >= 10

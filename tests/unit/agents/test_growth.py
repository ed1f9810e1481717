"""What a thread costs in the store: as much at its end as at its beginning."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from pannier_agents import open_checkpointer

from .conftest import Folders
from .differential import Course
from .model import FakeModel, agent_with, say, thread


async def bytes_after(folders: Folders, path: Path, turns: tuple[int, ...]) -> list[int]:
    """The size of the store after so many turns of 2 KB each."""
    sizes = []
    model = FakeModel(asked=[], answer=say("y" * 1_000))
    async with open_checkpointer(str(path)) as saver:
        agent = agent_with(model, saver, folders.group())
        for turn in range(1, max(turns) + 1):
            model.asked.clear()
            given = {"messages": [HumanMessage("x" * 1_000)]}
            await agent.ainvoke(given, thread("a"))
            if turn in turns:
                await saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
                sizes.append(path.stat().st_size)
    return sizes


def test_a_late_turn_costs_what_an_early_one_did(folders: Folders, tmp_path: Path) -> None:
    """Ten times as late in a thread, a turn adds at most 1.2 times the bytes."""
    sizes = asyncio.run(bytes_after(folders, tmp_path / "t.db", (10, 30, 130, 150)))
    early, late = sizes[1] - sizes[0], sizes[3] - sizes[2]
    print(f"\n{early / 20 / 1e3:.1f} KB a turn at turn 20, {late / 20 / 1e3:.1f} KB at turn 140")
    assert late <= 1.2 * early


@pytest.mark.parametrize("seed", range(4))
def test_as_the_plain_channel(folders: Folders, tmp_path: Path, seed: int) -> None:
    """Turns, tools at once, failures, compactions, rollbacks to any point and restarts: after each
    step the history is what the plain channel holds."""
    asyncio.run(Course(tmp_path, folders.group(), seed).run(25))

"""A compaction outlives the process that made it, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from pannier_agents import (
    ContextSettings,
    ThreadState,
    checkpoints,
    memory_middleware,
    open_checkpointer,
    rollback,
)
from pannier_agents.settings import Compaction
from tests.unit.agents.conftest import Folders
from tests.unit.agents.model import FakeModel, say, thread

SETTINGS = ContextSettings(
    window=6_000,
    compaction=Compaction(
        trigger_percent=50, reserve_tokens=1_000, keep_recent_tokens=500, min_messages=4
    ),
)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "group")


def test_the_same_bytes_in_another_process(
    store: str, new_thread: Callable[[], str], folders: Folders
) -> None:
    """After a compaction, an agent that opens the store anew sends what the last one sent, and its
    answer; back at a checkpoint from before, it sends what was sent then."""
    name = new_thread()
    model = FakeModel(asked=[])
    summarizer = FakeModel(asked=[], answer=say("It was about mugs."))

    async def turn(text: str, *, back: str = "") -> str:
        """In an agent of its own; the checkpoint after it."""
        async with open_checkpointer(store) as saver:
            agent: Any = create_agent(
                model,
                [],
                middleware=memory_middleware(
                    SETTINGS, summarizer=summarizer, group=folders.group()
                ),
                state_schema=ThreadState,
                checkpointer=saver,
            )
            if back:
                await rollback(agent, name, back, group=folders.group())
            given = {"messages": [HumanMessage(text)]}
            await agent.ainvoke(given, thread(name), durability="sync")
            return (await checkpoints(saver, name))[0].id

    async def story() -> str:
        first = await turn("word-one")
        while not summarizer.asked:
            await turn(f"more {'mug ' * 400}")
            assert len(model.asked) < 20
        await turn("word-two")
        await turn("word-three")
        return first

    first = asyncio.run(story())
    *_, before, after = model.asked
    assert any("It was about mugs." in one.text for one in after)
    assert after[: len(before)] == before
    assert [one.text for one in after[len(before) :]] == ["ok", "word-three"]
    asyncio.run(turn("word-four", back=first))
    assert [one.text for one in model.asked[-1][1:]] == ["word-one", "ok", "word-four"]
    assert model.asked[-1][0] == model.asked[0][0]

"""An agent that makes 2,000 model calls in one turn, with the settings by default."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pannier_agents.settings import ContextSettings
from tests.unit.agents.conftest import Folders
from tests.unit.agents.courses import Course
from tests.unit.agents.runs import changed, compactions, flaws, harbour
from tests.unit.agents.scripted import WINDOW, ScriptedModel

CALLS = 2_000
SECONDS = float(os.environ.get("PANNIER_LONG_SECONDS", "60"))
"""How long random courses are tried."""


@pytest.mark.parametrize("factor", [1.0, 1.7])
def test_two_thousand_calls_in_one_turn(tmp_path: Path, factor: float) -> None:
    """No request exceeds the window or breaks a pair, the task stands in the last one to the
    letter, each compaction has one summary, and the store holds every result whole."""
    asyncio.run(_two_thousand(tmp_path, factor))


async def _two_thousand(folder: Path, factor: float) -> None:
    folders = Folders(folder / "group")
    profile = {"max_input_tokens": WINDOW}
    options: Any = {
        "asked": ScriptedModel(factor=factor, profile=profile),
        "summarizer": ScriptedModel(factor=factor, profile=profile),
        "settings": ContextSettings(),
    }
    async with harbour(folder / "t.db", folders.group(), **options) as here:
        prompt = await here.work(0, CALLS)
        sent, summaries = here.model.log.sent, here.summarizer.summaries
        breaks = here.model.log.breaks()
        print(f"\n{len(sent)} requests, {len(summaries)} summaries, {len(breaks)} breaks")
        assert flaws(here, prompt) == []
        assert len(sent) == CALLS + 1
        assert max(one.tokens for one in sent) <= WINDOW
        assert {how for _, how in summaries} == {"well"}
        assert len(compactions(folders.events())) == len(summaries)
        # Of 100 requests, 80 at least are the request before and what is new.
        assert len(breaks) <= 0.2 * CALLS * max(1.0, factor)
        assert changed(await here.stored()) == []


def test_many_random_courses(tmp_path: Path) -> None:
    """As many as the time allows: see the same in tests/unit."""
    group = Folders(tmp_path).group()
    until = time.monotonic() + SECONDS
    done = 0
    while time.monotonic() < until:
        seed = 1_000 + done
        assert Course(seed, group).run(200) == [], f"seed {seed}"
        done += 1
    print(f"\n{done} courses of 200 steps")
    assert done >= 10

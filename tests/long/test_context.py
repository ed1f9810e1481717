"""An agent that makes 2,000 model calls in one turn, with the settings by default."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pannier_agents.group import Group
from pannier_agents.settings import ContextSettings
from tests.unit.agents.conftest import Folders
from tests.unit.agents.courses import Course
from tests.unit.agents.runs import changed, compactions, config, flaws, harbour
from tests.unit.agents.scripted import WINDOW, ScriptedModel

CHECKOUT = Path(__file__).parents[2]
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
    asked, summarizer = (
        ScriptedModel(factor=factor, profile={"max_input_tokens": WINDOW}) for _ in range(2)
    )
    options: Any = {"asked": asked, "summarizer": summarizer, "settings": ContextSettings()}
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


CHILD = """
import asyncio, sys
from pathlib import Path
from tests.unit.agents.conftest import Folders
from tests.unit.agents.runs import config, harbour, model, order, TASK
from tests.unit.agents.scripted import good

async def main(folder, number):
    def summarize(count):
        if count == number - 1:
            writer.hold = asyncio.Event()
        return good(count)

    writer = model(summarize=summarize, hold=asyncio.Event() if number == 1 else None)
    group = Folders(folder / "group").group()
    async with harbour(folder / "t.db", group, summarizer=writer) as here:
        prompt = {"messages": [("user", order(TASK, 0, 60))]}
        turn = asyncio.create_task(here.agent.ainvoke(prompt, config(), durability="sync"))
        while not any(how == "held" for _, how in writer.summaries):
            await asyncio.sleep(0.01)
        print("held", flush=True)
        await turn

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


@pytest.mark.parametrize("number", [1, 4])
def test_killed_with_its_process(tmp_path: Path, number: int) -> None:
    """The process is killed while a summary is written: a new one goes on where the thread was,
    with the summaries that were made before, and all that the tools gave."""
    words = [sys.executable, "-c", CHILD, str(tmp_path), str(number)]
    with subprocess.Popen(
        words, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        child.kill()
    asyncio.run(_go_on(tmp_path, number))


async def _go_on(folder: Path, number: int) -> None:
    group = Group(
        {"PANNIER_ROOT": str(folder / "group/agent"), "PANNIER_SPOOL": str(folder / "spool")}
    )
    async with harbour(folder / "t.db", group) as here:
        before = (await here.kept()).get("compacted")
        assert bool(before) == (number > 1)
        await here.agent.ainvoke(None, config())
        assert len(here.summarizer.summaries) >= 1
        assert flaws(here, await here.work(60, 61)) == []
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

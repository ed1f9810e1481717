"""An agent works on and on in one thread: no request exceeds the window or breaks a pair, the task
stands in each, and what was sent stays the beginning of what is sent next.

`tests/long` has the same with 2,000 calls and the settings by default.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage

from pannier_agents import checkpoints, compact, rollback

from . import payloads
from .conftest import Folders
from .runs import (
    SETTINGS,
    SHORT,
    SMALL,
    Harbour,
    changed,
    compactions,
    config,
    flaws,
    harbour,
    model,
)
from .scripted import ScriptedModel, holds


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story, timeout=120))


def well(one: ScriptedModel) -> int:
    """Summaries that were written."""
    return sum(how == "well" for _, how in one.summaries)


@pytest.mark.parametrize("factor", [1.0, 1.6, 0.7])
def test_one_long_turn(folders: Folders, tmp_path: Path, factor: float) -> None:
    """A turn of many calls, whatever the model's tokenizer: providers have nothing to object
    to, the task is there to the letter, and the store holds every result whole."""

    async def story() -> None:
        asked = model(factor=factor, check=payloads.problems)
        path = tmp_path / "t.db"
        async with harbour(path, folders.group(), asked=asked) as here:
            prompt = await here.work(0, 40)
            assert flaws(here, prompt) == []
            assert len(here.model.log.sent) == 41
            assert changed(await here.stored()) == []
            assert well(here.summarizer) == len(here.summarizer.summaries) >= 2
            assert len(compactions(folders.events())) == well(here.summarizer)

    run(story())


def test_a_model_that_reports_nothing(folders: Folders, tmp_path: Path) -> None:
    """Without a count by the provider, and with a window that only the settings tell, the estimate
    alone keeps below it."""

    async def story() -> None:
        asked = ScriptedModel(window=SMALL, script=SHORT, reports=False)
        settings = replace(SETTINGS, window=SMALL)
        options: Any = {"settings": settings, "asked": asked}
        async with harbour(tmp_path / "t.db", folders.group(), **options) as here:
            assert flaws(here, await here.work(0, 30)) == []

    run(story())


def test_a_refusal_is_learned_from(folders: Folders, tmp_path: Path) -> None:
    """A model that counts twice the estimate and reports nothing refuses one request: that one is
    sent again with less, and no later one is too long."""

    async def story() -> None:
        asked = model(factor=2.0, reports=False)
        async with harbour(tmp_path / "t.db", folders.group(), asked=asked) as here:
            prompt = await here.work(0, 40)
            refused = [one for one in here.model.log.problems if "are more than" in one]
            assert 1 <= len(refused) <= 3
            assert len({one.split(":")[0] for one in refused}) == 1
            assert set(flaws(here, prompt)) == set(refused)

    run(story())


def test_the_prefix_stays(folders: Folders, tmp_path: Path) -> None:
    """Each request begins with the whole request before, in what the providers' packages send as
    well, but where there was a compaction or a step of pruning, of which each makes room that is
    worth it."""
    bodies: list[list[str]] = []

    def keep(messages: Sequence[BaseMessage]) -> list[str]:
        bodies.append(payloads.bodies(messages))
        return []

    async def story() -> None:
        asked = model(check=keep)
        async with harbour(tmp_path / "t.db", folders.group(), asked=asked) as here:
            await here.work(0, 40)
            sent = here.model.log.sent
            pruned = [one.saved for one in here.model.log.breaks() if one.saved]
            print(f"\n{len(sent)} requests, {well(here.summarizer)} summaries, pruned: {pruned}")
            assert len(here.model.log.breaks()) - len(pruned) <= well(here.summarizer)
            assert all(saved > 0.05 * SMALL for saved in pruned)
            for after, old, new in zip(sent[1:], bodies, bodies[1:], strict=False):
                for body, longer in zip(old, new, strict=True):
                    assert after.share < 1 or longer.startswith(body.removesuffix("]"))

    run(story())


def test_rollback_to_before_a_compaction(folders: Folders, tmp_path: Path) -> None:
    """Back at the end of the first turn the request is the one that would have come then, and not
    the summary of what is no longer there."""

    async def story() -> None:
        options: Any = {"asked": model(2 * SMALL)}
        async with harbour(tmp_path / "t.db", folders.group(), **options) as here:
            await here.work(0, 3)
            assert not here.summarizer.summaries
            before = here.model.log.units
            place = (await checkpoints(here.agent.checkpointer, "t0"))[0].id
            await here.work(3, 30)
            assert well(here.summarizer) >= 1
            await rollback(here.agent, "t0", place, group=here.group)
            here.model.logs.clear()
            first = await here.work(3, 4)
            assert here.model.log.units[: len(before)] == before
            assert holds(here.model.log.messages, first)
            assert flaws(here, await here.work(4, 30)) == []

    run(story())


class Switch(AgentMiddleware[Any, Any, Any]):
    """Another model for a while."""

    def __init__(self, other: ScriptedModel) -> None:
        super().__init__()
        self.other: ScriptedModel | None = other

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(model=self.other) if self.other else request)


def test_a_switch_to_a_small_model(folders: Folders, tmp_path: Path) -> None:
    """A model with a third of the window takes over: its first request fits, and so does what the
    large one is sent afterwards."""

    async def story() -> None:
        large, small = model(3 * SMALL), model(SMALL)
        small.logs = large.logs
        switch = Switch(large)
        options: Any = {"asked": large, "others": [switch]}
        async with harbour(tmp_path / "t.db", folders.group(), **options) as here:
            await here.work(0, 20)
            assert max(one.tokens for one in large.log.sent) > SMALL
            switch.other = small
            assert flaws(here, await here.work(20, 30)) == []
            switch.other = None
            assert flaws(here, await here.work(30, 40)) == []

    run(story())


def fails(number: int) -> str:
    raise RuntimeError("no answer")


def too_long(number: int) -> str:
    raise ContextOverflowError("prompt is too long")


BAD = {
    "fails": fails,
    "empty": lambda _: " \n",
    "much too long": lambda _: "And then there was another paper. " * 20_000,
    "cannot take it": too_long,
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_summarizer(folders: Folders, tmp_path: Path, how: str) -> None:
    """Whatever becomes of the summaries, the agent works on within its window, the task is there,
    and nothing is lost. A summarizer that is down is not asked at each call."""

    async def story() -> None:
        bad = model(summarize=BAD[how])
        async with harbour(tmp_path / "t.db", folders.group(), summarizer=bad) as here:
            assert flaws(here, await here.work(0, 30)) == []
            assert changed(await here.stored()) == []
            assert 1 <= len(bad.summaries) <= 40
            if how != "much too long":
                assert [one for one in folders.events() if one.kind == "error"]
                assert not compactions(folders.events())

    run(story())


def test_a_summarizer_that_recovers(folders: Folders, tmp_path: Path) -> None:
    """After two failures the third attempt makes the summary."""

    async def story() -> None:
        bad = model(summarize=lambda number: fails(number) if number < 3 else "All is noted.")
        async with harbour(tmp_path / "t.db", folders.group(), summarizer=bad) as here:
            assert flaws(here, await here.work(0, 30)) == []
            assert well(bad) >= 1

    run(story())


def test_killed_while_a_summary_is_written(folders: Folders, tmp_path: Path) -> None:
    """The cancellation goes on, no half compaction stays, and a new process goes on where the
    thread was."""

    async def story() -> None:
        held = model(hold=asyncio.Event())
        path = tmp_path / "t.db"
        async with harbour(path, folders.group(), summarizer=held) as here:
            turn = asyncio.create_task(here.work(0, 30))
            while not held.summaries and not turn.done():
                await asyncio.sleep(0.01)
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            assert not (await here.kept()).get("compacted")
        async with harbour(path, folders.group()) as again:
            await again.agent.ainvoke(None, config())
            assert flaws(again, await again.work(30, 31)) == []
            assert well(again.summarizer) >= 1
            assert changed(await again.stored()) == []

    run(story())


def test_two_threads_at_once(folders: Folders, tmp_path: Path) -> None:
    """Two threads on one middleware: each sees its own task and summary alone."""

    async def story() -> None:
        async with harbour(tmp_path / "t.db", folders.group()) as here:
            tasks = "Look for the boats.", "Look for the crates."
            prompts = await asyncio.gather(
                *(here.work(0, 25, seed, text) for seed, text in enumerate(tasks))
            )
            for seed, prompt in enumerate(prompts):
                assert flaws(here, prompt, seed) == []
                said = "".join(map(str, here.model.logs[seed].units))
                assert tasks[1 - seed] not in said
                assert f"call_{1 - seed}_" not in said
                assert changed(await here.stored(seed)) == []

    run(story())


def test_a_new_process(folders: Folders, tmp_path: Path) -> None:
    """A new middleware on the same store sends what the old one would have sent."""

    async def story() -> None:
        path = tmp_path / "t.db"
        async with harbour(path, folders.group()) as here:
            await here.work(0, 25)
            before, written = here.model.log.units, well(here.summarizer)
            assert written >= 1
        async with harbour(path, folders.group()) as again:
            again.model.log.units = before
            prompt = await again.work(25, 26)
            assert again.model.log.sent[0].share == 1
            assert flaws(again, prompt) == []
            assert well(again.summarizer) == 0

    run(story())


async def first_task(here: Harbour) -> str:
    """Two turns; the first prompt."""
    prompt = await here.work(0, 12)
    await here.work(12, 24, text="Go on.")
    return prompt


def test_compacted_without_a_turn(folders: Folders, tmp_path: Path) -> None:
    """A thread that is compacted while nothing runs goes on with the summary, its first task and
    the next request."""

    async def story() -> None:
        async with harbour(tmp_path / "t.db", folders.group()) as here:
            task = await first_task(here)
            whole = here.model.log.sent[-1].tokens
            written = well(here.summarizer)
            assert await compact(here.agent, "t0", here.context)
            assert well(here.summarizer) == written + 1
            prompt = await here.work(24, 25, text="And on.")
            assert flaws(here, prompt) == []
            assert holds(here.model.log.messages, task)
            assert here.model.log.sent[-2].tokens < whole
            assert changed(await here.stored()) == []

    run(story())


def test_the_task_of_many_turns(folders: Folders, tmp_path: Path) -> None:
    """After many turns the first request and the latest one stand in what is sent."""

    async def story() -> None:
        async with harbour(tmp_path / "t.db", folders.group()) as here:
            first = await here.work(0, 5)
            for turn in range(1, 8):
                latest = await here.work(5 * turn, 5 * turn + 5, text=f"Go on, part {turn}.")
            assert flaws(here, latest) == []
            assert holds(here.model.log.messages, first)
            assert well(here.summarizer) >= 2

    run(story())

"""What a person sees of what an agent in Python sends its model."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pannier.paths import Home
from pannier.threads.intake import take_in
from pannier.threads.store import open_store, threads_file
from pannier.threads.view import View, view
from pannier_agents import rollback

from .conftest import Folders
from .runs import SMALL, harbour, model


def seen(home: Home) -> View:
    """What the host says, once it took in what was handed over."""
    take_in(home, {})
    with open_store(threads_file(home, {})) as store:
        found = view(store, store.find_thread("scout"))
    assert found is not None
    return found


def test_it_is_what_was_sent(folders: Folders, tmp_path: Path) -> None:
    """After a compaction and pruning: the sizes come to what the provider counted of the last call,
    the summary is there, and after a rollback it is not."""
    home = Home(tmp_path / "home")
    home.group("scout").spool.mkdir(parents=True)
    home.group("scout").settings.touch()
    (home.root / "pannier.yaml").touch()
    group = folders.group(PANNIER_SPOOL=str(home.group("scout").spool))

    async def story() -> None:
        asked = model()
        async with harbour(tmp_path / "t.db", group, asked=asked) as here:
            await here.work(0, 1)
            before = seen(home)
            assert before.reported
            assert before.report.window == SMALL
            assert before.report.summary == ""
            first = (await here.stored())[-1]
            looks = []
            for begin in range(1, 31, 3):
                await here.work(begin, begin + 3)
                looks.append(now := seen(home))
                sent = here.model.log.sent[-1].tokens
                assert (now.reported, now.report.exact) == (True, True)
                assert 0.8 * sent < now.report.tokens < 1.3 * sent
                kept = (await here.kept()).get("compacted") or {}
                assert now.report.summary == kept.get("summary", "")
            parts = {part.part for part in now.report.parts if part.messages}
            assert parts > {"task", "summary", "request", "results"}
            assert any(one.report.pruned for one in looks)
            await rollback(here.agent, "t0", str(first.id), group=group)
            gone = seen(home)
            assert not gone.reported
            assert gone.report.summary == ""

    asyncio.run(asyncio.wait_for(story(), timeout=120))

"""Whether a thread is compacted when somebody asks for it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pannier import groups
from pannier.clients.transcript import Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.compacting import Compactor
from pannier.engine import Engine
from pannier.errors import PannierError
from pannier.groups import new_settings
from pannier.paths import Home
from pannier.starting import Starter
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    groups.add(made, "scout", new_settings("claude", None, ()))
    return made


def hear(home: Home, *entries: Entry) -> None:
    event = Event("stop", id="0" * 16, at=5, client="claude", session="s-1", thread="main")
    with open_store(threads_file(home, {}), write=True) as store:
        store.apply("scout", event, Reading(entries))


def turn(key: str) -> tuple[Entry, ...]:
    said = (
        Message(f"{key}q", "person", "text", "hello"),
        Message(f"{key}a", "agent", "text", "ho"),
    )
    return TurnBegins(key), *said, TurnEnds("succeeded")


def test_a_summary_is_not_summarized_again(home: Home) -> None:
    """Where nothing was said since, that is said, and no client is started; nor is a model asked.
    What the client says of the summary is nothing new."""
    engine = cast(Engine, SimpleNamespace(containers=lambda _home, _folder: ()))
    compactor = Compactor(Starter(engine, home, {}, "scout", "main"))
    hear(home, *turn("1"))
    assert compactor.decide().session == "s-1"
    hear(
        home,
        Message("s", "client", "compaction", "They greeted."),
        Message("c", "client", "text", "/compact"),
        Message("o", "client", "text", "Compacted"),
    )
    with pytest.raises(PannierError) as refused:
        compactor.decide()
    assert refused.value.message == "nothing was said in scout/main since its last summary"
    assert refused.value.exit_code == 1
    hear(home, *turn("2"))
    assert compactor.decide().session == "s-1"

"""A thread of a real client: its page in `conversations/`, and what is left when it is erased."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import Say
from pannier.engine import Engine
from pannier.threads import conversations, intake
from pannier.threads.delete import delete

from .living import Living, living

NAMES = [name for name, client in clients.CLIENTS.items() if client.events]
PROMPT = "Tell me of Zanzibar 7431."
ANSWER = "Zanzibar 7431 is an island of spices."
TELL_NO_ANSWER = ("copilot",)
"""Their hook is told that a turn ended, and not with which words."""
WORD = b"anzibar 7431"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_an_erased_thread_is_left(engine: Engine, folder: Path, name: str) -> None:
    """But in what the client keeps in a database of its own, which is named."""
    alive = living(engine, folder / f"erase-{name}", clients.get(name))
    alive.model.on = {PROMPT: Say(ANSWER)}
    with alive.container() as shell:
        shell.run(*alive.client.headless(PROMPT))
    taken = intake.take_in(alive.home, os.environ, seconds=60)
    assert (taken.groups, taken.problems) == ({"scout"}, {})

    assert not conversations.keep_up(alive.home, os.environ).problems
    [page] = alive.home.group("scout").conversations.iterdir()
    _, prompt, after = page.read_text().partition(PROMPT)
    assert prompt
    assert f"> {ANSWER}\n" in after or name in TELL_NO_ANSWER
    assert _holding(alive)

    done = delete(alive.home, os.environ, "scout")
    assert done.kept == ()
    assert not page.exists()
    left = {str(file.relative_to(alive.home.group("scout").root)) for file in _holding(alive)}
    assert left <= {f for u in done.plan.untouched for f in (u, f"{u}-wal", f"{u}-shm")}


def _holding(alive: Living) -> list[Path]:
    """The files of the home that still know of it, but for pannier's own list of what it ran."""
    files = (
        file for file in alive.home.root.rglob("*") if file.is_file() and not file.is_symlink()
    )
    return [file for file in files if WORD in file.read_bytes()]

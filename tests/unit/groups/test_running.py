"""Which container `exec` means."""

from __future__ import annotations

import pytest

from pannier.engine import Container
from pannier.errors import EngineError
from pannier.running import choose_up


def up(name: str, client: str) -> Container:
    return Container(
        id=name,
        name=name,
        group="scout",
        client=client,
        role="up",
        thread="main",
        owner="",
        state="running",
        image="i",
        created="",
    )


CLAUDE, CODEX, CODEX_TOO = up("a", "claude"), up("b", "codex"), up("c", "codex")


@pytest.mark.parametrize(
    ("found", "client", "meant"),
    [
        ([CODEX], None, CODEX),
        ([CLAUDE, CODEX], None, CLAUDE),
        ([CLAUDE, CODEX], "codex", CODEX),
        ([CLAUDE, CODEX, CODEX_TOO], None, CLAUDE),
    ],
)
def test_the_container_that_is_meant(
    found: list[Container], client: str | None, meant: Container
) -> None:
    """The client that is named, else the only one, else the group's usual client."""
    assert choose_up(found, "scout", client=client, usual="claude") == meant


@pytest.mark.parametrize(
    ("found", "client", "message"),
    [
        ([], None, "no container that is up"),
        ([CLAUDE], "codex", "no container of codex that is up"),
        ([CODEX, CODEX_TOO], None, "several containers that are up: b"),
        ([CODEX, CODEX_TOO], "codex", "several"),
    ],
)
def test_no_guess_is_made(found: list[Container], client: str | None, message: str) -> None:
    """None, or several alike: an error that says what to do."""
    with pytest.raises(EngineError, match=message):
        choose_up(found, "scout", client=client, usual="claude")

"""What whoever writes a summary is told to keep."""

from __future__ import annotations

import pytest

from pannier_hook.clients import CLIENTS
from pannier_hook.surviving import MUST_SURVIVE, instructions

from .conftest import World
from .test_post_tool import OUTPUT, run, told
from .test_spill import files

GUIDED = [name for name, row in CLIENTS.items() if row.guides_summary]


def pre_compact(world: World, client: str, **environment: str) -> bytes:
    said: dict[str, object] = {"session_id": "s-1", "trigger": "auto"}
    answer = world.run("pre-compact", "--client", client, stdin=said, **environment)
    assert (answer.status, answer.err, answer.errors) == (0, "", [])
    return answer.out


@pytest.mark.parametrize("client", CLIENTS)
def test_before_a_compaction(world: World, client: str) -> None:
    """It is said where the client takes it, nothing is printed elsewhere, and both are recorded."""
    out = pre_compact(world, client)
    assert (b"word for word" in out) is (client in GUIDED)
    assert bool(out) is (client in GUIDED)
    assert [event.kind for _, event in world.events()] == ["pre-compact"]


@pytest.mark.parametrize("client", GUIDED)
def test_switched_off(world: World, client: str) -> None:
    """Without pannier's part in compactions, nothing is said."""
    assert pre_compact(world, client, PANNIER_CONTEXT='{"compaction": {"enabled": false}}') == b""


def test_kept_results(world: World) -> None:
    """The files in which results of this thread are kept are named, and no others."""
    run(world, "claude", told("claude", OUTPUT))
    (path,) = files(world.root)
    assert str(path) in pre_compact(world, "claude").decode().splitlines()
    assert b".txt" not in pre_compact(world, "claude", PANNIER_THREAD="side")


def test_what_it_says() -> None:
    """Requests, corrections, decisions, open work and paths; and no secrets."""
    assert MUST_SURVIVE in instructions()
    for word in ("first request", "latest one", "correction", "decided", "open", "Paths", "secret"):
        assert word in MUST_SURVIVE

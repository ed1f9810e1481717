"""The hook where the sidecar itself asks a client."""

from __future__ import annotations

import pytest

from .conftest import World

EVENTS = (
    "session-start",
    "user-prompt",
    "post-tool",
    "stop",
    "pre-compact",
    "post-compact",
    "session-end",
    "permission-request",
    "scaffold",
)


@pytest.mark.parametrize("event", EVENTS)
def test_it_is_silent(world: World, event: str) -> None:
    """With PANNIER_SILENT=1, nothing is printed, handed over or made, whatever comes."""
    world.write("memory/index.md", "a memory")
    before = sorted(world.root.rglob("*"))
    said = {"session_id": "s", "source": "startup", "prompt": "p", "tool_name": "Bash"}
    answer = world.run(event, "--client", "claude", stdin=said, PANNIER_SILENT="1")
    assert (answer.status, answer.out, answer.err) == (0, b"", "")
    assert world.events() == []
    assert sorted(world.root.rglob("*")) == before


def test_only_when_it_is_told(world: World) -> None:
    """Without it, or with another value, the same event is answered."""
    world.write("memory/index.md", "a memory")
    said = {"session_id": "s", "source": "startup"}
    answer = world.run("session-start", "--client", "claude", stdin=said, PANNIER_SILENT="")
    assert "a memory" in answer.context

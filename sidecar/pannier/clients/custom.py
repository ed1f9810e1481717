"""An agent of somebody's own, in an image of their own."""

from __future__ import annotations

from pannier.clients.client import Client, Endpoint

CLIENT = Client(
    name="custom",
    title="an agent of your own",
    program=(),
    keys=(),
    instructions_file="AGENTS.md",
    baked={},
    skeleton={},
    endpoint=lambda _url: Endpoint(),
    headless=lambda _prompt: (),
    events={},
    fresh=frozenset(),
    notes=("pannier knows no way to drive it, so verify has nothing to look at",),
)

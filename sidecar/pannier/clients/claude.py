"""Claude Code."""

from __future__ import annotations

from pannier.clients.client import Client, Endpoint

CLIENT = Client(
    name="claude",
    title="Claude Code",
    program=("claude",),
    keys=("ANTHROPIC_API_KEY",),
    instructions_file="CLAUDE.md",
    baked={},
    skeleton={},
    endpoint=lambda url: Endpoint(),
    headless=lambda prompt: ("claude", "-p", prompt),
    events={},
    fresh=frozenset(),
)

"""Claude Code."""

from __future__ import annotations

from pannier.clients.client import Client, Endpoint, Link

CLIENT = Client(
    name="claude",
    title="Claude Code",
    program=("claude",),
    keys=("ANTHROPIC_API_KEY",),
    instructions_file="CLAUDE.md",
    baked={"/usr/local/bin/claude": Link("/opt/claude/bin/claude")},
    skeleton={},
    endpoint=lambda url: Endpoint(),
    headless=lambda prompt: ("claude", "-p", prompt),
    events={},
    fresh=frozenset(),
)

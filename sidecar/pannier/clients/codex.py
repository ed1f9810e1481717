"""Codex."""

from __future__ import annotations

from pannier.clients.client import Client, Endpoint

CLIENT = Client(
    name="codex",
    title="Codex",
    program=("codex",),
    keys=("OPENAI_API_KEY",),
    instructions_file="AGENTS.md",
    baked={},
    skeleton={},
    endpoint=lambda url: Endpoint(),
    headless=lambda prompt: ("codex", "exec", prompt),
    events={},
    own_settings=(".codex/hooks.json", ".codex/config.toml"),
    fresh=frozenset(),
)

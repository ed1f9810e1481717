"""Gemini CLI."""

from __future__ import annotations

from pannier.clients.client import Client, Endpoint

CLIENT = Client(
    name="gemini",
    title="Gemini CLI",
    program=("gemini",),
    keys=("GEMINI_API_KEY",),
    instructions_file="GEMINI.md",
    baked={},
    skeleton={},
    endpoint=lambda url: Endpoint(),
    headless=lambda prompt: ("gemini", "-p", prompt),
    events={},
    own_settings=(".gemini/settings.json",),
    fresh=frozenset(),
)

"""The page on turns says what the readers do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pannier import clients
from pannier.clients.transcripts import claude_kinds, codex_items, fields, gemini_records

PAGE = (Path(__file__).parents[3] / "docs" / "turns.md").read_text()


@pytest.mark.parametrize("client", clients.CLIENTS)
def test_each_client_has_its_row(client: str) -> None:
    """What a successful turn is, is said of every client, and nothing is left open."""
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{client}` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 7
    assert all(cells)


@pytest.mark.parametrize("client", clients.CLIENTS.values(), ids=lambda client: client.name)
def test_where_it_is_read(client: clients.Client) -> None:
    """A client is read from its events just when it has no reader of its own."""
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{client.name}` |")]
    assert (row.split("|")[2].strip() == "events") == (client.read is fields.read)


@pytest.mark.parametrize(
    "kind",
    sorted(
        claude_kinds.SILENT_TYPES
        | claude_kinds.SILENT_SYSTEM
        | claude_kinds.SILENT_ATTACHMENTS
        | codex_items.SILENT_RECORDS
        | codex_items.SILENT_ITEMS
        | codex_items.SILENT_EVENTS
        | codex_items.SILENT_SHOWN
        | (gemini_records.SILENT_CHANGES - {"messages"})
    ),
)
def test_what_is_dropped_is_named(kind: str) -> None:
    """Each kind of record that is dropped stands on the page."""
    assert f"`{kind}`" in PAGE

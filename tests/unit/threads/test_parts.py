"""An event in several parts."""

from __future__ import annotations

from pannier.threads.parts import chunks
from pannier_hook.events import Event, Log


def test_the_last_step_is_the_event() -> None:
    """A reader gets the event with the last of its records, as its last part, and only once."""
    parts = [
        Event("stop", id="0" * 16, at=1, part=(k, 3), log=Log("a.jsonl", 4 * k - 4), body=b"{}\n\n")
        for k in (1, 2, 3)
    ]
    steps = list(chunks(parts, most=2))
    assert [(step.event.kind, step.event.part, len(step.lines)) for step in steps] == [
        ("records", (1, 1), 2),
        ("stop", (3, 3), 1),
    ]

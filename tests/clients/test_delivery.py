"""Each real client hands the memory to its model: whole where a context is fresh, else not at all.

The same code as `pannier verify`, with two files of 16,000 characters of hard text.
"""

from __future__ import annotations

from pannier.verify.report import EventReport

from .conftest import Driven
from .habits import HABITS
from .hard_text import LENGTH


def _was_driven(event: EventReport) -> None:
    assert not event.problem, f"{event.problem}\n{event.shown}"


def _whole(event: EventReport) -> None:
    _was_driven(event)
    numbers = {f.path: (f.expected, f.delivered) for f in event.files}
    assert numbers == {
        "memory/index.md": (LENGTH, LENGTH),
        "memory/system/definition.md": (LENGTH, LENGTH),
    }
    assert all(f.where for f in event.files)


def _nothing(event: EventReport) -> None:
    _was_driven(event)
    assert [(f.expected, f.delivered, f.where) for f in event.files] == [(0, 0, "")] * 2


def test_fresh_context(driven: Driven, fresh_event: str) -> None:
    """A fresh context holds every character of both files, once, as they are at that moment."""
    _whole(driven.events[fresh_event])
    about = "as it was" if fresh_event == "startup" else f"edited for {fresh_event}"
    assert any(request.holds(about) for request in driven.requests[fresh_event])


def test_old_context(driven: Driven, old_event: str) -> None:
    """On resume and fork nothing is delivered: the context holds the memory from its start."""
    _nothing(driven.events[old_event])
    asked = driven.requests[old_event]
    assert not any(request.holds(f"edited for {old_event}") for request in asked)
    assert [request for request in asked if request.tools][-1].holds("PANNIER MEMORY")


def test_every_client_has_habits(driven: Driven) -> None:
    """The tests know how to work with each client that pannier can drive."""
    assert driven.client.name in HABITS

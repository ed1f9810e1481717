"""Each real client hands the memory to its model: whole where a context is fresh, else not at all.

The same code as `pannier verify`, with two files of 16,000 characters of hard text.
"""

from __future__ import annotations

import pytest

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


def test_startup(driven: Driven) -> None:
    """A new session begins with every character of both files."""
    _whole(driven.event("startup"))


@pytest.mark.parametrize("event", ["clear", "compact"])
def test_fresh_again(driven: Driven, event: str) -> None:
    """After clear and compact the context holds what the files say now, once and whole."""
    _whole(driven.event(event))
    assert any(request.holds(f"edited for {event}") for request in driven.asked_in(event))


@pytest.mark.parametrize("event", ["resume", "fork"])
def test_not_again(driven: Driven, event: str) -> None:
    """On resume and fork nothing is delivered: the context holds it already."""
    _nothing(driven.event(event))
    assert not any(request.holds(f"edited for {event}") for request in driven.asked_in(event))


def test_context_of_resume_still_holds_the_memory(driven: Driven) -> None:
    """What was delivered at the start is in the request after a resume, too."""
    driven.event("resume")
    last = [request for request in driven.asked_in("resume") if request.tools][-1]
    assert last.holds("PANNIER MEMORY")


def test_every_client_has_habits(driven: Driven) -> None:
    """The tests know how to work with each client that pannier can drive."""
    assert driven.client.name in HABITS

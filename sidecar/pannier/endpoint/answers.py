"""What the scripted model says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Say:
    """A text, and the end of the turn."""

    text: str
    input_tokens: int | None = None
    """What the usage report says about the request; by default a quarter of its characters."""


@dataclass(frozen=True)
class Call:
    """A tool call. It waits for a request that offers a tool of this name.

    Requests that offer no such tool (titles, topics) get a plain `ok` and use nothing up.
    """

    name: str
    arguments: Mapping[str, object] | str
    """A text is the input of a free-form tool, such as Codex's `apply_patch`."""
    input_tokens: int | None = None


Answer = Say | Call

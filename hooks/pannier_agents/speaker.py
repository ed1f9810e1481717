"""Who speaks: the agent of a session, a node of its graph, or a sub-agent that one of its tools
called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_calling: ContextVar[str] = ContextVar("pannier_calling", default="")
"""The session whose tool runs here, "" for none. What the tool starts, in threads too, has it."""


@dataclass(frozen=True)
class Speaker:
    """Of which session, "" where no thread is kept."""

    session: str
    agent: str = ""
    """Id of the sub-agent; "" is the agent of the session itself."""
    is_node: bool = field(default=False, compare=False)
    """Whether it is a part of a larger graph: its own state begins anew at each of its runs."""


def speaker_of(runtime: Any) -> Speaker:
    """Who speaks in this run of LangGraph.

    An agent that a tool calls inherits its thread. It speaks to the tool, whose result says what
    came of it, and no person hears it.
    """
    info = runtime.execution_info
    if info is None or not info.thread_id:
        return Speaker("")
    around = info.checkpoint_ns.rpartition("|")[0]  # The last part is the step of the agent itself.
    if session := _calling.get():
        return Speaker(session, around or info.thread_id)
    return Speaker(info.thread_id, is_node=bool(around))


@contextmanager
def calling(speaker: Speaker) -> Iterator[None]:
    """While a tool of the speaker's runs."""
    token = _calling.set(speaker.session)
    try:
        yield
    finally:
        _calling.reset(token)

"""What was decided of a thread's view, as it is kept with the thread's checkpoints.

By ids of messages, not by places: others may rewrite the history. A mark whose message is no longer
there does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.channels import DeltaChannel
from typing_extensions import NotRequired, TypedDict

from pannier_agents.state import SNAPSHOT_UPDATES


class Pruned(TypedDict):
    """Tool results up to the message `upto` are pruned, with these limits in characters."""

    upto: str
    soft: int
    hard: int


class Compacted(TypedDict):
    """The history up to the message `upto` gave way to a summary."""

    upto: str
    summary: str
    covers: str
    """Id of the last message that the summary tells of, "" when there is no summary; what stands
    between it and `upto` was left out without one."""
    memory: str
    """The group's memory as it was rendered then; "" where the history has none."""
    task: list[str]
    """Ids of messages that stay word for word before the summary."""
    request: list[str]
    """The same after the summary."""
    at: NotRequired[str]
    """Id of the last message of the history then. Another compaction that ends with `upto` is
    another one all the same."""


class Shortened(TypedDict):
    """The last resort: texts and arguments up to the message `upto` have at most `longest`
    characters."""

    upto: str
    longest: int
    spared: list[str]
    """Ids of the messages to which `said` applies instead."""
    said: int | None
    """None: they are sent as they are."""
    media: bool
    """Whether images and files stay."""


class Failed(TypedDict):
    """The last summaries failed."""

    upto: str
    """Id of the last message then."""
    times: int
    """In a row."""


class Marks(TypedDict, total=False):
    """All of it. `{}`: everything is sent as it is."""

    pruned: list[Pruned]
    compacted: Compacted | None
    shortened: Shortened | None
    changed: str
    """Id of the last message when the view was last changed. What was reasoned until then was
    reasoned about another view."""
    failed: Failed | None


def latest(state: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The last write. A DeltaChannel keeps it once, a plain one with every checkpoint."""
    return writes[-1] if writes else state


class ContextState(AgentState[Any]):
    """What `Context` keeps beside the messages."""

    pannier_context: NotRequired[
        Annotated[
            dict[str, Any],
            DeltaChannel(latest, snapshot_frequency=SNAPSHOT_UPDATES),
            PrivateStateAttr,
        ]
    ]


def marks_of(state: Any) -> Marks:
    """Those in a thread's state."""
    return cast(Marks, state.get("pannier_context") or {})


def covers_of(marks: Marks) -> str:
    """Id of the last message of which the summary tells, "" for none: new with each one."""
    made = marks.get("compacted")
    return made["covers"] if made else ""


def summary_of(marks: Marks) -> str:
    """The summary, "" for none."""
    made = marks.get("compacted")
    return made["summary"] if made else ""


def changed(state: Any, messages: Sequence[BaseMessage]) -> dict[str, Marks]:
    """For the state of a thread whose view changes before these messages; nothing where the model
    said none of them."""
    ids = [one.id for one in messages if one.id]
    if not ids or not any(isinstance(one, AIMessage) for one in messages):
        return {}
    return {"pannier_context": {**marks_of(state), "changed": ids[-1]}}

"""The state of an agent's thread: its history grows in the store by what is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langgraph.channels import DeltaChannel
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from typing_extensions import NotRequired, Required, TypedDict

SNAPSHOT_UPDATES = 1_000_000
"""A whole copy of the history after so many updates: never, in practice. LangGraph makes one every
5,000 steps of the agent, which bounds what a resume replays; each further one would make the store
grow with the square of the history."""


class Handed(TypedDict):
    """What of this branch the sidecar was told already."""

    first: str
    """Id of the message with which the history opened then, the system's aside: another one now
    means that somebody rewrote it."""
    last: str
    """Id of the last message that was handed over."""
    size: int
    """Bytes of all records that were handed over."""
    compacted: NotRequired[str]
    """Id of the compaction that held then."""


def merge(state: Sequence[AnyMessage], writes: Sequence[Any]) -> list[AnyMessage]:
    """The messages after `writes`, in which each is a message or a list of them.

    A message with the id of an earlier one takes its place, RemoveMessage takes one or all away,
    anything else is added. As DeltaChannel asks, folding the writes one by one or all at once
    gives the same.
    """
    kept: dict[object, AnyMessage] = {one.id or object(): one for one in state}
    for message in _messages(_flat(writes)):
        if isinstance(message, RemoveMessage):
            if message.id == REMOVE_ALL_MESSAGES:
                kept.clear()
            else:
                kept.pop(message.id, None)
        else:
            kept[message.id or object()] = message
    return list(kept.values())


def _flat(writes: Sequence[Any]) -> list[Any]:
    return [one for write in writes for one in (write if isinstance(write, list) else [write])]


def _messages(values: Sequence[Any]) -> Sequence[Any]:
    if all(isinstance(value, BaseMessage) for value in values):
        return values
    return convert_to_messages(values)


class ThreadState(AgentState[Any]):
    """For `create_agent(state_schema=…)`."""

    messages: Required[
        Annotated[list[AnyMessage], DeltaChannel(merge, snapshot_frequency=SNAPSHOT_UPDATES)]
    ]


class RecordState(AgentState[Any]):
    """What `Record` keeps beside the messages."""

    pannier_handed: NotRequired[Annotated[Handed, PrivateStateAttr]]

"""Threads as a person sees them: their checkpoints, and going back to one.

Nothing is ever taken away. To go back adds a copy of the old checkpoint, which is the latest from
then on; what came after it stays, and can be returned to in the same way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph.state import CompiledStateGraph

from pannier_agents.errors import ThreadError, UnknownCheckpoint, UnknownThread
from pannier_agents.group import Group
from pannier_agents.handover import HandOver, hand_over
from pannier_agents.messages import head_line
from pannier_hook import events, inbox

Agent = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class CheckpointRow:
    """A point in a thread, after one step of the agent. `last` is the id of the last message that
    was recorded by then, "" before the first; `parent` is "" for the first."""

    id: str
    parent: str
    at: str
    """When, in ISO 8601."""
    step: int
    last: str
    active: bool
    """Whether the thread goes on from here."""


async def checkpoints(saver: BaseCheckpointSaver[str], thread: str) -> list[CheckpointRow]:
    """All of the thread's checkpoints, the latest first. Raises UnknownThread."""
    return [
        CheckpointRow(
            id=_id(one),
            parent=(one.parent_config or {}).get("configurable", {}).get("checkpoint_id", ""),
            at=one.checkpoint["ts"],
            step=one.metadata.get("step", -1),
            last=_last(one),
            active=number == 0,
        )
        for number, one in enumerate([one async for one in _all(saver, thread)])
    ]


async def rollback(agent: Agent, thread: str, to: str, *, group: Group | None = None) -> str:
    """Make the thread go on from `to`: a checkpoint's id, or that of the message with which the
    history shall end. The id of the checkpoint that is the latest now.

    Raises UnknownThread and UnknownCheckpoint; then nothing has changed.
    """
    saver = saver_of(agent)
    old = await _find(saver, thread, to)
    copied = await agent.aupdate_state(old.config, None, as_node="__copy__")
    latest = await saver.aget_tuple(_config(thread))
    id = str(copied["configurable"]["checkpoint_id"])
    if latest is None or _id(latest) != id:
        raise ThreadError(
            f"thread {thread!r}: the copy {id} of {to!r} did not become the latest checkpoint; "
            "is this machine's clock behind?"
        )
    group = group or Group.here()
    with group.untroubled(events.RECORDS):
        if last := _last(old):
            hand_over(group, HandOver(events.RECORDS, thread, records=head_line(last)))
    return id


@dataclass(frozen=True)
class Ready:
    """What the next input goes to."""

    thread: str
    problems: tuple[str, ...] = ()
    """What the inbox asked for and could not be done, a line each."""


async def ready(agent: Agent, thread: str, *, group: Group | None = None) -> Ready:
    """Call it before each input.

    A message that a stopped process had written down, but not yet added to the history, is added:
    LangGraph would forget it at the next input. Then the agent goes back where the inbox asks for
    it: in this thread, or in another one, with which to go on.
    """
    latest = await saver_of(agent).aget_tuple(_config(thread))
    if latest is not None and latest.metadata.get("source") == "input":
        await agent.ainvoke(None, _config(thread), interrupt_before="*", durability="sync")
    group = group or Group.here()
    options = group.options(inbox.ROLLBACK)
    box = inbox.Inbox(options.inbox, options.thread)
    problems: list[str] = []
    with group.untroubled(inbox.ROLLBACK):
        for claim in list(box.claims(inbox.ROLLBACK)):
            # Messages have the same keys on the host: the session, and in it the id.
            session, _, to = claim.message.checkpoint.rpartition("/")
            try:
                await rollback(agent, session or thread, to, group=group)
                thread = session or thread
            except ThreadError as problem:
                problems.append(str(problem))
                group.report(inbox.ROLLBACK, problem)
            box.done(claim)
    return Ready(thread, tuple(problems))


async def _find(saver: BaseCheckpointSaver[str], thread: str, to: str) -> CheckpointTuple:
    found = [one async for one in _all(saver, thread)]
    by_id = [one for one in found if _id(one) == to]
    # The first that ends with the message: later ones may already hold what was said next.
    by_message = [one for one in reversed(found) if to and _last(one) == to]
    if not (by_id or by_message):
        raise UnknownCheckpoint(
            f"thread {thread!r} has no checkpoint {to!r}, and none that ends with such a message"
        )
    return (by_id or by_message)[0]


async def _all(saver: BaseCheckpointSaver[str], thread: str) -> AsyncIterator[CheckpointTuple]:
    known = False
    async for one in saver.alist(_config(thread)):
        known = True
        yield one
    if not known:
        raise UnknownThread(f"there is no thread {thread!r}")


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


def saver_of(agent: Agent) -> BaseCheckpointSaver[str]:
    """The store of the agent's threads. Raises ThreadError."""
    if not isinstance(agent.checkpointer, BaseCheckpointSaver):
        raise ThreadError("this agent keeps no threads: give it a checkpointer")
    return agent.checkpointer


def _id(one: CheckpointTuple) -> str:
    return str(one.config["configurable"]["checkpoint_id"])


def _last(one: CheckpointTuple) -> str:
    handed = one.checkpoint["channel_values"].get("pannier_handed")
    return str(handed["last"]) if handed else ""

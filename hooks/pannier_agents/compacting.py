"""A thread is compacted while nothing runs in it."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from pannier_agents.asking import asked_without_waiting
from pannier_agents.budget import budget, profile_of
from pannier_agents.context import Context
from pannier_agents.deciding import compaction
from pannier_agents.errors import ThreadError
from pannier_agents.marks import marks_of, summary_of
from pannier_agents.planning import scale_of, weigh
from pannier_agents.threads import Agent
from pannier_agents.view import view


async def compact(
    agent: Agent, session: str, context: Context, *, model: BaseChatModel | None = None
) -> bool:
    """Compact a thread in which nothing runs, without a turn; whether there was anything to do.

    `model`: writes the summary where `context` has no summarizer. Raises ThreadError; SummaryError
    where there is no summary to be had. Then nothing has changed.
    """
    config = RunnableConfig(configurable={"thread_id": session, "checkpoint_ns": ""})
    writer = context.summarizer or model
    if writer is None:
        raise ThreadError("there is no model to write a summary: give Context a summarizer")
    state = await agent.aget_state(config)
    if state.next:
        raise ThreadError(f"thread {session!r} is in the middle of a turn")
    messages = state.values.get("messages") or []
    if not messages:
        return False
    base = marks_of(state.values)
    size = budget(context.settings, profile_of(model or writer))
    now = weigh(messages, base, context.scale(session) or scale_of(view(messages, base), None))
    problems: list[Exception] = []
    means = replace(context.means(size, writer), problem=problems.append).beside(now)
    new = await asked_without_waiting(compaction(now, means, least=1))
    if problems:
        raise problems[0]
    if new.marks.get("compacted") == base.get("compacted"):
        return False
    await agent.aupdate_state(config, {"pannier_context": dict(new.marks)}, as_node=_last(agent))
    context.tell(session, new, summary_of(new.marks), "manual")
    return True


def _last(agent: Agent) -> str:
    """The step of the agent after which nothing comes. Raises ThreadError."""
    # The first part in the list is the last that sees the end of a turn.
    for name in agent.nodes:
        if name.endswith(".after_agent"):
            return name
    raise ThreadError("this agent has no Context: give it memory_middleware()")

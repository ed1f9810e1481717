"""All of pannier's middleware for an agent, in the order in which it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel

from pannier_agents.context import Context
from pannier_agents.group import Group
from pannier_agents.recall import Recall
from pannier_agents.record import Record
from pannier_agents.settings import ContextSettings
from pannier_agents.spill import Spill

Middleware = AgentMiddleware[Any, Any, Any]


def memory_middleware(
    settings: ContextSettings | None = None,
    *,
    others: Sequence[Middleware] = (),
    summarizer: BaseChatModel | None = None,
    group: Group | None = None,
) -> list[Middleware]:
    """The middleware for `create_agent`, with `others` of the agent's own in their place.

    `settings` are the group's, as `group.yaml` has them in `context:`, unless others are given.
    `summarizer` writes the summaries, by default the agent's model. Raises ValueError for
    settings that are not understood.
    """
    settings = settings or ContextSettings.here()
    group = group or Group.here()
    spill = [Spill(settings, group)] if settings.spill_buffer.enabled else []
    context = Context(settings, summarizer=summarizer, group=group)
    # First is outermost: what others give is recorded and spilled, and what they take away was
    # recorded before. The context is decided on last, when nobody changes the request any more.
    return [Record(group), *spill, *others, Recall(group), context]

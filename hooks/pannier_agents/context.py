"""What the model is sent stays below its window: old results are pruned, old history is compacted.

The stored history is never changed. What was decided stands in the thread's own state, so that a
call sends the same bytes as the one before, and a rollback restores the view of then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.language_models import BaseChatModel

from pannier_agents.group import Group
from pannier_agents.settings import ContextSettings
from pannier_agents.threads import Agent


class Context(AgentMiddleware[Any, Any, Any]):
    """Prunes and compacts what a model is about to be sent. List it before `Recall`, after all that
    changes the messages.

    `summarizer`: the model that writes summaries; None: the one that is called.
    """

    def __init__(
        self,
        settings: ContextSettings | None = None,
        *,
        summarizer: BaseChatModel | None = None,
        group: Group | None = None,
    ) -> None:
        super().__init__()
        self.group = group or Group.here()
        self.settings = settings or ContextSettings.here()
        self.summarizer = summarizer

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        return await handler(request)


async def compact(
    agent: Agent, session: str, context: Context, *, model: BaseChatModel | None = None
) -> bool:
    """Compact a thread in which nothing runs, without a turn; whether there was anything to do.

    `model`: writes the summary where `context` has no summarizer. Raises ThreadError.
    """
    raise NotImplementedError

"""A chat model that answers by a function, and an agent with all of pannier's parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig

from pannier_agents import Recall, Record, ThreadState
from pannier_agents.group import Group

Answer = Callable[[list[BaseMessage]], AIMessage]


def say(text: str) -> Answer:
    return lambda _: AIMessage(text)


class FakeModel(BaseChatModel):
    """Keeps what it was asked."""

    answer: Answer = say("ok")
    asked: list[list[BaseMessage]] = []  # noqa: RUF012

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    @property
    def _llm_type(self) -> str:
        return "fake"


def agent_with(
    model: BaseChatModel,
    saver: Any,
    group: Group,
    *,
    tools: Sequence[Any] = (),
    between: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    state: type = ThreadState,
) -> Any:
    return create_agent(
        model,
        list(tools),
        middleware=[Record(group), *between, Recall(group)],
        state_schema=state,
        checkpointer=saver,
    )


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}

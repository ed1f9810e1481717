"""Steps that have questions for a model, and are done when they were answered."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp

from pannier_agents.summarizing import Answer, Ask

End = TypeVar("End")
Steps = Generator[Ask, Answer, End]

QUIETLY = RunnableConfig(tags=[TAG_NOSTREAM], metadata={"lc_source": "summarization"})
"""A summary is not streamed to whoever listens to the agent."""


def asked(steps: Steps[End]) -> End:
    """What the steps end with."""
    try:
        ask = next(steps)
        while True:
            try:
                answer: Answer = _said(ask.model.invoke(ask.messages, QUIETLY))
            except GraphBubbleUp:
                raise  # No failure, but a question to a person.
            except Exception as problem:
                answer = problem
            ask = steps.send(answer)
    except StopIteration as end:
        return cast(End, end.value)


async def asked_without_waiting(steps: Steps[End]) -> End:
    """The same, while others go on."""
    try:
        ask = next(steps)
        while True:
            try:
                answer: Answer = _said(await ask.model.ainvoke(ask.messages, QUIETLY))
            except GraphBubbleUp:
                raise
            except Exception as problem:
                answer = problem
            ask = steps.send(answer)
    except StopIteration as end:
        return cast(End, end.value)


def _said(answer: object) -> AIMessage:
    if not isinstance(answer, AIMessage):
        raise TypeError(f"the model answered with a {type(answer).__name__}")
    return answer

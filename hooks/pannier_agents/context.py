"""What the model is sent stays below its window: old results are pruned, old history is compacted.

The stored history is never changed. What was decided stands in the thread's own state, so that a
call sends the same bytes as the one before, and a rollback restores the view of then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from pannier_agents.budget import Budget, budget
from pannier_agents.deciding import Means, compaction, decided
from pannier_agents.errors import ThreadError
from pannier_agents.group import Group
from pannier_agents.handover import HandOver, hand_over
from pannier_agents.marks import ContextState, Marks, marks_of
from pannier_agents.messages import is_injected
from pannier_agents.planning import Scale, Weighed, scale_of, weigh
from pannier_agents.recall import memory
from pannier_agents.record import session_of
from pannier_agents.report import Fixed, report_of
from pannier_agents.settings import ContextSettings
from pannier_agents.summarizing import Answer, Ask
from pannier_agents.summary import summary_id
from pannier_agents.threads import Agent
from pannier_agents.view import given_way, view
from pannier_hook import events
from pannier_hook.spool import report

QUIETLY = RunnableConfig(tags=[TAG_NOSTREAM], metadata={"lc_source": "summarization"})
"""A summary is not streamed to whoever listens to the agent."""
_MOST_SESSIONS = 256
"""Of so many something is remembered in the process."""

Update = dict[str, Any] | None
Response = ModelResponse[Any] | ExtendedModelResponse[Any]


@dataclass(frozen=True)
class Sending:
    """A request that is about to be sent."""

    base: Marks
    """Those in the thread's state."""
    now: Weighed
    budget: Budget
    fixed: Fixed
    summary: str
    """The one that was written for it, "" for none."""


class Context(AgentMiddleware[Any, Any, Any]):
    """Prunes and compacts what a model is about to be sent. List it before `Recall`, after all that
    changes the messages.

    `summarizer`: the model that writes summaries; None: the one that is called.
    """

    state_schema = ContextState

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
        self._sendings: dict[str, Sending] = {}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Response:
        sending = _run(self._sending(request))
        if sending is None:
            return handler(request)
        response = handler(request.override(messages=_messages(sending)))
        return self._sent(request, sending, response)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Response:
        sending = await _arun(self._sending(request))
        if sending is None:
            return await handler(request)
        response = await handler(request.override(messages=_messages(sending)))
        return self._sent(request, sending, response)

    def after_agent(self, state: ContextState, runtime: Runtime[Any]) -> Update:
        session = session_of(runtime)
        sending = self._sendings.get(session)
        if session and sending:
            with self.group.untroubled(events.CONTEXT):
                now = weigh(state["messages"], marks_of(state), sending.now.scale)
                details = {"report": report_of(now, sending.budget, sending.fixed)}
                hand_over(self.group, HandOver(events.CONTEXT, session, details))
        return None

    def means(self, size: Budget, model: BaseChatModel) -> Means:
        """For a model of this size that would be asked for summaries."""
        return Means(self.settings, size, self.summarizer or model, self._memory, self._problem)

    def scale(self, session: str) -> Scale | None:
        """What was last known of the session's tokens."""
        sending = self._sendings.get(session)
        return sending.now.scale if sending else None

    def tell(self, session: str, made: Weighed, summary: str, trigger: str) -> None:
        """The sidecar hears of a compaction."""
        with self.group.untroubled(events.POST_COMPACT):
            if session:
                message = summary_id(given_way(made.marks))
                details = {"summary": summary, "trigger": trigger, "message": message}
                hand_over(self.group, HandOver(events.POST_COMPACT, session, details))

    def _sending(self, request: ModelRequest[Any]) -> Generator[Ask, Answer, Sending | None]:
        """What is sent; None where pannier's own work failed, which is reported."""
        if not request.messages:
            return None
        with self.group.untroubled(events.POST_COMPACT):
            session, base = session_of(request.runtime), marks_of(request.state)
            size = budget(self.settings, request.model.profile)
            fixed = Fixed.of(request.system_message, request.tools)
            seen = view(request.messages, base)
            scale = scale_of(seen, fixed.tokens)
            marks, summary = self._paid(session, base, request.messages)
            before = weigh(request.messages, marks, scale, seen if marks is base else None)
            now = yield from decided(before, self.means(size, request.model))
            if _covers(now) != _covers(before):
                summary = _summary(now)
            sending = Sending(base, now, size, fixed, summary)
            while len(self._sendings) >= _MOST_SESSIONS:
                self._sendings.pop(next(iter(self._sendings)), None)
            self._sendings.pop(session, None)
            self._sendings[session] = sending
            return sending
        return None

    def _paid(self, session: str, base: Marks, messages: Sequence[AnyMessage]) -> tuple[Marks, str]:
        """The marks to begin with: those of a request that failed after its summary was written
        are used again."""
        last = self._sendings.get(session)
        if last is None or not last.summary or last.base != base or last.now.marks == base:
            return base, ""
        made = last.now.marks.get("compacted")
        if made is None or all(one.id != made["upto"] for one in messages):
            return base, ""
        return last.now.marks, last.summary

    def _sent(
        self, request: ModelRequest[Any], sending: Sending, response: ModelResponse[Any]
    ) -> Response:
        """The response, with what was decided for the thread's state."""
        if sending.now.marks == sending.base:
            return response
        if sending.summary:
            self.tell(session_of(request.runtime), sending.now, sending.summary, "auto")
        update = {"pannier_context": dict(sending.now.marks)}
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def _memory(self, now: Weighed) -> str:
        if not any(is_injected(one, "memory") for one in now.messages):
            return ""
        try:
            return memory(self.group).text
        except Exception as problem:  # As in `untroubled`: the agent goes on.
            self._problem(problem)
            return next(one.text for one in now.messages if is_injected(one, "memory"))

    def _problem(self, problem: Exception) -> None:
        report(self.group.options(events.POST_COMPACT), problem)


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
    size = budget(context.settings, (model or writer).profile)
    now = weigh(messages, base, context.scale(session) or scale_of(view(messages, base), 0))
    problems: list[Exception] = []
    means = replace(context.means(size, writer), problem=problems.append)
    new = await _arun(compaction(now, means))
    if problems:
        raise problems[0]
    if new.marks.get("compacted") == base.get("compacted"):
        return False
    await agent.aupdate_state(config, {"pannier_context": dict(new.marks)}, as_node=_last(agent))
    context.tell(session, new, _summary(new), "manual")
    return True


def _last(agent: Agent) -> str:
    """The step of the agent after which nothing comes. Raises ThreadError."""
    # The first part in the list is the last that sees the end of a turn.
    for name in agent.nodes:
        if name.endswith(".after_agent"):
            return name
    raise ThreadError("this agent has no Context: give it memory_middleware()")


def _messages(sending: Sending) -> list[AnyMessage]:
    return cast("list[AnyMessage]", sending.now.view.messages)


def _covers(now: Weighed) -> str:
    """What of the history a summary tells of: it changes with each new one."""
    made = now.marks.get("compacted")
    return made["covers"] if made else ""


def _summary(now: Weighed) -> str:
    made = now.marks.get("compacted")
    return made["summary"] if made else ""


def _run(steps: Generator[Ask, Answer, Any]) -> Any:
    """The end of the steps; their questions are asked on the way."""
    answer: Answer | None = None
    try:
        while True:
            ask = steps.send(answer)  # type: ignore[arg-type]
            try:
                answer = _said(ask.model.invoke(ask.messages, QUIETLY))
            except GraphBubbleUp:
                raise
            except Exception as problem:
                answer = problem
    except StopIteration as end:
        return end.value


async def _arun(steps: Generator[Ask, Answer, Any]) -> Any:
    answer: Answer | None = None
    try:
        while True:
            ask = steps.send(answer)  # type: ignore[arg-type]
            try:
                answer = _said(await ask.model.ainvoke(ask.messages, QUIETLY))
            except GraphBubbleUp:
                raise
            except Exception as problem:
                answer = problem
    except StopIteration as end:
        return end.value


def _said(answer: object) -> AIMessage:
    if not isinstance(answer, AIMessage):
        raise TypeError(f"the model answered with a {type(answer).__name__}")
    return answer

"""What the model is sent stays below its window: old results are pruned, old history is compacted.

The stored history is never changed. What was decided stands in the thread's own state, so that a
call sends the same bytes as the one before, and a rollback restores the view of then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from pannier_agents.asking import asked, asked_without_waiting
from pannier_agents.budget import Budget, budget, profile_of
from pannier_agents.deciding import Means, decided
from pannier_agents.form import told_of_form
from pannier_agents.group import Group
from pannier_agents.handover import HandOver, hand_over
from pannier_agents.marks import ContextState, Marks, covers_of, marks_of, summary_of
from pannier_agents.messages import is_injected
from pannier_agents.planning import Scale, Weighed, scale_of, weigh
from pannier_agents.recall import memory
from pannier_agents.report import Fixed, report_of
from pannier_agents.settings import ContextSettings
from pannier_agents.speaker import Speaker, speaker_of
from pannier_agents.summarizing import Answer, Ask, is_too_long
from pannier_agents.summary import summary_id
from pannier_agents.view import given_way, view
from pannier_hook import events

_LEAST_MORE = 1.2
"""A request that was too long has at least so many times the tokens that were estimated."""
_MOST_RETRIES = 3
"""How often one request is sent again, each time with less."""
_MOST_SESSIONS = 256
"""Of so many something is remembered in the process."""

Update = dict[str, Any] | None
Response = ModelResponse[Any] | ExtendedModelResponse[Any]


@dataclass(frozen=True)
class Last:
    """What is remembered of a thread's last request."""

    base: Marks
    """Those in the thread's state when it was made."""
    marks: Marks
    """Those with which it was sent."""
    summary: str
    """The one that was written for it, "" for none."""
    scale: Scale
    budget: Budget
    fixed: Fixed


@dataclass(frozen=True)
class Sending:
    """A request that is about to be sent."""

    now: Weighed
    last: Last

    @property
    def messages(self) -> list[AnyMessage]:
        return cast("list[AnyMessage]", self.now.view.messages)


class Context(AgentMiddleware[Any, Any, Any]):
    """Prunes and compacts what a model is about to be sent. List it last, after all that changes
    the messages.

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
        self._last: dict[Speaker, Last] = {}
        self._changing = Lock()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Response:
        sending = asked(self._sending(request))
        if sending is None:
            return handler(request)
        for _ in range(_MOST_RETRIES):
            try:
                response = handler(request.override(messages=sending.messages))
                return self._sent(request, sending, response)
            except GraphBubbleUp:
                raise  # No failure, but a question to a person.
            except Exception as problem:
                less = asked(self._less(request, sending, problem))
                if less is None:
                    raise
                sending = less
        return self._sent(request, sending, handler(request.override(messages=sending.messages)))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Response:
        sending = await asked_without_waiting(self._sending(request))
        if sending is None:
            return await handler(request)
        for _ in range(_MOST_RETRIES):
            try:
                response = await handler(request.override(messages=sending.messages))
                return self._sent(request, sending, response)
            except GraphBubbleUp:
                raise  # No failure, but a question to a person.
            except Exception as problem:
                less = await asked_without_waiting(self._less(request, sending, problem))
                if less is None:
                    raise
                sending = less
        response = await handler(request.override(messages=sending.messages))
        return self._sent(request, sending, response)

    def after_agent(self, state: ContextState, runtime: Runtime[Any]) -> Update:
        speaker = speaker_of(runtime)
        last = self._last.get(speaker)
        if last and speaker.session and not speaker.agent:
            with self.group.untroubled(events.CONTEXT):
                now = weigh(state["messages"], marks_of(state), last.scale)
                details = {"report": report_of(now, last.budget, last.fixed)}
                hand_over(self.group, HandOver(events.CONTEXT, speaker.session, details))
        return None

    def means(self, size: Budget, model: BaseChatModel) -> Means:
        """For a model of this size that would be asked for summaries."""
        return Means(self.settings, size, self.summarizer or model, self._memory, self._problem)

    def scale(self, session: str) -> Scale | None:
        """What was last known of the session's tokens."""
        last = self._last.get(Speaker(session))
        return last.scale if last else None

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
            speaker = speaker_of(request.runtime)
            base = self._base(speaker, request.state)
            size = budget(self.settings, profile_of(request.model))
            tools = [*request.tools, *told_of_form(request.response_format)]
            fixed = Fixed.of(request.system_message, tools)
            seen = view(request.messages, base)
            scale = self._learned(speaker, scale_of(seen, fixed.tokens), size)
            marks, summary = self._paid(speaker, base, request.messages)
            now = weigh(request.messages, marks, scale, seen if marks is base else None)
            last = Last(base, marks, summary, scale, size, fixed)
            return (yield from self._decided(request, last, now))
        return None

    def _base(self, speaker: Speaker, state: Any) -> Marks:
        """The marks of the request before. A node's state has none when its run begins."""
        base, last = marks_of(state), self._last.get(speaker)
        return last.marks if speaker.is_node and last and not base else base

    def _learned(self, speaker: Speaker, scale: Scale, size: Budget) -> Scale:
        """For a model that reports nothing: what its refusals told of its tokens."""
        last = self._last.get(speaker)
        if scale.exact or last is None or last.scale.exact or last.budget != size:
            return scale
        return replace(scale, factor=max(scale.factor, last.scale.factor))

    def _less(
        self, request: ModelRequest[Any], sending: Sending, problem: Exception
    ) -> Generator[Ask, Answer, Sending | None]:
        """What is sent once more when a provider says that a request was too long, so that more
        stood in it than was estimated; None for another problem, or where nothing can give way."""
        if not is_too_long(problem) or not self.settings.compaction.enabled:
            return None
        with self.group.untroubled(events.POST_COMPACT):
            now = sending.now
            more = max(_LEAST_MORE, sending.last.budget.window / max(1, now.used))
            now = now.scaled(now.scale.factor * more)
            less = yield from self._decided(request, sending.last, now)
            return less if less.now.marks != now.marks else None
        return None

    def _decided(
        self, request: ModelRequest[Any], last: Last, now: Weighed
    ) -> Generator[Ask, Answer, Sending]:
        """What is sent instead of `now`."""
        after = yield from decided(now, self.means(last.budget, request.model))
        summary = (
            last.summary
            if covers_of(after.marks) == covers_of(now.marks)
            else summary_of(after.marks)
        )
        made = replace(last, marks=after.marks, summary=summary, scale=after.scale)
        speaker = speaker_of(request.runtime)
        with self._changing:
            self._last.pop(speaker, None)
            while len(self._last) >= _MOST_SESSIONS:
                del self._last[next(iter(self._last))]
            self._last[speaker] = made
        return Sending(after, made)

    def _paid(
        self, speaker: Speaker, base: Marks, messages: Sequence[AnyMessage]
    ) -> tuple[Marks, str]:
        """The marks to begin with: those of a request that failed after its summary was written
        are used again."""
        last = self._last.get(speaker)
        if last is None or not last.summary or last.base != base:
            return base, ""
        made = last.marks.get("compacted")
        if made is None or all(one.id != made["upto"] for one in messages):
            return base, ""
        return last.marks, last.summary

    def _sent(
        self, request: ModelRequest[Any], sending: Sending, response: ModelResponse[Any]
    ) -> Response:
        """The response, with what was decided for the thread's state."""
        last = sending.last
        if last.marks == marks_of(request.state):
            return response
        speaker = speaker_of(request.runtime)
        if last.summary and not speaker.agent:
            self.tell(speaker.session, sending.now, last.summary, "auto")
        update = {"pannier_context": dict(last.marks)}
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
        self.group.report(events.POST_COMPACT, problem)

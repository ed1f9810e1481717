"""What was said and done reaches the sidecar, and what the sidecar has to say reaches the agent.

Messages are handed over before each model call and at the turn's end: whatever a compaction takes
away between the two was recorded before. How far a branch was handed over stands in its own state,
so that a branch that was left and returned to goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, hook_config
from langchain.agents.middleware.types import ModelResponse
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import AnyMessage, RemoveMessage, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from langgraph.types import Command

from pannier_agents.errors import ThreadError
from pannier_agents.group import Group
from pannier_agents.handover import HandOver, hand_over
from pannier_agents.marks import marks_of
from pannier_agents.messages import (
    end_line,
    goes_on,
    injected,
    is_prompt,
    last_said,
    line,
    mended,
    opening,
    records,
)
from pannier_agents.state import Handed, RecordState
from pannier_agents.view import given_way, standing
from pannier_hook import events, inbox

NOTHING = Handed(first="", last="", size=0)
Update = dict[str, Any] | None


class Record(AgentMiddleware[Any, Any, Any]):
    """Hands over what was said to the sidecar. List it first.

    At a prompt and at a turn's end the messages that wait in the queue are put before the agent,
    at a turn's end once at most. A turn whose model or tool raised is recorded as failed. A call
    that lost its result when the agent was stopped is given one.
    """

    state_schema = RecordState

    def __init__(self, group: Group | None = None) -> None:
        super().__init__()
        self.group = group or Group.here()
        self._begun: set[str] = set()
        self._taken: dict[str, inbox.Taken] = {}
        self._explained = False

    def before_model(self, state: RecordState, runtime: Runtime[Any]) -> Update:
        if not (session := session_of(runtime)):
            self._explain()
            return None
        messages = mended(state["messages"])
        is_whole = list(map(id, messages)) == list(map(id, state["messages"]))
        told: list[AnyMessage] = []
        update: dict[str, Any] = {}
        with self.group.untroubled(events.SESSION_START):
            self._told(session)
            self._begin(session, state)
        with self.group.untroubled(events.RECORDS):
            if messages and is_prompt(messages[-1]):
                said = HandOver(events.USER_PROMPT, session, details={"prompt": messages[-1].text})
                update = self._hand_over(said, messages, state)
                told = self._messages(session, events.USER_PROMPT)
            else:
                update = self._hand_over(HandOver(events.RECORDS, session), messages, state)
        if not is_whole:
            update["messages"] = [RemoveMessage(REMOVE_ALL_MESSAGES), *messages, *told]
        elif told:
            update["messages"] = told
        return update or None

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: RecordState, runtime: Runtime[Any]) -> Update:
        if not (session := session_of(runtime)):
            return None
        messages = state["messages"]
        active = goes_on(messages)
        update: dict[str, Any] = {}
        with self.group.untroubled(events.STOP):
            self._told(session)
            details = {"last": last_said(messages), "active": str(active).lower()}
            update = self._hand_over(HandOver(events.STOP, session, details), messages, state)
        if not active and (told := self._messages(session, events.STOP)):
            update |= {"messages": told, "jump_to": "model"}
        return update or None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        with self._failing(request.state, request.runtime):
            return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        with self._failing(request.state, request.runtime):
            return await handler(request)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        with self._failing(request.state, request.runtime):
            return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        with self._failing(request.state, request.runtime):
            return await handler(request)

    def end(self, session: str, reason: str) -> None:
        """Tell the sidecar that nobody goes on with the session now."""
        with self.group.untroubled(events.SESSION_END):
            if session in self._begun:
                self._begun.discard(session)
                hand_over(self.group, HandOver(events.SESSION_END, session, {"reason": reason}))

    def _explain(self) -> None:
        """Once: without a thread nothing says what was handed over already."""
        if not self._explained:
            self._explained = True
            with self.group.untroubled(events.RECORDS):
                raise ThreadError(
                    "nothing is recorded: the agent needs a checkpointer, and a thread_id"
                )

    def _begin(self, session: str, state: RecordState) -> None:
        """The first time that this process sees the session."""
        if session in self._begun:
            return
        new = "pannier_handed" not in state
        source = get_config().get("metadata", {}).get("pannier_source", "startup")
        details = {"source": source if new else "resume"}
        hand_over(self.group, HandOver(events.SESSION_START, session, details))
        self._begun.add(session)

    def _messages(self, session: str, event: str) -> list[AnyMessage]:
        """What waits in the queue. It counts as told once it stands in the history."""
        taken = inbox.take(self.group.options(event))
        if not taken:
            return []
        self._taken[session] = taken
        return [injected("follow-up" if event == events.STOP else "message", taken.text)]

    def _told(self, session: str) -> None:
        """What was put before the agent in the step before stands in the store now."""
        if taken := self._taken.pop(session, None):
            inbox.done(taken)

    def _hand_over(
        self, what: HandOver, messages: Sequence[AnyMessage], state: RecordState
    ) -> dict[str, Any]:
        """Hand over with the messages that are new; how far that is, for the state."""
        handed = state.get("pannier_handed", NOTHING)
        lines = _lines(messages, state)
        if not lines and what.kind == events.RECORDS:
            return {}
        hand_over(self.group, replace(what, records=lines, offset=handed["size"]))
        first, last = (str(one.id) for one in (messages[opening(messages)], messages[-1]))
        size, compacted = handed["size"] + len(lines), given_way(marks_of(state))
        return {"pannier_handed": Handed(first=first, last=last, size=size, compacted=compacted)}

    @contextmanager
    def _failing(self, state: Any, runtime: Any) -> Iterator[None]:
        """A turn that ends by an exception ends here: no step comes after it."""
        try:
            yield
        except GraphBubbleUp:
            raise  # A question to a person, not an end.
        except Exception as problem:
            self._failed(state, runtime, "failed", f"{type(problem).__name__}: {problem}")
            raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            self._failed(state, runtime, "interrupted", "")
            raise

    def _failed(self, state: Any, runtime: Any, outcome: str, reason: str) -> None:
        if not (session := session_of(runtime)):
            return
        with self.group.untroubled(events.STOP):
            self._told(session)
            handed = state.get("pannier_handed", NOTHING)
            lines = _lines(state["messages"], state) + end_line(outcome, reason)
            active = str(goes_on(state["messages"])).lower()
            details = {"last": "", "active": active, "error": reason}
            hand_over(self.group, HandOver(events.STOP, session, details, lines, handed["size"]))


def _lines(messages: Sequence[AnyMessage], state: RecordState) -> bytes:
    handed, marks = state.get("pannier_handed", NOTHING), marks_of(state)
    is_known = handed.get("compacted", "") == given_way(marks)
    put = [] if is_known else standing(messages, marks)
    new = records(messages, handed["first"], handed["last"], put)
    return b"".join(line(message, parent) for message, parent in new)


def session_of(runtime: Any) -> str:
    """The thread of LangGraph in which this runs; "" for one that is not kept."""
    info = runtime.execution_info
    return (info.thread_id if info else None) or ""

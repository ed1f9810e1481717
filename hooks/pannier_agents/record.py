"""What was said and done reaches the sidecar, and what the sidecar has to say reaches the agent.

Messages are handed over before each model call and at the turn's end: whatever a compaction takes
away between the two was recorded before. How far a branch was handed over stands in its own state,
so that a branch that was left and returned to goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from pannier_agents.known import NOTHING, Known
from pannier_agents.marks import marks_of
from pannier_agents.messages import (
    end_line,
    goes_on,
    injected,
    is_prompt,
    last_said,
    line,
    mended,
    records,
)
from pannier_agents.speaker import Speaker, calling, speaker_of
from pannier_agents.state import Handed, RecordState
from pannier_agents.view import given_way, standing
from pannier_hook import events, inbox

NO_DETAILS: Mapping[str, str] = {}
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
        self._known: dict[str, Known] = {}
        self._explained = False

    def before_model(self, state: RecordState, runtime: Runtime[Any]) -> Update:
        if not (speaker := speaker_of(runtime)).session:
            self._explain()
            return None
        messages = mended(state["messages"])
        is_whole = list(map(id, messages)) == list(map(id, state["messages"]))
        told: list[AnyMessage] = []
        update: dict[str, Any] = {}
        with self.group.untroubled(events.SESSION_START):
            self._told(speaker)
            self._begin(speaker, state)
        with self.group.untroubled(events.RECORDS):
            if messages and is_prompt(messages[-1]) and not speaker.agent:
                details = {"prompt": messages[-1].text}
                update = self._hand_over(events.USER_PROMPT, speaker, messages, state, details)
                told = self._messages(speaker.session, events.USER_PROMPT)
            else:
                update = self._hand_over(events.RECORDS, speaker, messages, state)
        if not is_whole:
            update["messages"] = [RemoveMessage(REMOVE_ALL_MESSAGES), *messages, *told]
        elif told:
            update["messages"] = told
        return update or None

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: RecordState, runtime: Runtime[Any]) -> Update:
        if not (speaker := speaker_of(runtime)).session:
            return None
        messages = state["messages"]
        if speaker.agent:
            with self.group.untroubled(events.RECORDS):
                return self._hand_over(events.RECORDS, speaker, messages, state) or None
            return None
        active = goes_on(messages)
        update: dict[str, Any] = {}
        with self.group.untroubled(events.STOP):
            self._told(speaker)
            details = {"last": last_said(messages), "active": str(active).lower()}
            update = self._hand_over(events.STOP, speaker, messages, state, details)
        if not active and (told := self._messages(speaker.session, events.STOP)):
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
        with self._failing(request.state, request.runtime), calling(speaker_of(request.runtime)):
            return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        with self._failing(request.state, request.runtime), calling(speaker_of(request.runtime)):
            return await handler(request)

    def end(self, session: str, reason: str) -> None:
        """Tell the sidecar that nobody goes on with the session now."""
        with self.group.untroubled(events.SESSION_END):
            if session in self._begun:
                self._begun.discard(session)
                self._known.pop(session, None)
                hand_over(self.group, HandOver(events.SESSION_END, session, {"reason": reason}))

    def _explain(self) -> None:
        """Once: without a thread nothing says what was handed over already."""
        if not self._explained:
            self._explained = True
            with self.group.untroubled(events.RECORDS):
                raise ThreadError(
                    "nothing is recorded: the agent needs a checkpointer, and a thread_id"
                )

    def _begin(self, speaker: Speaker, state: RecordState) -> None:
        """The first time that this process sees the session."""
        session = speaker.session
        if speaker.agent or session in self._begun:
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

    def _told(self, speaker: Speaker) -> None:
        """What was put before the agent in the step before stands in the store now."""
        if not speaker.agent and (taken := self._taken.pop(speaker.session, None)):
            inbox.done(taken)

    def _hand_over(
        self,
        kind: str,
        speaker: Speaker,
        messages: Sequence[AnyMessage],
        state: RecordState,
        details: Mapping[str, str] = NO_DETAILS,
    ) -> dict[str, Any]:
        """Hand over with the messages that are new; how far that is, for the state."""
        handed = self._handed(speaker, messages, state)
        lines = _lines(messages, state, handed)
        if not lines and kind == events.RECORDS:
            return {}
        what = HandOver(kind, speaker.session, details, lines, handed["size"], speaker.agent)
        hand_over(self.group, what)
        first, last = (str(one.id) for one in (messages[0], messages[-1]))
        size = handed["size"] + len(lines)
        compacted = given_way(marks_of(state)) or handed.get("compacted", "")
        new = Handed(first=first, last=last, size=size, compacted=compacted)
        if speaker.is_node:
            self._known.setdefault(speaker.session, Known()).add(messages, new)
        return {"pannier_handed": new}

    def _handed(
        self, speaker: Speaker, messages: Sequence[AnyMessage], state: RecordState
    ) -> Handed:
        """What was handed over before. A node's state does not say so when its run begins."""
        known = self._known.get(speaker.session) if speaker.is_node else None
        return state.get("pannier_handed") or (known.of(messages) if known else NOTHING)

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
        if not (speaker := speaker_of(runtime)).session:
            return
        with self.group.untroubled(events.STOP):
            messages = state["messages"]
            if speaker.agent:  # What its tool makes of it is another matter.
                self._hand_over(events.RECORDS, speaker, messages, state)
                return
            self._told(speaker)
            handed = self._handed(speaker, messages, state)
            lines = _lines(messages, state, handed) + end_line(outcome, reason)
            active = str(goes_on(messages)).lower()
            details = {"last": "", "active": active, "error": reason}
            what = HandOver(events.STOP, speaker.session, details, lines, handed["size"])
            hand_over(self.group, what)


def _lines(messages: Sequence[AnyMessage], state: RecordState, handed: Handed) -> bytes:
    marks = marks_of(state)
    is_known = handed.get("compacted", "") == given_way(marks)
    put = [] if is_known else standing(messages, marks)
    new = records(messages, handed["first"], handed["last"], put)
    return b"".join(line(message, parent) for message, parent in new)

"""What the messages of a thread are to pannier. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)

from pannier_agents.arguments import with_arguments
from pannier_agents.cutting import callers

MARK = "pannier"
"""Member of a message's `additional_kwargs` that says what pannier put there."""
Injected = Literal["memory", "message", "follow-up"]
"""`message`: of the queue, beside a prompt. `follow-up`: of the queue, at a turn's end; with it the
agent goes on."""

_NO_RESULT = (
    "The agent was stopped before the result of this call was recorded. It may have run or not."
)
_NOT_READ = "The arguments of this call could not be read: they are no JSON. It was not made."


def injected(kind: Injected, text: str) -> HumanMessage:
    """A message of pannier's own: the memory, or one of the queue's."""
    return HumanMessage(text, additional_kwargs={MARK: kind})


def is_injected(message: BaseMessage, kind: Injected) -> bool:
    """Whether pannier put it there."""
    return message.additional_kwargs.get(MARK) == kind


def is_summary(message: BaseMessage) -> bool:
    """Whether it stands for what a compaction took away; LangChain's middleware marks it so."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def begins_turn(message: BaseMessage) -> bool:
    """Whether a person speaks, or the queue in a person's place."""
    beside = is_injected(message, "memory") or is_injected(message, "message")
    return isinstance(message, HumanMessage) and not beside and not is_summary(message)


def is_prompt(message: BaseMessage) -> bool:
    """Whether a person speaks."""
    return begins_turn(message) and not is_injected(message, "follow-up")


def opening(messages: Sequence[AnyMessage]) -> int:
    """The place of the first message that is not the system's; these stand before all else."""
    places = (n for n, one in enumerate(messages) if not isinstance(one, SystemMessage))
    return next(places, max(0, len(messages) - 1))


def goes_on(messages: Sequence[AnyMessage]) -> bool:
    """Whether the queue began the turn in which this history ends."""
    turn = next((one for one in reversed(messages) if begins_turn(one)), None)
    return turn is not None and not is_prompt(turn)


def last_said(messages: Sequence[AnyMessage]) -> str:
    """The agent's last words, if it had them."""
    return messages[-1].text if messages and isinstance(messages[-1], AIMessage) else ""


def mended(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages, each with an id, and each tool call with a result, one that got none with one
    that says so, and with arguments that are an object. The very same messages where nothing is
    amiss.

    A provider refuses a history with a call that has no result, or no JSON. A text that was put in
    as it is has no id in a DeltaChannel.
    """
    caller = callers(messages)
    answered = {
        (caller[place], one.tool_call_id)
        for place, one in enumerate(messages)
        if isinstance(one, ToolMessage)
    }
    whole: list[AnyMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage) and message.invalid_tool_calls:
            message = with_arguments(message, lambda one: one)
        whole.append(message if message.id else message.model_copy(update={"id": str(uuid4())}))
        # The calls of the last message are about to be made.
        if not isinstance(message, AIMessage) or index == len(messages) - 1:
            continue
        own = whole[-1].id
        whole.extend(
            ToolMessage(
                text,
                id=f"lost-{own}-{id}",
                tool_call_id=id,
                name=call["name"],
                status="error",
            )
            for calls, text in (
                (message.tool_calls, _NO_RESULT),
                # A provider is sent these as well.
                (message.invalid_tool_calls, _NOT_READ),
            )
            for call in calls
            if (id := call["id"]) and (index, id) not in answered
        )
    return whole


def records(
    messages: Sequence[AnyMessage], first: str, last: str, put: Sequence[AnyMessage] = ()
) -> Iterator[tuple[AnyMessage, str]]:
    """What is new since the history opened with message `first` and ended with `last`, in order,
    each with the id of the message that it follows.

    Where the beginning was rewritten (a compaction, or the memory put before it), that is what was
    put there, and it follows what was said before. So does what was `put` into the context without
    being part of the history.
    """
    ids = [str(one.id) for one in messages]
    known = ids.index(last) + 1 if last in ids else 0
    after = last
    if messages and ids[opening(messages)] != first:
        for message in messages[:known]:
            if is_summary(message) or is_injected(message, "memory"):
                yield message, after
                after = str(message.id)
    for message in (*put, *messages[known:]):
        yield message, after
        after = str(message.id)


def line(message: BaseMessage, parent: str) -> bytes:
    """A message as one line of JSON, as LangChain writes it, with the id of its parent."""
    value = message_to_dict(message)
    # What a tool kept for the program; it was not said to the model.
    value["data"].pop("artifact", None)
    return _line({**value, "parent": parent})


def end_line(outcome: str, reason: str) -> bytes:
    """The line that says that the turn ended otherwise than well."""
    return _line({"type": MARK, "data": {"end": outcome, "reason": reason}})


def head_line(message: str) -> bytes:
    """The line that says that the thread went back to the message with this id."""
    return _line({"type": MARK, "data": {"head": message}})


def _line(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "replace") + b"\n"

"""The checker that the proofs of the context rely on finds each way to break a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from . import pairing
from .payloads import PAYLOADS

Messages = list[AnyMessage]


def called(id: str, *calls: str, text: str = "") -> AIMessage:
    made = [{"name": "look", "args": {"where": call}, "id": call} for call in calls]
    return AIMessage(text, id=id, tool_calls=made)


def result(call: str, content: Any = "found") -> ToolMessage:
    return ToolMessage(content, id=f"r-{call}", tool_call_id=call, name="look")


WHOLE: Messages = [
    SystemMessage("Be brief.", id="s"),
    HumanMessage("Look around.", id="h1"),
    called("a1", "c1", "c2", text="I look."),
    # Results may come in another order than their calls.
    result("c2", [{"type": "text", "text": "found"}]),
    result("c1"),
    called("a2", "c3"),
    result("c3"),
    HumanMessage("And?", id="h2"),
]


def without(place: int) -> Messages:
    return WHOLE[:place] + WHOLE[place + 1 :]


def instead(place: int, *messages: AnyMessage) -> Messages:
    return [*WHOLE[:place], *messages, *WHOLE[place + 1 :]]


BROKEN: dict[str, Messages] = {
    "a result is missing": without(4),
    "the only result is missing": without(6),
    "a call is missing": without(5),
    "a text between call and result": instead(3, HumanMessage("Wait.", id="w"), WHOLE[3]),
    "a result twice": instead(4, WHOLE[4], result("c1").model_copy(update={"id": "r2"})),
    "a call id twice": [*WHOLE[:7], called("a3", "c1"), result("c1"), WHOLE[7]],
    "a result before its call": [*WHOLE[:5], WHOLE[6], WHOLE[5], WHOLE[7]],
    "calls at the end": WHOLE[:6],
}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_whole_conversation(payload: str) -> None:
    """Parallel calls, results in any order and as lists, texts beside calls: nothing to object
    to, in the messages and in each provider's payload."""
    problems, build = PAYLOADS[payload]
    assert pairing.in_messages(WHOLE) == []
    assert problems(build(WHOLE)) == []


@pytest.mark.parametrize("what", BROKEN)
def test_broken_messages(what: str) -> None:
    """Each break is seen in the messages."""
    assert pairing.in_messages(BROKEN[what])


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("what", BROKEN)
def test_broken_payloads(what: str, payload: str) -> None:
    """Each break is seen in what would be sent; OpenAI's Responses pair by id, wherever."""
    problems, build = PAYLOADS[payload]
    allowed = payload == "openai responses" and what == "a text between call and result"
    assert bool(problems(build(BROKEN[what]))) is not allowed


MORE: dict[str, Callable[[], Messages]] = {
    "the model speaks first": lambda: WHOLE[2:],
    "the model speaks last": lambda: [*WHOLE, AIMessage("Yes.", id="a9")],
    "nothing": lambda: WHOLE[:1],
}


@pytest.mark.parametrize("what", MORE)
def test_what_anthropic_refuses_beside(what: str) -> None:
    """The first and the last message are the user's."""
    messages = MORE[what]()
    problems, build = PAYLOADS["anthropic"]
    assert pairing.in_messages(messages)
    assert problems(build(messages))

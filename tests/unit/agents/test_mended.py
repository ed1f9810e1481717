"""A history whose calls lost their results is one that a provider takes again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from pannier_agents import tokens
from pannier_agents.messages import mended
from pannier_agents.shortening import shortened
from pannier_agents.state import merge


def call(id: str, name: str) -> AIMessage:
    return AIMessage("", id=name, tool_calls=[{"name": "look", "args": {}, "id": id}])


def unanswered(messages: Sequence[AnyMessage]) -> list[str]:
    """Ids of messages whose calls have not, directly after them, the results that they want."""
    found = []
    for place, one in enumerate(messages[:-1]):
        if isinstance(one, AIMessage):
            wanted = sorted(str(made["id"]) for made in one.tool_calls)
            after = messages[place + 1 : place + 1 + len(wanted)]
            given = sorted(r.tool_call_id for r in after if isinstance(r, ToolMessage))
            found += [str(one.id)] * (given != wanted)
    return found


def test_an_id_that_is_used_again() -> None:
    """Where a provider numbers its calls anew in each answer, a result belongs to the call before
    it, and not to a later one with the same id."""
    history: list[AnyMessage] = [
        HumanMessage("one", id="1"),
        call("call_0", "a"),
        ToolMessage("here", tool_call_id="call_0", id="r"),
        AIMessage("done", id="b"),
        HumanMessage("two", id="2"),
        call("call_0", "c"),
        HumanMessage("three", id="3"),
    ]
    whole = mended(history)
    assert unanswered(whole) == []
    assert len(whole) == len(history) + 1
    assert whole[2] is history[2]


@given(st.lists(st.sampled_from(["answered", "lost", "person"]), max_size=8))
def test_whatever_was_lost(course: list[str]) -> None:
    """Each call has its own result, also once the thread's state took it all in; a history that is
    whole stays the very same."""
    history: list[AnyMessage] = [HumanMessage("go", id="first")]
    for number, what in enumerate(course):
        if what == "person":
            history.append(HumanMessage("go on", id=f"h{number}"))
            continue
        history.append(call("call_0", f"a{number}"))
        if what == "answered":
            history.append(ToolMessage("here", tool_call_id="call_0", id=f"r{number}"))
    history.append(HumanMessage("and now?", id="last"))
    whole = merge([], mended(history))
    assert unanswered(whole) == []
    assert len(whole) == len(history) + course.count("lost")
    assert list(map(id, mended(whole))) == list(map(id, whole))


BROKEN = '{"text": "' + "the crates on the quay " * 4_000


def broken(args: str, *, form: str = "") -> AIMessage:
    """A call whose arguments are no JSON object; `form`: of a block that says it, too."""
    blocks: dict[str, dict[str, object]] = {
        "invalid_tool_call": {"id": "c", "name": "look", "args": args},
        "function_call": {"call_id": "c", "name": "look", "arguments": args},
        "tool_use": {"id": "c", "name": "look", "input": {}},
    }
    calls = [{"name": "look", "args": args, "id": "c", "error": "", "type": "invalid_tool_call"}]
    content: list[str | dict[str, object]] = [{"type": form, **blocks[form]}] if form else []
    return AIMessage(content or "", id="a", invalid_tool_calls=calls)


@pytest.mark.parametrize("form", ["", "invalid_tool_call", "function_call", "tool_use"])
@pytest.mark.parametrize("args", [BROKEN, "", "[1]", "null"])
def test_arguments_that_could_not_be_read(args: str, form: str) -> None:
    """They become an object, wherever they stand, which holds what was said; once."""
    person = HumanMessage("and now?", id="2")
    whole = mended([HumanMessage("go", id="1"), broken(args, form=form), person])
    assert isinstance(whole[1], AIMessage)
    [call] = whole[1].invalid_tool_calls
    assert json.loads(str(call["args"])) == {"unreadable": args}
    for block in whole[1].content:
        assert isinstance(block, dict)
        said = block.get("args") or block.get("arguments") or json.dumps(block.get("input"))
        assert json.loads(str(said)) == {"unreadable": args}
    assert [type(one) for one in whole[2:]] == [ToolMessage, HumanMessage]
    assert list(map(id, mended(whole))) == list(map(id, whole))


@pytest.mark.parametrize("args", [BROKEN, json.dumps({"text": BROKEN})])
def test_arguments_that_are_too_long(args: str) -> None:
    """The last resort makes them short, whether they could be read or not."""
    short = shortened(broken(args), 500, media=True)
    assert isinstance(short, AIMessage)
    said = str(short.invalid_tool_calls[0]["args"])
    assert len(said) <= 1_100
    assert isinstance(json.loads(said), dict)
    assert tokens.of_message(short) < 500

"""A history whose calls lost their results is one that a provider takes again."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from pannier_agents.messages import mended
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

"""The history in the store: it grows by what is new, and it is what a plain channel would hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from pannier_agents.state import merge

_ids = st.sampled_from("abcdef")
_said = st.builds(lambda id, text: HumanMessage(text, id=id), _ids, st.text(max_size=3))
_gone = _ids.map(RemoveMessage)
_all_gone = st.just(RemoveMessage(REMOVE_ALL_MESSAGES))
_write = st.one_of(_said, st.lists(st.one_of(_said, _said, _gone, _all_gone), max_size=5))
_writes = st.lists(_write, max_size=6)


@given(st.lists(_said, max_size=4), _writes, _writes)
def test_writes_fold_in_any_batches(
    start: list[AnyMessage], first: list[Any], later: list[Any]
) -> None:
    """One by one, in two batches or all at once: the same messages."""
    state = merge([], [start])
    whole = merge(state, first + later)
    assert merge(merge(state, first), later) == whole
    one_by_one: list[AnyMessage] = state
    for write in first + later:
        one_by_one = merge(one_by_one, [write])
    assert one_by_one == whole


@given(st.lists(_said, max_size=6), st.lists(st.lists(_said, max_size=4), max_size=4))
def test_as_the_plain_reducer(start: list[AnyMessage], writes: list[list[AnyMessage]]) -> None:
    """Adding and replacing messages gives what LangGraph's own reducer gives."""
    plain: Any = add_messages([], start)  # type: ignore[arg-type]
    for write in writes:
        plain = add_messages(plain, write)  # type: ignore[arg-type]
    assert merge(merge([], [start]), writes) == plain


def test_a_text_becomes_a_message() -> None:
    """What LangGraph takes for a message is one here, too."""
    [person, agent] = merge([], ["hello", [("ai", "yes")]])
    assert (type(person), person.text) == (HumanMessage, "hello")
    assert (type(agent), agent.text) == (AIMessage, "yes")

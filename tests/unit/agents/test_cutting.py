"""Where a history may be cut in two: never between a call and one of its results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from pannier_agents.cutting import boundaries, calls, cut


def agent(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": id, "name": "look", "args": {}} for id in ids])


def result(id: str) -> ToolMessage:
    return ToolMessage("found", tool_call_id=id)


@st.composite
def histories(draw: st.DrawFn) -> list[BaseMessage]:
    """Turns with parallel calls, whose results may come in any order, with what a person says in
    between; ids may be used again."""
    history: list[BaseMessage] = [HumanMessage("go")]
    for step in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            history.append(HumanMessage("and on"))
        count = draw(st.integers(0, 4))
        prefix = draw(st.sampled_from(["call", f"call-{step}"]))
        ids = [f"{prefix}-{number}" for number in range(count)]
        history.append(agent(*ids))
        results: list[BaseMessage] = [result(id) for id in draw(st.permutations(ids))]
        if draw(st.booleans()):
            results.insert(draw(st.integers(0, count)), HumanMessage("quick"))
        history += results
    return history


@given(histories())
def test_pairs_stay_together(history: list[BaseMessage]) -> None:
    """Both parts hold each of their calls with its results, and every place at which that is so is
    found."""
    for place in range(1, len(history)):
        whole = all(_is_whole(part) for part in (history[:place], history[place:]))
        assert (place in boundaries(history)) == whole


def _is_whole(part: list[BaseMessage]) -> bool:
    open_: list[str] = []
    for one in part:
        open_ += calls(one)
        if isinstance(one, ToolMessage):
            if one.tool_call_id not in open_:
                return False
            open_.remove(one.tool_call_id)
    return not open_


def test_one_long_turn_can_be_cut() -> None:
    """At each of the model's own messages; a call that could not be read has its result too."""
    broken = AIMessage(
        "",
        invalid_tool_calls=[{"id": "b", "name": "look", "args": "{", "error": "", "type": None}],
    )
    history = [
        HumanMessage("go"), agent("a"), result("a"), broken, result("b"), agent("c", "d"),
        result("d"), result("c"), AIMessage("done"),
    ]  # fmt: skip
    assert boundaries(history) == [1, 3, 5, 8]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.data())
def test_as_much_as_fits_stays(sizes: list[int], data: st.DataObject) -> None:
    """The first place is taken behind which no more than that stays; the last one, if none is."""
    every = st.sets(st.integers(1, len(sizes)).filter(lambda place: place < len(sizes)))
    places = sorted(data.draw(every)) if len(sizes) > 1 else []
    most = data.draw(st.integers(0, 200))
    chosen = cut(sizes, places, most)
    fitting = [place for place in places if sum(sizes[place:]) <= most]
    assert chosen == (fitting[0] if fitting else places[-1] if places else None)

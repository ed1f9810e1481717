"""Where a history may be cut: a call and its results stay together. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage


def calls(message: BaseMessage) -> Iterator[str]:
    """The ids of the calls that a provider sees in a message; it wants a result for each. One with
    arguments that could not be read is among them."""
    if isinstance(message, AIMessage):
        for one in (*message.tool_calls, *message.invalid_tool_calls):
            if one["id"]:
                yield one["id"]


def callers(messages: Sequence[BaseMessage]) -> dict[int, int]:
    """Of each result's place that of the message that called for it; its own, where none did."""
    made: dict[str, int] = {}
    caller: dict[int, int] = {}
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            # An id may be used again: a result belongs to the call before it.
            caller[place] = made.get(message.tool_call_id, place)
        elif isinstance(message, AIMessage):
            made.update((id, place) for id in calls(message))
    return caller


def boundaries(messages: Sequence[BaseMessage]) -> list[int]:
    """The places, except for the two ends, at which the messages may be cut in two."""
    caller = callers(messages)
    found: list[int] = []
    earliest = len(messages)
    for place in range(len(messages) - 1, 0, -1):
        earliest = min(earliest, caller.get(place, place))
        if earliest == place and not isinstance(messages[place], ToolMessage):
            found.append(place)
    return found[::-1]


def cut(sizes: Sequence[int], places: Sequence[int], most: float) -> int | None:
    """The first of `places` behind which at most `most` tokens stay, else the last one; None where
    there is no place. `sizes`: of each message."""
    best = places[-1] if places else None
    kept, end = 0, len(sizes)
    for place in reversed(places):
        kept += sum(sizes[place:end])
        end = place
        if kept > most:
            break
        best = place
    return best

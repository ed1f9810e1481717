"""What a model is sent of a history, by what was decided so far. Pure, and the same bytes each
time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from pannier_agents import tokens
from pannier_agents.cutting import calls
from pannier_agents.marks import Compacted, Marks, Shortened
from pannier_agents.messages import begins_turn, injected, is_injected, is_prompt, is_summary
from pannier_agents.pruning import pruner
from pannier_agents.reasoning import without_reasoning
from pannier_agents.shortening import shortened
from pannier_agents.summary import summary_message

Places = Mapping[str | None, int]
"""Where the messages with these ids stand."""


@dataclass(frozen=True)
class View:
    """The messages that are sent: `lead` stands for the history before `start`, `tail` for each
    message from there on."""

    lead: list[BaseMessage]
    tail: list[BaseMessage]
    start: int
    changed: int = -1
    """Place of the last message when the view was last changed; -1: it never was."""
    pruned: int = -1
    """Place of the last message that belongs to a step of pruning."""

    @cached_property
    def sizes(self) -> list[int]:
        """Estimated tokens of each message of the tail."""
        return [*map(tokens.of_message, self.tail)]

    @property
    def messages(self) -> list[BaseMessage]:
        return [*self.lead, *self.tail]


def view(messages: Sequence[BaseMessage], marks: Marks) -> View:
    """The view of a history."""
    if not marks:
        return View([], list(messages), 0)
    places: Places = {one.id: place for place, one in enumerate(messages) if one.id}
    change = _Change(marks, places)
    compacted = marks.get("compacted")
    if compacted is None or compacted["upto"] not in places:
        return View([], change.tail(messages, 0), 0, change.changed, change.pruned)
    start = places[compacted["upto"]] + 1
    lead = [*_lead(messages, compacted, places, change)]
    return View(lead, change.tail(messages, start), start, change.changed, change.pruned)


def lasting(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What stays word for word, whatever gives way."""
    system = (messages[at] for at in _system(messages))
    return _once(*system, *task(messages), *request(messages))


def task(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What the thread is for: all that persons said first, before anybody answered."""
    begin = next((at for at, one in enumerate(messages) if is_prompt(one)), len(messages))
    return [one for one in _input(messages, begin) if is_prompt(one)]


def request(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The latest request: all with which the turn began, and all that was said last in it, for a
    person may do that in the middle, as well as a tool, or a part of the agent. With each what was
    put beside it."""
    last = next((at for at in reversed(range(len(messages))) if begins_turn(messages[at])), -1)
    first = begin = last
    for at in range(last, -1, -1):
        if _ends_turn(messages[at]):
            break
        if begins_turn(messages[at]):
            first = at
            if all(isinstance(one, _GIVEN) for one in messages[at:begin]):
                begin = at
    said = _once(*_input(messages, first), *_input(messages, begin)) if last >= 0 else []
    return [one for one in said if begins_turn(one) or is_injected(one, "message")]


def _once(*messages: BaseMessage) -> list[BaseMessage]:
    return [*{id(one): one for one in messages}.values()]


def _ends_turn(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not any(calls(message))


_GIVEN = (HumanMessage, SystemMessage)


def _input(messages: Sequence[BaseMessage], begin: int) -> Iterator[BaseMessage]:
    """What came in one go with the message at a place, from there on."""
    return takewhile(lambda one: isinstance(one, _GIVEN), islice(messages, begin, None))


def _system(messages: Sequence[BaseMessage]) -> list[int]:
    """The places of the system's messages; of those that say the same, of the first."""
    places = [at for at, one in enumerate(messages) if isinstance(one, SystemMessage)]
    return sorted({str(messages[at].content): at for at in reversed(places)}.values())


class _Change:
    """What becomes of a message, by its place."""

    def __init__(self, marks: Marks, places: Places) -> None:
        self._pruned = [
            (places[one["upto"]], pruner(one["soft"], one["hard"]))
            for one in marks.get("pruned", [])
            if one["upto"] in places
        ]
        shortened = marks.get("shortened")
        self._shortened = shortened if shortened and shortened["upto"] in places else None
        self._upto = places[self._shortened["upto"]] if self._shortened else -1
        self.changed = places.get(marks.get("changed"), -1)
        self.pruned = max((upto for upto, _ in self._pruned), default=-1)
        self._last = max(self.changed, self._upto, self.pruned)

    def tail(self, messages: Sequence[BaseMessage], start: int) -> list[BaseMessage]:
        """The messages from the place `start` on."""
        tail = list(messages[start:])
        for at in range(min(len(tail), self._last + 1 - start)):
            tail[at] = self(start + at, tail[at])
        return tail

    def __call__(self, place: int, message: BaseMessage) -> BaseMessage:
        if isinstance(message, ToolMessage):
            for upto, prune in self._pruned:
                if place <= upto:
                    message = prune(message)
                    break
        elif place <= self.changed:
            message = without_reasoning(message)
        if place <= self._upto and self._shortened:
            message = _shortened(message, self._shortened)
        return message


def _shortened(message: BaseMessage, how: Shortened) -> BaseMessage:
    if is_injected(message, "memory"):
        return message  # A part of it would not be what its digest says.
    longest = how["said"] if message.id in how["spared"] else how["longest"]
    return message if longest is None else shortened(message, longest, media=how["media"])


def _lead(
    messages: Sequence[BaseMessage],
    compacted: Compacted,
    places: Places,
    change: _Change,
) -> Iterator[BaseMessage]:
    """What stands in the place of the history that was taken away."""

    def those(ids: list[str]) -> Iterator[BaseMessage]:
        for id in ids:
            if id in places:
                yield change(places[id], messages[places[id]])

    for place in _system(messages[: places[compacted["upto"]] + 1]):
        yield change(place, messages[place])
    if compacted["memory"]:
        memory = injected("memory", compacted["memory"])
        yield memory.model_copy(update={"id": f"memory-{_id(compacted)}"})
    yield from those(compacted["task"])
    left = places[compacted["upto"]] - places.get(compacted["covers"], -1)
    yield summary_message(compacted["summary"], _id(compacted), left=left)
    yield from those(compacted["request"])


def given_way(marks: Marks) -> str:
    """Id of the compaction that holds: that of the last message then; "" for none."""
    compacted = marks.get("compacted")
    return _id(compacted) if compacted else ""


def _id(compacted: Compacted) -> str:
    return compacted.get("at") or compacted["upto"]  # Older ones do not say.


def standing(messages: Sequence[BaseMessage], marks: Marks) -> list[HumanMessage]:
    """What a compaction put into the context and is no message of the history: the summary, and the
    memory."""
    lead = [one for one in view(messages, marks).lead if isinstance(one, HumanMessage)]
    summary = [one for one in lead if is_summary(one)]
    return summary + [one for one in lead if is_injected(one, "memory")]

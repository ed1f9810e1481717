"""What gives way next, so that a request fits. Pure: from a history and its marks to new marks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, takewhile

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from pannier_agents import tokens
from pannier_agents.budget import Budget, calibrated
from pannier_agents.cutting import boundaries, cut
from pannier_agents.marks import Compacted, Failed, Marks, Pruned, Shortened
from pannier_agents.memo import Memo
from pannier_agents.messages import is_injected
from pannier_agents.pruning import pruned, trimmed
from pannier_agents.settings import Pruning
from pannier_agents.summarizing import Part
from pannier_agents.view import View, lasting, request, task, view

NO_MEMORY = "The memory does not fit into this context. Read memory/index.md when you need it."
_AIM = 3 / 4
"""The last resort leaves this share of the limit: it is not needed again at once."""
_CHARACTERS = 3
"""Of a token, at least, in most texts."""
_SHARES = (4, 16, 64, 256)
_SHARES_OF_SAID = (1, 2, *_SHARES)
_SHORTEST = 200


@dataclass(frozen=True)
class Weighed:
    """A history as it is sent with these marks, and what that comes to."""

    messages: Sequence[BaseMessage]
    marks: Marks
    view: View
    used: int
    """Tokens of the whole request."""
    scale: Scale

    def with_marks(self, marks: Marks) -> Weighed:
        """The same history with other marks; they count from its last message on."""
        return weigh(self.messages, {**marks, "changed": _last_id(self.messages)}, self.scale)

    def scaled(self, factor: float) -> Weighed:
        """The same with another factor of the scale."""
        return weigh(self.messages, self.marks, replace(self.scale, factor=factor), self.view)

    @property
    def places(self) -> list[int]:
        """Where the tail of the view may be cut, counted in the tail. The message before is named
        in the marks: one that somebody put there for this call has no id."""
        before = self.messages[self.view.start :]
        return [place for place in boundaries(self.view.tail) if before[place - 1].id]


@dataclass(frozen=True)
class Scale:
    """Turns estimates into a model's own tokens."""

    fixed: int
    """Estimated tokens of the system prompt and of the tools."""
    factor: float = 1.0
    exact: bool = False
    """Whether the provider's own counts stand behind it."""

    def of(self, messages: Sequence[BaseMessage]) -> int:
        """Tokens of messages alone."""
        return self.times(tokens.of_messages(messages))

    def times(self, estimate: int) -> int:
        """The tokens behind an estimate."""
        return round(estimate * self.factor)

    @property
    def rest(self) -> int:
        """Tokens of all else in a request."""
        return round(self.fixed * self.factor)


def _last_id(messages: Sequence[BaseMessage]) -> str:
    return next((one.id for one in reversed(messages) if one.id), "")


def weigh(
    messages: Sequence[BaseMessage], marks: Marks, scale: Scale, seen: View | None = None
) -> Weighed:
    """A history with its marks; `seen`: its view, where that is known already."""
    seen = seen or view(messages, marks)
    used = scale.rest + scale.of(seen.lead) + scale.times(sum(seen.sizes))
    return Weighed(messages, marks, seen, used, scale)


def scale_of(seen: View, fixed: int | None) -> Scale:
    """By what the provider counted for the request that its last answer in the view answers.
    `fixed`: None where nobody knows the system prompt and the tools; they are what was counted
    beyond the messages.

    That request had the marks of now: they change with an answer only.
    """
    for place in range(len(seen.tail) - 1, -1, -1):
        one = seen.tail[place]
        if seen.start + place <= seen.changed:
            break
        if isinstance(one, AIMessage) and (usage := one.usage_metadata):
            said = tokens.of_messages(seen.lead) + sum(seen.sizes[:place])
            counted = _counted(usage)
            rest = max(0, counted - said) if fixed is None else fixed
            return Scale(rest, calibrated(rest + said, counted), exact=counted > 0)
    return Scale(fixed or 0)


def _counted(usage: UsageMetadata) -> int:
    """Tokens of a request. Some providers' packages leave out those that were in the cache."""
    details = usage.get("input_token_details") or {}
    cached = (details.get("cache_read") or 0) + (details.get("cache_creation") or 0)
    said = usage["input_tokens"] or 0
    return said if said >= cached else said + cached


def staying(now: Weighed) -> int:
    """Tokens of what stays whatever gives way."""
    memory = [one for one in now.view.messages if is_injected(one, "memory")]
    return now.scale.rest + now.scale.of(memory) + now.scale.of(lasting(now.messages))


def protectable(now: Weighed, protected: int, room: int) -> int:
    """How many of the last results can be protected within `room` tokens, at most `protected`; of
    those that the model has not seen yet all that are."""
    new = len([*takewhile(lambda one: isinstance(one, ToolMessage), reversed(now.view.tail))])
    sizes = [now.scale.of([one]) for one in now.view.tail if isinstance(one, ToolMessage)]
    fits = sum(size <= room for size in accumulate(sizes[::-1][:protected]))
    return max(fits, min(new, protected))


def pruning_step(now: Weighed, settings: Pruning, *, least: int) -> Weighed | None:
    """The next step of pruning: all results that the last ones do not protect. None where it would
    save less than `least` tokens, or nothing."""
    marks = now.marks
    upto = _last_unprotected(now.messages, settings.protect_recent)
    if not settings.trim_tool_results or upto is None:
        return None
    before = marks.get("pruned", [])
    begin = max(now.view.start, now.view.pruned + 1)
    soft, hard = settings.soft_trim_chars, settings.hard_clear_threshold
    saved = now.scale.times(sum(map(_saver(soft, hard), now.messages[begin : upto + 1])))
    if saved < max(1, least):
        return None
    step = Pruned(upto=str(now.messages[upto].id), soft=soft, hard=hard)
    same = before and (before[-1]["soft"], before[-1]["hard"]) == (soft, hard)
    steps = [*(before[:-1] if same else before), step]
    after = now.with_marks({**marks, "pruned": steps})
    # Of what is shortened already there is less to save.
    return after if now.used - after.used >= max(1, least) else None


@lru_cache(maxsize=32)
def _saver(soft: int, hard: int) -> Memo[int]:
    """Estimated tokens by which a message is smaller once it is pruned."""

    def saved(message: BaseMessage) -> int:
        return tokens.of_message(message) - tokens.of_message(pruned(message, soft, hard))

    return Memo(saved)


def _last_unprotected(messages: Sequence[BaseMessage], protected: int) -> int | None:
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], ToolMessage):
            if protected == 0 and messages[place].id:
                return place
            protected = max(0, protected - 1)
    return None


def cut_place(now: Weighed, budget: Budget, least: int) -> int | None:
    """Where the history is cut for a compaction; None where that gains less than `least` tokens."""
    seen, scale = now.view, now.scale
    sizes = [*map(scale.times, seen.sizes)]
    most = budget.tail(staying(now) + budget.summary)
    place = cut(sizes, now.places, most)
    if place is None or sum(sizes) <= most:
        return None
    ids = {one.id for one in lasting(now.messages)}
    gained = sum(
        size
        for size, one in zip(sizes[:place], seen.tail, strict=False)
        if one.id not in ids and not is_injected(one, "memory")
    )
    return seen.start + place if gained >= least else None


def pauses(now: Weighed, budget: Budget) -> bool:
    """Whether it is too early for a summary, for the last one failed a short while ago."""
    failed = now.marks.get("failed")
    if not failed:
        return False
    for place in range(len(now.messages) - 1, now.view.start - 1, -1):
        if now.messages[place].id == failed["upto"]:
            added = now.view.tail[place + 1 - now.view.start :]
            return now.scale.of(added) < budget.pause(failed["times"])
    return False


def failing(now: Weighed) -> Weighed:
    """The same view, after a summary that failed."""
    times = (now.marks.get("failed") or Failed(upto="", times=0))["times"] + 1
    failed = Failed(upto=_last_id(now.messages), times=times)
    return weigh(now.messages, {**now.marks, "failed": failed}, now.scale)


def to_summarize(now: Weighed, place: int) -> Part:
    """What a compaction that cuts before `place` takes away, and what the request was."""
    before = now.marks.get("compacted")
    ids = [one.id for one in now.messages]
    held = before if before and before["upto"] in ids else None
    begin = ids.index(held["covers"]) + 1 if held and held["covers"] in ids else 0
    said = {one.id for one in lasting(now.messages)}
    also = said | set(held["request"] if held else ())
    messages = [
        one
        for at, one in enumerate(now.messages[:place])
        if (at >= begin or one.id in also) and not isinstance(one, SystemMessage)
        if not is_injected(one, "memory")
    ]
    return Part(held["summary"] if held else "", messages, frozenset(map(str, said)))


def compacted(
    now: Weighed, place: int, summary: str, memory: str, covers: str | None = None
) -> Weighed:
    """With a summary in the place of what stands before `place`. `covers`: see `Compacted`; None:
    the summary tells of all of it."""
    upto = str(now.messages[place - 1].id)
    first, latest = task(now.messages), request(now.messages)
    gone = {id(one) for one in now.messages[:place]}
    kept = [str(one.id) for one in first if id(one) in gone]
    asked = [str(one.id) for one in latest if id(one) in gone]
    new = Compacted(
        upto=upto,
        summary=summary,
        covers=upto if covers is None else covers,
        memory=memory,
        task=kept,
        request=[one for one in asked if one not in kept],
        at=_last_id(now.messages),
    )
    marks: Marks = {**now.marks, "compacted": new}
    return now.with_marks({**marks, "failed": None} if covers is None else marks)


def last_resort(now: Weighed, budget: Budget, memory: str) -> Weighed:
    """Without a model: the mildest of what makes it fit; the hardest, where nothing does."""
    best = now = _with_short_summary(now, budget)
    if now.used <= budget.most:
        return now
    for rung, targets in _rungs(now, budget):
        for remembered in (memory, NO_MEMORY) if memory else ("",):
            for target in targets:
                best = _rung(now, rung, target, remembered)
                if best.used <= target:
                    return best
    return best


def _with_short_summary(now: Weighed, budget: Budget) -> Weighed:
    """A summary that was written in a larger window keeps its beginning and its end."""
    before = now.marks.get("compacted")
    text = before["summary"] if before else ""
    size = now.scale.times(tokens.of_content(text))
    if before is None or size <= budget.summary:
        return now
    short = trimmed(text, len(text) * budget.summary // size)
    return now.with_marks({**now.marks, "compacted": {**before, "summary": short}})


def _rungs(now: Weighed, budget: Budget) -> Iterator[tuple[Shortened, tuple[int, ...]]]:
    """From mild to hard, each with the sizes to try it for."""
    upto = _last_id(now.messages)
    spared = [str(one.id) for one in lasting(now.messages)]
    room = max(0, budget.most - now.scale.rest) * _CHARACTERS
    aims = (int(budget.limit * _AIM), budget.most)
    for media in (True, False):
        for share in _SHARES:
            longest = max(_SHORTEST, room // share)
            yield (
                Shortened(upto=upto, longest=longest, spared=spared, said=None, media=media),
                aims,
            )
    for share in _SHARES_OF_SAID:
        said = max(_SHORTEST, room // share)
        yield (
            Shortened(upto=upto, longest=_SHORTEST, spared=spared, said=said, media=False),
            (budget.most, budget.window),
        )


def _rung(now: Weighed, rung: Shortened, target: int, memory: str) -> Weighed:
    """Shortened, and cut where that is not enough."""
    short = now.with_marks({**now.marks, "shortened": rung})
    places = short.places
    if short.used <= target or not places:
        return short
    before = now.marks.get("compacted")
    summary, covers = (before["summary"], before["covers"]) if before else ("", "")
    start, scale = short.view.start, now.scale
    least = compacted(short, start + places[-1], summary, memory, covers)
    sizes = [math.ceil(size * scale.factor) for size in short.view.sizes]
    room = target - scale.rest - scale.of(least.view.lead)
    place = cut(sizes, places, room)
    return compacted(short, start + place, summary, memory, covers) if place else least

"""How messages stand in a question: each behind a line of ours, within a number of tokens. Pure.

With M for the mark:

    [M thread main]
    [M summary so far]
    …
    [M m12 person 2026-11-30 10:15]
    …
    [M m13 agent calls Bash]
    …
    [M end]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pannier.learning.extraction.reading import Shown, shortened
from pannier.learning.models.marker import BROADEST, Marker, instructions, marker_for
from pannier.threads.excerpt import excerpt
from pannier.threads.page import plain_name
from pannier.threads.times import moment
from pannier_hook.estimate import estimate

PROMPT = "extraction"
LEAST_ROOM = 300
"""Tokens for messages in one question, however small the budget."""

_SHARE = 4
"""One message, and the summary so far, take at most one part in so many of the room."""
_LEAST_TEXT = 40
"""Tokens of a message, before others are left out for it."""
_SUMMARY = 4_000
"""Code points of the summary so far."""
_NOW = "Write the summary and the candidates."
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Prompt:
    """What a model is sent: our instructions, and the record as its only other message."""

    instructions: str
    data: str

    @property
    def tokens(self) -> int:
        return estimate(self.instructions) + estimate(self.data)


def prompt(shown: Sequence[Shown], thread: str, summary: str, budget: int) -> Prompt:
    """The messages of a thread, with the summary of what came before them.

    It has at most `budget` tokens, LEAST_ROOM for messages taken for granted: of more messages
    than `room` has place for, each is cut shorter, and then the first ones are left out.
    """
    fit = room(budget, thread)
    most = fit // _SHARE
    costs = [cost(one, most) for one in shown]
    while sum(costs) > fit and most > _LEAST_TEXT:
        most //= 2
        costs = [cost(one, most) for one in shown]
    begin = 0
    while sum(costs[begin:]) > fit:
        begin += 1
    parts = [_fitted(one, most) for one in shown[begin:]]
    before = _cut(excerpt(summary, _SUMMARY).text, fit // _SHARE)
    mark = marker_for((before, *(part.text for part in parts)))
    return Prompt(instructions(PROMPT, mark), _data(parts, _name(thread), before, mark))


def room(budget: int, thread: str) -> int:
    """Tokens that the messages of a thread may come to, in a question of `budget` tokens."""
    empty = estimate(instructions(PROMPT, BROADEST))
    empty += estimate(_data((), _name(thread), "-", BROADEST))
    return max(LEAST_ROOM, (budget - empty - 2) * _SHARE // (_SHARE + 1))


def most_of_one(budget: int, thread: str) -> int:
    """Tokens of one message's text at most."""
    return room(budget, thread) // _SHARE


def cost(shown: Shown, most: int) -> int:
    """Tokens of a message of which at most `most` are its text's; never less than it comes to."""
    return estimate("\n".join(_lines(_fitted(shown, most), BROADEST))) + 2


def _data(parts: Sequence[Shown], thread: str, before: str, mark: Marker) -> str:
    lines = [mark.line(f"thread {thread}")]
    if before:
        lines += [mark.line("summary so far"), before]
    for part in parts:
        lines += _lines(part, mark)
    return "\n".join((*lines, mark.line("end"), "", _NOW))


def _lines(shown: Shown, mark: Marker) -> Iterator[str]:
    when = f" {moment(shown.at)}" if shown.source in ("person", "message") else ""
    yield mark.line(f"m{shown.message} {shown.how}{when}")
    yield shown.text
    if shown.left:
        yield mark.line(f"{shown.left} characters are left out")


def _fitted(shown: Shown, most: int) -> Shown:
    text = _cut(shown.text, most)
    return shown if text == shown.text else shortened(shown, text)


def _cut(text: str, most: int) -> str:
    """The longest beginning of at most `most` tokens."""
    if estimate(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle]) <= most else (low, middle - 1)
    return text[:low]


def _name(thread: str) -> str:
    return plain_name(thread, _LONGEST_NAME)

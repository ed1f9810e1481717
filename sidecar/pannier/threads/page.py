"""What was said, as Markdown that people and agents read. Pure.

Every line of what somebody said begins with `>`: whatever stands in it, it is no heading, note or
comment of the page. All other lines are made here, of names and numbers that cannot hold markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pannier.threads.excerpt import arguments, excerpt, plain
from pannier.threads.times import moment

if TYPE_CHECKING:
    from pannier.threads.rows import MessageRow, TurnRow


@dataclass(frozen=True)
class Lengths:
    """How much of a text is shown, in characters; None shows all."""

    said: int | None = 20_000
    """Of what a person or the agent said."""
    call: int | None = 400
    result: int | None = 800
    result_lines: int | None = 12


SHORT = Lengths()
WHOLE = Lengths(None, None, None, None)

LEFT_OUT = frozenset({"thinking", "memory", "raw"})
"""Kinds of messages that no page shows."""


@dataclass(frozen=True)
class Block:
    """A piece of the page, with what it brings the page to."""

    text: str
    """"" for messages that are left out."""
    upto: int
    """The last message of it."""
    main: int
    """The last message of the main conversation until here; 0 for none."""
    at: int
    """When its first message was, in nanoseconds since 1970."""


def blocks(
    messages: Iterable[MessageRow],
    turns: Mapping[int, TurnRow],
    *,
    before: MessageRow | None = None,
    lengths: Lengths = SHORT,
) -> Iterator[Block]:
    """The messages, in the order of their ids.

    `turns` are those that the messages belong to; `before` is the last message of the main
    conversation that the page has already.
    """
    for inner, run in groupby(messages, key=lambda m: _inner_of(m, turns)):
        if inner:
            aside = list(run)
            before = next((m for m in reversed(aside) if not m.inner), before)
            yield Block(_aside(aside), aside[-1].id, before.id if before else 0, aside[0].at)
            continue
        for message in run:
            text = _note(message, before, turns)
            if message.kind not in LEFT_OUT:
                text += _message(message, lengths)
            yield Block(text, message.id, message.id, message.at)
            before = message


def _inner_of(message: MessageRow, turns: Mapping[int, TurnRow]) -> str:
    """What sets it apart from the main conversation: a sub-agent, or an inner turn."""
    if message.inner:
        return f"agent {message.inner}"
    if message.kind == "compaction":
        # It changes what the main conversation goes on from, in whichever turn it was made.
        return ""
    turn = turns.get(message.turn) if message.turn else None
    return f"turn {turn.id}" if turn is not None and not turn.counts else ""


def _aside(messages: list[MessageRow]) -> str:
    calls = sum(m.kind == "call" for m in messages)
    said = f"{len(messages)} messages" if len(messages) > 1 else "1 message"
    used = f", {calls} tool call{'s' * (calls > 1)}" if calls else ""
    return f"*Inner work, {_ids(messages)}: {said}{used}.*\n\n"


def _ids(messages: list[MessageRow]) -> str:
    first, last = messages[0].id, messages[-1].id
    return f"m{first}" if first == last else f"m{first} to m{last}"


def _note(message: MessageRow, before: MessageRow | None, turns: Mapping[int, TurnRow]) -> str:
    """What a reader could not see from the message alone. Only where a turn begins."""
    if before is None:
        return f"*It goes on from m{message.parent}.*\n\n" if message.parent else ""
    if before.turn == message.turn:
        return ""
    ended = turns.get(before.turn) if before.turn else None
    note = _OUTCOMES.get(ended.outcome, "") if ended else ""
    if message.parent != before.id:
        after = f"m{message.parent}" if message.parent else "the beginning"
        note += f"*Back to {after}: what follows goes on from there, not from m{before.id}.*\n\n"
    return note


_OUTCOMES = {
    "failed": "*The turn above failed.*\n\n",
    "interrupted": "*The turn above was interrupted.*\n\n",
}


def _message(message: MessageRow, lengths: Lengths) -> str:
    if message.kind == "compaction":
        return f"*The context was compacted here, m{message.id}.*\n\n"
    if message.kind == "call":
        return _said(f"#### call of {_code(message.tool)}", message, lengths.call)
    if message.kind == "result":
        title = f"#### result of {_code(message.tool)}" if message.tool else "#### result"
        return _said(title + " (failed)" * message.failed, message, lengths.result, lengths)
    if message.role in ("person", "pannier"):
        who = "person" if message.role == "person" else "message from the queue"
        return _said(f"## {moment(message.at)} · {who}", message, lengths.said)
    return _said(f"### {'agent' if message.role == 'agent' else 'client'}", message, lengths.said)


def _said(title: str, message: MessageRow, limit: int | None, of: Lengths = WHOLE) -> str:
    text = arguments(message.text) if message.kind == "call" else message.text
    shown = excerpt(text, limit, of.result_lines)
    cut = f" · {shown.left:,} characters left out" if shown.left else ""
    return f"{title} · m{message.id}{cut}\n\n{quoted(shown.text)}\n\n"


def quoted(text: str) -> str:
    """As a block quote: each line begins with `>`."""
    return "\n".join(f"> {line}" if line else ">" for line in plain(text).split("\n"))


def _code(name: str) -> str:
    return f"`{plain_name(name, 80) or 'a tool'}`"


def plain_name(name: str, limit: int = 128) -> str:
    """A name without what could be markup."""
    return _NO_NAME.sub("_", name[:limit])


_NO_NAME = re.compile(r"[^\w.:/@+-]")

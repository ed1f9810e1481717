"""What becomes of a large tool result that the model has seen. Pure.

A pruned result is never longer than before, and pruning it again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from pannier_agents import blocks
from pannier_agents.memo import Memo
from pannier_hook.spillnote import spilled_in

_HEAD_SHARE = 2 / 3
"""Of what is shown of a trimmed text, its beginning has so much."""
_LEAST_ROOM = 60
"""Characters of head and tail below which a text is better cleared."""
_CLEARED = "[To save room this was taken out: "
_LONGEST_NOTE = 1_000
_KEPT = re.compile(r"(/[\w.-]+)*/files/\.pannier/spill/[a-z0-9_.-]+/\d{8}T\d{6}Z-[a-z0-9_-]+\.txt")
_WORTH = 2
"""A text gives way to a note that has at most one part in so many of its length."""


def trimmed(text: str, longest: int) -> str:
    """A text of at most `longest` characters: head and tail around a note of what was cut. A text
    that leaves no room for the note is cleared."""
    if len(text) <= longest:
        return text
    room = longest - len(_cut(len(text)))
    if room < _LEAST_ROOM:
        return cleared(text)
    head = int(room * _HEAD_SHARE)
    return f"{text[:head]}{_cut(len(text) - room)}{text[len(text) - (room - head) :]}"


def cleared(text: str) -> str:
    """A note in the place of a text; the text, where that would not be much shorter."""
    if is_cleared(text):
        return text
    kept = kept_in(text)
    where = f"it is in the file {kept[0]}" if kept else "run the call again"
    note = f"{_CLEARED}{len(text):,} characters stood here. If you need it, {where}.]"
    fits = len(note) <= _LONGEST_NOTE and len(note) * _WORTH <= len(text)
    return note if fits else text


def kept_in(text: str) -> tuple[str, int] | None:
    """The path and the size that the note of a spilled result names. A tool may give a text that
    looks like one: what it names has to be the path of a kept result, and can say nothing else."""
    found = spilled_in(text)
    return found if found and _KEPT.fullmatch(found[0]) else None


def is_cleared(text: str) -> bool:
    """Whether it is the note that stands for another text."""
    return len(text) <= _LONGEST_NOTE and text.startswith(_CLEARED)


def _cut(count: int) -> str:
    return f"\n[… {count:,} characters were cut here to save room …]\n"


def pruned_text(text: str, soft: int, hard: int) -> str:
    """A result's text: trimmed above `soft` characters, cleared above `hard`."""
    return cleared(text) if len(text) > hard else trimmed(text, soft)


def text_of(content: object) -> str:
    """The texts in a message's content, one after the other."""
    return "\n".join(blocks.texts_of(content))


def with_texts(message: BaseMessage, change: Callable[[str], str]) -> BaseMessage:
    """The message with its texts, taken as one, changed; all else of its content stays where it
    is. The same object where nothing changes."""
    before = text_of(message.content)
    after = change(before)
    if after == before:
        return message
    if isinstance(message.content, str):
        return message.model_copy(update={"content": after})
    content: list[Any] = []
    for one in message.content:
        if blocks.text_of(one) is None:
            content.append(one)
        elif after:
            content.append(blocks.with_text(one, after))
            after = ""
    return message.model_copy(update={"content": content})


def pruned(message: BaseMessage, soft: int, hard: int) -> BaseMessage:
    """A tool message as it is sent once it is old. The very same message where nothing is cut."""
    return pruner(soft, hard)(message)


@lru_cache(maxsize=32)
def pruner(soft: int, hard: int) -> Memo[BaseMessage]:
    """`pruned` with these limits; computed once a message."""

    def prune(message: BaseMessage) -> BaseMessage:
        if not isinstance(message, ToolMessage):
            return message
        return with_texts(message, lambda text: pruned_text(text, soft, hard))

    return Memo(prune)

"""What of a conversation a learner is shown: who said it, masked and then cut. Pure.

What pannier injected, what the client added, thoughts, and what sub-agents said among themselves
are left out, and so is what a tool gave back of the agent's memory, its past conversations and its
standing instructions: what was learned or told once is not learned again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pannier.clients.transcripts.injected import pieces
from pannier.learning.guards.visible import visible
from pannier.learning.lessons import Source
from pannier.threads.excerpt import arguments, excerpt, plain
from pannier.threads.page import plain_name
from pannier.threads.rows import MessageRow
from pannier_hook.messages import split_messages

SAID = 4_000
"""The most of what somebody said, in code points."""
RESULT = 1_500
"""The same of a tool's result, and of the arguments of a call."""

OUTPUT = 64 << 10
"""The most of a tool's output with which lessons are compared."""
_OUTPUTS = 1 << 20
"""The same of all of them together."""
_OF_TOOLS = {("tool", "result"), ("client", "text")}
_LONGEST_NAME = 60
_EMPTY = "(nothing)"
"""A result without a word: that it worked, or not, says something all the same."""
_FRAME = re.compile(r"-----BEGIN PANNIER (?:MEMORY|MESSAGE) [0-9a-f]{16}-----")
_STANDING = re.compile(
    r"\s*(?:# (?:AGENTS|CLAUDE|GEMINI|QWEN)\.md instructions\b"
    r"|<(?:user_instructions|environment_context|session_context|system-reminder)[ >])"
)
_OWN_FILES = re.compile(
    r"agent-memory\b|(?:/workspace/agent|\.\.)/(?:memory|conversations|instructions)\b"
    r"|/run/pannier/|\b(?:AGENTS|CLAUDE|GEMINI|QWEN)(?:\.\w{1,20})?\.md\b"
)
"""In a call's arguments: the memory, past conversations, standing instructions."""
_LESSON = re.compile(r"^.* \^[0-9a-f]{7}[ \t]*\n?", re.MULTILINE)
"""A line of `MEMORY.md`, wherever a tool found it."""


@dataclass(frozen=True)
class Shown:
    """A message as a learner sees it."""

    message: int
    """Its number in what was said."""
    turn: int | None
    source: Source
    at: int
    """Nanoseconds since 1970."""
    how: str
    """Who speaks, for the header."""
    text: str
    left: int = 0
    """Characters that were cut off."""


class Own:
    """Tells results in which a tool gave back the agent's own memory, or its instructions."""

    def __init__(self) -> None:
        self._calls = set[str]()

    def has(self, row: MessageRow) -> bool:
        """Whether it is one; to be asked of all rows, in order."""
        if row.kind == "call" and row.call and _OWN_FILES.search(row.text):
            self._calls.add(row.call)
        return row.kind == "result" and row.call in self._calls


def read(rows: Iterable[MessageRow], hidden: Collection[int] = ()) -> Iterator[Shown]:
    """What may be shown, in the order of the rows, without the messages that are `hidden`."""
    own = Own()
    for row in rows:
        if not own.has(row) and row.id not in hidden and (shown := _shown(row)) is not None:
            yield shown


def told(rows: Sequence[MessageRow]) -> Iterator[str]:
    """What tools put out in these rows, far more of it than is shown, and also what is not."""
    found = [row for row in rows if (row.role, row.kind) in _OF_TOOLS]
    most = min(OUTPUT, _OUTPUTS // max(len(found), 1))
    for row in found:
        yield plain((_report(row.text) if row.role == "client" else row.text)[:most])


def _shown(row: MessageRow) -> Shown | None:
    if row.inner:
        return None
    match row.role, row.kind:
        case "person", "text" if not _STANDING.match(row.text):
            return _made(row, "person", "person", _own_words(row.text), SAID)
        case "pannier", "message":
            bodies = (piece.body for piece in split_messages(row.text) if piece.id)
            return _made(row, "message", "queue", _own_words("\n".join(bodies)), SAID)
        case "agent", "text":
            return _made(row, "agent", "agent", _own_words(row.text), SAID)
        case "agent", "call":
            text = _own_words(arguments(row.text))
            return _made(row, "agent", f"agent calls {_name(row.tool)}", text, RESULT)
        case "tool", "result":
            text = _LESSON.sub("", _own_words(row.text)) if row.text.strip() else _EMPTY
            how = f"tool {_name(row.tool)}{', failed' * row.failed}"
            return _made(row, "tool", how, text, RESULT)
        case "client", "text":
            return _made(row, "tool", "tool, a sub-agent reports", _report(row.text), SAID)
    return None


def _report(text: str) -> str:
    """What a sub-agent tells, in the form of Claude Code or of Codex; "" if it is none."""
    if text.startswith("<task-notification>"):
        return text.partition("<result>")[2].rpartition("</result>")[0]
    if text.startswith("Message Type: FINAL_ANSWER\n"):
        return text.partition("\nPayload:\n")[2]
    return ""


def _made(row: MessageRow, source: Source, how: str, text: str, most: int) -> Shown | None:
    shown = excerpt(visible(text).strip(), most)
    if not shown.text.strip():
        return None
    return Shown(row.id, row.turn, source, row.at, how, shown.text, shown.left)


def _name(tool: str) -> str:
    return plain_name(tool, _LONGEST_NAME) or "something"


def _own_words(text: str) -> str:
    """Without what pannier injected, also where its end is missing."""
    if not _FRAME.search(text):
        return text
    said = "\n".join(piece.text for piece in pieces(text) if piece.kind == "text")
    broken = _FRAME.search(said)
    return said[: broken.start()] if broken else said


def shortened(shown: Shown, text: str) -> Shown:
    """The same with less of its text."""
    return replace(shown, text=text, left=shown.left + len(shown.text) - len(text))

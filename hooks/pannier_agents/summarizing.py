"""One summary for one compaction: what is asked of a model, and what becomes of its answer.

The questions are yielded, and the answers sent back in, so that the same steps serve an agent that
waits for its model and one that does not.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from pannier_agents import tokens
from pannier_agents.errors import SummaryError
from pannier_agents.pruning import trimmed
from pannier_agents.summary import LADDER, question
from pannier_hook.estimate import estimate

_WORDS_PER_TOKEN = 0.25
"""A model is asked for fewer words than would fit: it may write more, in any language."""
_MARKER_BYTES = 8
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context limit",
    "contextwindowexceeded",
    "prompt is too long",
    "input is too long",
    "input tokens exceed",
    "input token count",
    "request_too_large",
    "exceeds the available context",
    "exceeds model's maximum",
    "exceeded model token limit",
    "maximum prompt length",
    "maximum model length",
    "range of input length",
    "reduce the length",
    "too many tokens: size limit",
    "`inputs` tokens + `max_new_tokens`",
)
_WHY_IT_ENDED = ("stop_reason", "finish_reason")
"""Members of an answer's metadata, by provider."""
_REFUSALS = {"refusal", "content_filter", "SAFETY", "PROHIBITED_CONTENT"}
_SHOWN = 200
"""Characters of a refusal."""
_BAD_REQUEST = frozenset({400, 413, 422})


@dataclass(frozen=True)
class Ask:
    """A question for a model. The answer, or what was raised instead, is sent back."""

    model: BaseChatModel
    messages: list[BaseMessage]


Answer = AIMessage | Exception
Steps = Generator[Ask, Answer, str]


@dataclass(frozen=True)
class Part:
    """What is to be summarized."""

    before: str
    """An earlier summary, "" for none."""
    messages: Sequence[BaseMessage]
    kept: frozenset[str]
    """Ids of those among them that stay with the agent word for word."""


def summarized(part: Part, model: BaseChatModel, *, room: int, longest: int) -> Steps:
    """A summary of at most `longest` tokens. `room`: tokens of a question.

    Raises SummaryError where there is none to be had.
    """
    answer = yield Ask(model, fitting(part, room=room, longest=longest))
    if isinstance(answer, Exception) and is_too_long(answer):
        answer = yield Ask(model, fitting(part, room=room // 2, longest=longest))
    if isinstance(answer, Exception):
        raise SummaryError(f"no summary: {type(answer).__name__}: {answer}") from answer
    text = answer.text.strip()
    if not text:
        raise SummaryError("no summary: the model answered with nothing")
    if _REFUSALS & {str(answer.response_metadata.get(name)) for name in _WHY_IT_ENDED}:
        raise SummaryError(f"no summary: the model refused: {text[:_SHOWN]}")
    size = estimate(text)
    return text if size <= longest else trimmed(text, len(text) * longest // size)


def fitting(part: Part, *, room: int, longest: int) -> list[BaseMessage]:
    """The question of at most `room` tokens: first every message is cut shorter, then the oldest
    ones are left out."""
    marker = secrets.token_hex(_MARKER_BYTES)
    words = int(longest * _WORDS_PER_TOKEN)
    messages = list(part.messages)

    def asked(most: int, left: int) -> list[BaseMessage]:
        return question(
            part.before,
            messages[left:],
            kept=part.kept,
            marker=marker,
            longest=most,
            words=words,
            left=left,
        )

    for most in LADDER:
        asking = asked(most, 0)
        if tokens.of_messages(asking) <= room:
            return asking
    left, more = 0, len(messages)
    while left < more:  # The fewest that have to be left out.
        middle = (left + more) // 2
        if tokens.of_messages(asked(LADDER[-1], middle)) <= room:
            more = middle
        else:
            left = middle + 1
    return asked(LADDER[-1], left)


def is_too_long(problem: Exception) -> bool:
    """Whether a provider refused a request for its length."""
    if isinstance(problem, ContextOverflowError):
        return True
    status = getattr(problem, "status_code", None)
    if status is not None and status not in _BAD_REQUEST:
        return False
    said = str(problem).lower()
    return any(one in said for one in _TOO_LONG)

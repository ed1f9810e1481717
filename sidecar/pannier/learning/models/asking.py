"""Asking a model, as data: what is asked, what comes back, what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from pannier.errors import PannierError
from pannier.learning.models.wire import wire_schema
from pannier_hook.estimate import estimate

SECONDS = 900.0
"""No call takes longer: a model on a small machine reads a long question for minutes."""
WINDOW = 128_000
"""Tokens that fit into one call of a model about which nothing is known."""

Trouble = Literal[
    "unset", "key", "setting", "login", "limit", "rate", "down", "refused", "answer", "too_long"
]
"""`unset`: no model is set; `key`: it wants another key; `setting`: where the settings lead there
is no such model; `login`: the group's client wants another login or model of its own; `limit`: the
day's budget is used up; `rate`: asked too often; `down`: nobody answers, or the server fails;
`refused`: it takes not the request; `answer`: what it answered does not fit the schema; `too_long`:
more than its window."""


@dataclass(frozen=True)
class Question:
    """One model call."""

    instructions: str
    """Ours: the system message."""
    data: str
    """What is to be read, between marks: the only other message."""
    answer: type[BaseModel]
    """The schema."""
    most: int
    """Tokens of the answer."""


@dataclass(frozen=True)
class Reply:
    """What came back, and what it cost in tokens."""

    data: Mapping[str, Any]
    """Fits the schema."""
    input: int
    output: int
    model: str = ""


def asked_tokens(question: Question) -> int:
    """What a question comes to, by estimate."""
    schema = str(wire_schema(question.answer))
    return estimate(question.instructions) + estimate(question.data) + estimate(schema)


class Asker(Protocol):
    """A model."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def window(self) -> int:
        """Tokens that fit into one call."""

    def ask(self, question: Question) -> Reply:
        """Ask once. Raises AskError."""


class AskError(PannierError):
    """The model gave no answer that can be used."""

    def __init__(
        self, kind: Trouble, message: str, hint: str = "", *, after: float = 0.0, tokens: int = 0
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.after = after
        """Seconds for which the server asks to wait; 0: it did not say."""
        self.tokens = tokens
        """What was paid all the same, as far as it is known."""

    def __reduce__(self) -> tuple[object, ...]:
        """So that it can be recorded, and raised again."""
        return _again, (self.kind, self.message, self.hint, self.after, self.tokens)


def _again(kind: Trouble, message: str, hint: str, after: float, tokens: int) -> AskError:
    return AskError(kind, message, hint, after=after, tokens=tokens)

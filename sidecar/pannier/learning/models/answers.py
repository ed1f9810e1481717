"""What a model may answer: nothing but these. The descriptions are part of the prompts."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pannier.learning.guards.visible import unframed
from pannier.learning.lessons import Kind


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _visible(cls, value: Any) -> Any:
        """What people would not see in a text, a model may have copied from somewhere."""
        return unframed(value) if isinstance(value, str) else value


class Found(_Answer):
    """A candidate."""

    kind: Kind
    text: str = Field(
        max_length=2_000,
        description="The lesson in one or two sentences that can be understood alone, in the "
        "language of the conversation.",
    )
    topic: str = Field(max_length=200, description="One to four words: where it belongs.")
    evidence: list[int] = Field(
        max_length=50, description="The numbers of the messages that prove it."
    )
    widens: bool = Field(
        default=False,
        description="Whether the agent may then do something without a question, a check or an "
        "approval that it needed before, or shall obey somebody or something new, or send money, "
        "credentials or data to a new place. Not a stricter rule, a contact, a name or a step.",
    )


class ExtractionAnswer(_Answer):
    """What was found in a piece of a thread."""

    summary: str = Field(
        max_length=20_000,
        description="The whole thread in short: what it is about, what was decided, what came out.",
    )
    candidates: list[Found] = Field(default=[], max_length=200)


class Add(_Answer):
    """A new lesson."""

    section: str = Field(max_length=200, description="An existing heading where one fits.")
    text: str = Field(max_length=2_000)
    candidates: list[str] = Field(max_length=200, description="What it is made from.")


class Revise(_Answer):
    """Another text for a lesson: made more precise, merged, or corrected."""

    lesson: str
    text: str = Field(max_length=2_000)
    candidates: list[str] = Field(max_length=200, description="Why it changes.")


class Confirm(_Answer):
    """A lesson that candidates say again."""

    lesson: str
    candidates: list[str] = Field(max_length=200)


class Remove(_Answer):
    """A lesson that a candidate disproves, or that another lesson now holds."""

    lesson: str
    candidates: list[str] = Field(default=[], max_length=200, description="What disproves it.")
    into: str = Field(default="", description="The lesson that holds it now, if one does.")


class Leave(_Answer):
    """A candidate that becomes no lesson."""

    candidate: str
    why: str = Field(max_length=500)


class ConsolidationAnswer(_Answer):
    """Edits of the memory. What is not named stays as it is."""

    add: list[Add] = Field(default=[], max_length=500)
    revise: list[Revise] = Field(default=[], max_length=500)
    confirm: list[Confirm] = Field(default=[], max_length=500)
    remove: list[Remove] = Field(default=[], max_length=500)
    leave: list[Leave] = Field(default=[], max_length=500)

"""What a model is sent, in numbers: as an agent in Python reports it, or as a transcript tells."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pannier_hook.events import LONGEST_NAME, LONGEST_SAID

_MOST_PARTS = 50
_MOST_LISTED = 1_000
GREATEST = 1 << 50

Count = Annotated[int, Field(ge=0, le=GREATEST, strict=True)]
# A model names its calls as it likes: a long name is no reason to know nothing.
Name = Annotated[str, AfterValidator(lambda name: name[:LONGEST_NAME])]


class _Of(BaseModel):
    """A container says it: what a later one says besides is passed over, all else is checked."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class Part(_Of):
    """What a kind of messages comes to."""

    part: Name
    """system, tools, memory, task, summary, request, said, thinking, calls or results."""
    messages: Count
    tokens: Count
    characters: Count | None = None


class Pruned(_Of):
    """A result that the model gets in a shorter form. Sizes in characters."""

    call: Name
    tool: Name
    before: Count = Field(alias="from")
    after: Count = Field(alias="to")
    how: Name
    """trimmed or cleared."""


class Spilled(_Of):
    """A result that lies in a file."""

    call: Name
    tool: Name
    path: Name
    """In the container."""
    bytes: Count


class Report(_Of):
    """All of it. What is not known is None."""

    window: Count | None = None
    """Tokens that the model takes."""
    limit: Count | None = None
    """Tokens above which compaction begins."""
    tokens: Count
    """Of a whole call."""
    exact: bool
    """Whether the provider counted them; else they are an estimate."""
    parts: Annotated[tuple[Part, ...], Field(max_length=_MOST_PARTS)] = ()
    summary: Annotated[str, Field(max_length=LONGEST_SAID)] = ""
    pruned: Annotated[tuple[Pruned, ...], Field(max_length=_MOST_LISTED)] = ()
    spilled: Annotated[tuple[Spilled, ...], Field(max_length=_MOST_LISTED)] = ()

    def as_data(self) -> dict[str, Any]:
        """For programs, and for the database."""
        return self.model_dump(by_alias=True)


def parse(text: str) -> Report | None:
    """The report in a JSON text that a container wrote; None for what is none."""
    try:
        return Report.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError):
        return None

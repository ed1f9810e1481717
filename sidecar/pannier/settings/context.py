"""`context:` in `group.yaml`."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from pannier.settings.strict import Strict
from pannier.settings.units import Duration, Size, size_in_bytes
from pannier_hook import tuning


class Pruning(Strict):
    """What becomes of large tool results before the model is asked again."""

    trim_tool_results: bool = Field(default=True, description="`false` switches pruning off.")
    soft_trim_chars: int = Field(
        default=tuning.SOFT_TRIM_CHARS,
        ge=tuning.LEAST["pruning.soft_trim_chars"],
        description="Of a longer result the beginning and the end are kept, in characters.",
    )
    hard_clear_threshold: int = Field(
        default=tuning.HARD_CLEAR_THRESHOLD,
        ge=tuning.LEAST["pruning.hard_clear_threshold"],
        description="A longer result becomes a note, in characters.",
    )
    protect_recent: int = Field(
        default=tuning.PROTECT_RECENT,
        ge=tuning.LEAST["pruning.protect_recent"],
        description="The last so many tool messages are left as they are.",
    )


class Compaction(Strict):
    """When the older part of a long conversation gives way to a summary."""

    enabled: bool = Field(default=True, description="`false` switches pannier's part in it off.")
    trigger_percent: int = Field(
        default=tuning.TRIGGER_PERCENT,
        ge=tuning.LEAST["compaction.trigger_percent"],
        le=tuning.MOST["compaction.trigger_percent"],
        description="How full the context window is when it begins, in percent.",
    )
    reserve_tokens: int = Field(
        default=tuning.RESERVE_TOKENS,
        ge=tuning.LEAST["compaction.reserve_tokens"],
        description="Of the window, left for what comes next.",
    )
    keep_recent_tokens: int = Field(
        default=tuning.KEEP_RECENT_TOKENS,
        ge=tuning.LEAST["compaction.keep_recent_tokens"],
        description="Of the latest messages, kept word for word.",
    )
    min_messages: int = Field(
        default=tuning.MIN_MESSAGES,
        ge=tuning.LEAST["compaction.min_messages"],
        description="A shorter conversation is not compacted, unless it would not fit any more.",
    )
    idle_after: Duration = Field(
        default=None,
        description="`pannier serve` compacts a thread in which nothing was said for so long, such "
        "as `12h`. It costs a model call; null: never.",
    )


def _enough(size: str) -> str:
    if size_in_bytes(size) < tuning.LEAST["spill_buffer.keep_size"]:
        raise ValueError("keep 64m at least")
    return size


class SpillBuffer(Strict):
    """Tool results that are too large for a context go into a file."""

    enabled: bool = Field(default=True, description="`false` switches it off.")
    default_threshold: int = Field(
        default=tuning.DEFAULT_THRESHOLD,
        ge=tuning.LEAST["spill_buffer.default_threshold"],
        description="A larger result goes into a file, in bytes of UTF-8.",
    )
    thresholds: dict[str, Annotated[int, Field(ge=tuning.LEAST_THRESHOLD)]] = Field(
        default_factory=dict,
        description="The same for tools by their name, or for a kind of them: `search` (20,000 "
        "unless said here) and `shell` (100,000).",
    )
    keep_days: int = Field(
        default=tuning.KEEP_DAYS,
        ge=tuning.LEAST["spill_buffer.keep_days"],
        le=tuning.MOST["spill_buffer.keep_days"],
        description="Days for which a file is kept.",
    )
    keep_size: Annotated[Size, AfterValidator(_enough)] = Field(
        default=tuning.KEEP_SIZE, description="Of all such files of the group; the oldest go first."
    )


class ContextSettings(Strict):
    """What is done so that a long conversation fits the model's context window.

    Also read as Mycel writes it: `memory: {pruning, compaction}` and `tools: {spill_buffer}`.
    """

    window: int | None = Field(
        default=None,
        ge=tuning.LEAST["window"],
        description="Tokens that the model takes; null: as many as the client, or the model's "
        "profile, says.",
    )
    pruning: Pruning = Field(default=Pruning(), description="Large results of tools.")
    compaction: Compaction = Field(default=Compaction(), description="Summaries.")
    spill_buffer: SpillBuffer = Field(
        default=SpillBuffer(), description="Results that go into a file."
    )

    @model_validator(mode="before")
    @classmethod
    def _as_mycel_writes_it(cls, data: Any) -> Any:
        return tuning.flattened(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _fits_together(self) -> ContextSettings:
        if problem := tuning.contradiction(self):
            raise ValueError(problem)
        return self

    def variable(self) -> str:
        """The value of `PANNIER_CONTEXT` in a container: JSON; "" if all is as by default.

        Without `idle_after`, which is the daemon's alone.
        """
        said = self.model_dump(exclude_defaults=True, exclude={"compaction": {"idle_after"}})
        said = {name: value for name, value in said.items() if value != {}}
        return json.dumps(said, separators=(",", ":")) if said else ""

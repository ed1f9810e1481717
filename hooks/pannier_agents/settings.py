"""The settings of `context:` for an agent in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

from pannier_hook import tuning
from pannier_hook.options import environment

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Pruning:
    """What becomes of large tool results before the model is asked again. Sizes in characters."""

    trim_tool_results: bool = True
    soft_trim_chars: int = tuning.SOFT_TRIM_CHARS
    hard_clear_threshold: int = tuning.HARD_CLEAR_THRESHOLD
    protect_recent: int = tuning.PROTECT_RECENT


@dataclass(frozen=True)
class Compaction:
    """When the older part of a conversation gives way to a summary."""

    enabled: bool = True
    trigger_percent: int = tuning.TRIGGER_PERCENT
    reserve_tokens: int = tuning.RESERVE_TOKENS
    keep_recent_tokens: int = tuning.KEEP_RECENT_TOKENS
    min_messages: int = tuning.MIN_MESSAGES
    idle_after: str | None = None
    """The sidecar's: it compacts a thread in which nothing was said for so long."""


@dataclass(frozen=True)
class SpillBuffer:
    """Tool results that go into a file. Thresholds in bytes of UTF-8."""

    enabled: bool = True
    default_threshold: int = tuning.DEFAULT_THRESHOLD
    thresholds: Mapping[str, int] = field(default_factory=dict)
    """By tool or kind of tool; they go before those that are built in."""
    keep_days: int = tuning.KEEP_DAYS
    keep_size: str = "1g"


@dataclass(frozen=True)
class ContextSettings:
    """All of it. Raises ValueError for values that contradict each other."""

    window: int | None = None
    """Tokens that the model takes; None: what its profile says."""
    pruning: Pruning = field(default_factory=Pruning)
    compaction: Compaction = field(default_factory=Compaction)
    spill_buffer: SpillBuffer = field(default_factory=SpillBuffer)

    def __post_init__(self) -> None:
        problem = tuning.contradiction(
            soft_trim_chars=self.pruning.soft_trim_chars,
            hard_clear_threshold=self.pruning.hard_clear_threshold,
            window=self.window,
            trigger_percent=self.compaction.trigger_percent,
            reserve_tokens=self.compaction.reserve_tokens,
            keep_recent_tokens=self.compaction.keep_recent_tokens,
        )
        if problem:
            raise ValueError(problem)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ContextSettings:
        """From an object as in `group.yaml`, or in Mycel's form. Raises ValueError."""
        return _read(cls, tuning.flattened(dict(data)), "context")

    @classmethod
    def here(cls) -> ContextSettings:
        """Those of this container's group; the defaults outside of one. Raises ValueError."""
        said = environment().get(tuning.VARIABLE)
        return cls.of(json.loads(said)) if said else cls()


def _read(kind: type[Settings], data: object, where: str) -> Settings:
    """A dataclass of settings from an object with the same names."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: should be an object")
    inner = {one.name: one.default_factory for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := data.keys() - inner.keys():
        raise ValueError(f"{where}.{min(unknown)} is not a setting")
    given = {
        name: _read(inner[name], value, f"{where}.{name}")  # type: ignore[arg-type]
        if is_dataclass(inner[name])
        else value
        for name, value in data.items()
    }
    return kind(**given)

"""The settings of `context:` for an agent in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, cast

from pannier_hook import tuning
from pannier_hook.options import environment
from pannier_hook.settings import size_in_bytes

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Pruning:
    """What becomes of large tool results before the model is asked again. Sizes in characters."""

    trim_tool_results: bool = True
    soft_trim_chars: int = tuning.SOFT_TRIM_CHARS
    hard_clear_threshold: int = tuning.HARD_CLEAR_THRESHOLD
    protect_recent: int = tuning.PROTECT_RECENT

    def __post_init__(self) -> None:
        _check(self, "pruning.")


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

    def __post_init__(self) -> None:
        _check(self, "compaction.")


@dataclass(frozen=True)
class SpillBuffer:
    """Tool results that go into a file. Thresholds in bytes of UTF-8."""

    enabled: bool = True
    default_threshold: int = tuning.DEFAULT_THRESHOLD
    thresholds: Mapping[str, int] = field(default_factory=dict)
    """By tool or kind of tool; they go before those that are built in."""
    keep_days: int = tuning.KEEP_DAYS
    keep_size: str = tuning.KEEP_SIZE

    def __post_init__(self) -> None:
        _check(self, "spill_buffer.")


@dataclass(frozen=True)
class ContextSettings:
    """All of it. As its parts, raises ValueError for a value that is none for its setting; also for
    values that contradict each other."""

    window: int | None = None
    """Tokens that the model takes; None: what its profile says."""
    pruning: Pruning = field(default_factory=Pruning)
    compaction: Compaction = field(default_factory=Compaction)
    spill_buffer: SpillBuffer = field(default_factory=SpillBuffer)

    def __post_init__(self) -> None:
        _check(self, "")
        if problem := tuning.contradiction(self):
            raise ValueError(problem)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ContextSettings:
        """From an object as in `group.yaml`, or in Mycel's form. Raises ValueError."""
        return _read(cls, tuning.flattened(dict(data)) if isinstance(data, Mapping) else data, "")

    @classmethod
    def here(cls) -> ContextSettings:
        """Those of this container's group; the defaults outside of one. Raises ValueError."""
        said = environment().get(tuning.VARIABLE)
        try:
            return cls.of(json.loads(said)) if said else cls()
        except ValueError as problem:
            raise ValueError(f"{tuning.VARIABLE}: {problem}") from problem


def _read(kind: type[Settings], data: object, section: str) -> Settings:
    """A dataclass of settings from an object with the same names."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{section.rstrip('.') or 'context'}: should be an object")
    inner = {one.name: one.default_factory for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := data.keys() - inner.keys():
        raise ValueError(f"{section}{min(map(str, unknown))} is not a setting")
    given = {
        name: _read(inner[name], value, f"{section}{name}.")  # type: ignore[arg-type]
        if is_dataclass(inner[name])
        else value
        for name, value in data.items()
        # A section in which nothing stands has its defaults.
        if value is not None or inner[name] is MISSING
    }
    return kind(**given)


def _check(part: Any, section: str) -> None:
    """Raises ValueError for the first value that is none for its setting."""
    for one in fields(part):
        name, value = f"{section}{one.name}", getattr(part, one.name)
        if wanted := _wanted(name, value, one):
            raise ValueError(f"{name} should be {wanted}, and is {value!r}")


def _wanted(name: str, value: object, setting: Field[Any]) -> str:
    """What the setting takes instead of this value; "" if that is right."""
    kind = setting.default_factory
    least, most = tuning.LEAST.get(name, 0), tuning.MOST.get(name)
    if is_dataclass(kind):
        right, wanted = isinstance(value, cast("type[Any]", kind)), "an object of settings"
    elif isinstance(setting.default, bool):
        right, wanted = isinstance(value, bool), "true or false"
    elif name == "compaction.idle_after":
        right, wanted = value is None or _is_time(value), "a time like 30m, 12h or 2d"
    elif name == "spill_buffer.keep_size":
        right, wanted = _bytes(value) >= least, "a size like 512m or 4g, 64m at least"
    elif name == "spill_buffer.thresholds":
        sizes = value.items() if isinstance(value, Mapping) else [("", None)]
        right = all(isinstance(tool, str) and _is_number(one, least) for tool, one in sizes)
        wanted = f"an object of tools, each with a whole number, {least:,} at least"
    else:
        right = _is_number(value, least, most) or (value is None and setting.default is None)
        wanted = f"a whole number, {least:,} at least" + (f" and {most:,} at most" if most else "")
    return "" if right else wanted


def _is_number(value: object, least: int, most: int | None = None) -> bool:
    # `True` is an int as well.
    return type(value) is int and least <= value and (most is None or value <= most)


def _is_time(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"0*[1-9]\d{0,3}[mhd]", value))


def _bytes(size: object) -> int:
    """Of a size in words; -1 for what is none."""
    try:
        return size_in_bytes(size) if isinstance(size, str) else -1
    except (OverflowError, ValueError):
        return -1

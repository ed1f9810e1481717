"""What the settings in `context:` are by default, and which of them contradict each other.

One home for the hook, for agents in Python and for the sidecar. Names and defaults are those that
people know from Mycel's memory page (Pruning, Compaction, Spill buffer).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Pruning(Protocol):
        @property
        def soft_trim_chars(self) -> int: ...
        @property
        def hard_clear_threshold(self) -> int: ...

    class Compaction(Protocol):
        @property
        def trigger_percent(self) -> int: ...
        @property
        def reserve_tokens(self) -> int: ...
        @property
        def keep_recent_tokens(self) -> int: ...

    class Context(Protocol):
        """`context:`, as the sidecar and agents in Python have it."""

        @property
        def window(self) -> int | None: ...
        @property
        def pruning(self) -> Pruning: ...
        @property
        def compaction(self) -> Compaction: ...


VARIABLE = "PANNIER_CONTEXT"
"""Environment variable of a container: the group's settings as JSON, as far as they are not the
defaults."""

SOFT_TRIM_CHARS = 3_000
HARD_CLEAR_THRESHOLD = 10_000
PROTECT_RECENT = 3

TRIGGER_PERCENT = 70
RESERVE_TOKENS = 16_384
KEEP_RECENT_TOKENS = 20_000
MIN_MESSAGES = 20

DEFAULT_THRESHOLD = 50_000
THRESHOLDS = {"search": 20_000, "shell": 100_000}
LEAST_BUILT_IN = min(DEFAULT_THRESHOLD, *THRESHOLDS.values())
LEAST_THRESHOLD = 4_000
"""Bytes: less is about what is shown of a spilled result."""
KEEP_DAYS = 30
KEEP_SIZE = "1g"

LEAST = {
    "window": 4_000,
    "pruning.soft_trim_chars": 200,
    "pruning.hard_clear_threshold": 200,
    "pruning.protect_recent": 0,
    "compaction.trigger_percent": 10,
    "compaction.reserve_tokens": 0,
    "compaction.keep_recent_tokens": 0,
    "compaction.min_messages": 1,
    "spill_buffer.default_threshold": LEAST_THRESHOLD,
    "spill_buffer.thresholds": LEAST_THRESHOLD,
    "spill_buffer.keep_days": 1,
    "spill_buffer.keep_size": 64 << 20,
}
"""What each may have at least: numbers as they are written, a size in bytes."""
OUTER = ("memory", "tools")
"""Names below which Mycel's settings have those of ours."""
MOST = {"compaction.trigger_percent": 95, "spill_buffer.keep_days": 36_500}


def contradiction(settings: Context) -> str:
    """Why these settings cannot hold together, in words for a person; "" if they can."""
    soft_trim_chars = settings.pruning.soft_trim_chars
    hard_clear_threshold = settings.pruning.hard_clear_threshold
    if soft_trim_chars > hard_clear_threshold:
        return (
            f"pruning.soft_trim_chars ({soft_trim_chars}) is above pruning.hard_clear_threshold "
            f"({hard_clear_threshold}): what is cleared cannot be trimmed as well, so lower the "
            "one or raise the other"
        )
    window, compaction = settings.window, settings.compaction
    if window is None:
        return ""
    trigger_percent = compaction.trigger_percent
    reserve_tokens, keep_recent_tokens = compaction.reserve_tokens, compaction.keep_recent_tokens
    fires = fires_at(window, trigger_percent, reserve_tokens)
    if reserve_tokens >= window:
        problem = (
            f"compaction.reserve_tokens ({reserve_tokens}) leaves nothing of the window ({window})"
        )
    elif keep_recent_tokens >= fires:
        problem = (
            f"compaction.keep_recent_tokens ({keep_recent_tokens}) is not below the {fires} tokens "
            f"at which compaction fires in a window of {window}: nothing would be left to summarize"
        )
    else:
        return ""
    # What fits may differ from what is built in: who writes a small window wrote neither.
    reserve = min(reserve_tokens, window // 8)
    keep = min(keep_recent_tokens, fires_at(window, trigger_percent, reserve) // 2)
    return (
        f"{problem}. For this window write, say, "
        f"compaction: {{reserve_tokens: {reserve}, keep_recent_tokens: {keep}}}"
    )


def fires_at(window: int, trigger_percent: int, reserve_tokens: int) -> int:
    """Of how many tokens in a window of `window` a compaction begins."""
    return min(window * trigger_percent // 100, window - reserve_tokens)


def flattened(data: dict[str, object]) -> dict[str, object]:
    """The settings with Mycel's outer names taken away. What is not of that form stays as it is,
    and is refused by whoever knows the names. Raises ValueError for one that is said twice."""
    flat = {name: value for name, value in data.items() if name not in OUTER}
    for outer in OUTER:
        inner = data.get(outer, {})
        if not isinstance(inner, dict):
            if inner is not None:
                flat[outer] = inner
            continue
        if twice := inner.keys() & flat.keys():
            name = min(map(str, twice))
            raise ValueError(f"{outer}.{name} and {name} are the same setting: keep one of them")
        flat.update(inner)
    return flat

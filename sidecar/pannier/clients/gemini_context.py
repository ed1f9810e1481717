"""How Gemini CLI is held to the settings in `context:`, as measured with the version in the image.

Pure.
"""

from __future__ import annotations

from pannier.clients.client import ContextPlan, Effect
from pannier.clients.effects import UNPRUNED, fires_at, own_limit, shell_threshold
from pannier.settings import ContextSettings

WINDOW = 1_048_576
"""Tokens: that of all Gemini models as the client has it, whatever the endpoint says."""
THRESHOLD = "PANNIER_GEMINI_COMPRESSION"
"""Environment variable with the part of its window at which the client compresses."""
ITS_THRESHOLD = 0.5
LIMIT = "PANNIER_GEMINI_OUTPUT"
"""The same with the characters of a command's output above which it uses a file of its own."""
ITS_LIMIT = 40_000


def fraction(settings: ContextSettings) -> str:
    """The part of the client's window at which it compresses."""
    if not settings.compaction.enabled:
        return str(ITS_THRESHOLD)
    return f"{fires_at(settings, settings.window or WINDOW) / WINDOW:.6f}"


def context(settings: ContextSettings) -> ContextPlan:
    """By values of its settings, which the image takes from variables."""
    environment = {THRESHOLD: fraction(settings)}
    limit = shell_threshold(settings) if settings.spill_buffer.enabled else None
    if limit is not None and limit > ITS_LIMIT:
        environment[LIMIT] = str(limit)
    return ContextPlan(environment, (*_compaction(), UNPRUNED, *_spill(limit)))


def _compaction() -> tuple[Effect, ...]:
    by = "by model.compressionThreshold, unless a person's own settings in the container name one"
    return (
        Effect("window", "yes", f"{by}: as a part of the {WINDOW:,} tokens that it counts with"),
        Effect("compaction.enabled", "yes", f"false leaves it at its own {ITS_THRESHOLD:.0%}"),
        Effect(
            "compaction.trigger_percent",
            "partly",
            f"{by}; it cuts only before a person's message, so that nothing is cut within the "
            "first turn of a context",
        ),
        Effect("compaction.reserve_tokens", "yes", by),
        Effect(
            "compaction.keep_recent_tokens",
            "no",
            "Gemini CLI keeps the last 30% of the conversation beside the summary",
        ),
        Effect("compaction.min_messages", "no", "Gemini CLI asks only how full the window is"),
    )


def _spill(limit: int | None) -> tuple[Effect, ...]:
    how = "by the hook after each tool (AfterTool)"
    thresholds = Effect("spill_buffer.thresholds", "yes", how)
    if limit is None:
        thresholds = own_limit("Gemini CLI", ITS_LIMIT, "characters", how)
    return Effect("spill_buffer", "yes", how), thresholds

"""How Copilot CLI is held to the settings in `context:`, as measured with the version in the image.

Pure.
"""

from __future__ import annotations

from pannier.clients.client import ContextPlan, Effect
from pannier.clients.effects import UNPRUNED, own_limit, part_at, shell_threshold
from pannier.settings import ContextSettings

SMALLEST_WINDOW = 128_000
"""Tokens: of the models that it is used with."""
ITS_THRESHOLD = 0.8
ITS_LIMIT = 20_000
"""Bytes of a command's output, above which it keeps the output in a file of its own."""


def context(settings: ContextSettings) -> ContextPlan:
    """By its environment variables."""
    environment = {}
    if settings.compaction.enabled:
        part = part_at(settings, SMALLEST_WINDOW)
        environment["COPILOT_BACKGROUND_COMPACTION_THRESHOLD"] = f"{part:.4f}"
    if settings.window is not None:
        environment["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"] = str(settings.window)
    limit = shell_threshold(settings) if settings.spill_buffer.enabled else None
    if limit is not None and limit > ITS_LIMIT:
        environment["COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES"] = str(limit)
    return ContextPlan(environment, (*_compaction(), UNPRUNED, *_spill(limit)))


def _compaction() -> tuple[Effect, ...]:
    by = "by COPILOT_BACKGROUND_COMPACTION_THRESHOLD"
    return (
        Effect(
            "window",
            "partly",
            "by COPILOT_PROVIDER_MAX_PROMPT_TOKENS, which it heeds with a provider of one's own "
            "(COPILOT_PROVIDER_BASE_URL) only",
        ),
        Effect("compaction.enabled", "yes", f"false leaves it at its own {ITS_THRESHOLD:.0%}"),
        Effect("compaction.trigger_percent", "yes", by),
        Effect("compaction.reserve_tokens", "yes", f"{by}; it waits for a summary at 95%"),
        Effect(
            "compaction.keep_recent_tokens",
            "no",
            "Copilot CLI itself decides what stays beside the summary",
        ),
        Effect("compaction.min_messages", "no", "Copilot CLI asks only how full the window is"),
        Effect(
            "compaction.idle_after",
            "no",
            "Copilot CLI tells nobody of its summary, so it could not be seen that there is one",
        ),
    )


def _spill(limit: int | None) -> tuple[Effect, ...]:
    how = "by the hook after each tool (postToolUse)"
    thresholds = Effect("spill_buffer.thresholds", "yes", how)
    if limit is None:
        thresholds = own_limit("Copilot CLI", ITS_LIMIT, "bytes", how)
    return Effect("spill_buffer", "yes", how), thresholds

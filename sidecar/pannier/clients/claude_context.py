"""How Claude Code is held to the settings in `context:`. Pure."""

from __future__ import annotations

from pannier.clients.client import ContextPlan, Effect
from pannier.clients.effects import UNPRUNED, fires_at
from pannier.settings import ContextSettings
from pannier_hook.tools import threshold

LEAST_WINDOW = 100_000
"""Claude Code takes no smaller one from CLAUDE_CODE_AUTO_COMPACT_WINDOW."""
LARGEST_WINDOW = 1_000_000
"""That of the model which it uses by default."""
SMALLEST_WINDOW = 200_000
"""That of its other models."""
ITS_RESERVE = 20_000
"""Of the window: CLAUDE_AUTOCOMPACT_PCT_OVERRIDE is a percentage of the rest."""
ITS_LIMIT = 30_000
"""Bytes of a command's output, above which it keeps the output in a file of its own, whatever
BASH_MAX_OUTPUT_LENGTH says."""


def context(settings: ContextSettings) -> ContextPlan:
    """By its environment variables, as measured with the version in the image."""
    environment = {}
    if settings.window is not None:
        environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(max(LEAST_WINDOW, settings.window))
    if settings.compaction.enabled:
        environment["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] = f"{_percent(settings):.2f}"
    return ContextPlan(environment, (*_compaction(settings), UNPRUNED, *_spill(settings)))


def _percent(settings: ContextSettings) -> float:
    """The trigger as Claude Code counts it. Where the window is not known it is never above what
    the settings say, whatever the model."""
    window = settings.window
    if window is not None:
        fires = fires_at(settings, window)
        return min(100.0, 100 * fires / (max(LEAST_WINDOW, window) - ITS_RESERVE))
    return max(
        1.0,
        min(
            100 * fires_at(settings, known) / (known - ITS_RESERVE)
            for known in (SMALLEST_WINDOW, LARGEST_WINDOW)
        ),
    )


def _compaction(settings: ContextSettings) -> tuple[Effect, ...]:
    by = "by CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, of which it takes no more than its own limit"
    if settings.window is None:
        window = Effect("window", "partly", "unless it is said, Claude Code's own of the model")
        trigger = Effect(
            "compaction.trigger_percent",
            "partly",
            f"{by}; exact in a window of {LARGEST_WINDOW:,} tokens, earlier in a smaller one: say "
            "`window` to have it exact",
        )
    else:
        window = Effect("window", "yes", "by CLAUDE_CODE_AUTO_COMPACT_WINDOW; the model's at most")
        trigger = Effect("compaction.trigger_percent", "yes", by)
    return (
        window,
        Effect("compaction.enabled", "yes", "false leaves its own settings to Claude Code"),
        trigger,
        Effect(
            "compaction.reserve_tokens",
            "yes",
            "Claude Code keeps 33,000 free in any case; more, by the same percentage",
        ),
        Effect(
            "compaction.keep_recent_tokens",
            "no",
            "Claude Code itself decides what stays beside the summary",
        ),
        Effect("compaction.min_messages", "no", "Claude Code asks only how full the window is"),
    )


def _spill(settings: ContextSettings) -> tuple[Effect, ...]:
    what = "by the hook after each tool (PostToolUse)"
    if threshold(settings.spill_buffer, "Bash") > ITS_LIMIT:
        thresholds = Effect(
            "spill_buffer.thresholds",
            "partly",
            f"{what}; of a command's output between {ITS_LIMIT:,} bytes and the threshold Claude "
            "Code itself shows 2,000, and keeps the whole in its HOME",
        )
    else:
        thresholds = Effect("spill_buffer.thresholds", "yes", what)
    failed = "; of a command that failed Claude Code itself keeps no more than 10,000 characters"
    return (
        Effect("spill_buffer", "yes", what),
        Effect("spill_buffer.enabled", "yes", what + failed),
        thresholds,
    )

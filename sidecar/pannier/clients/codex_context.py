"""How Codex is held to the settings in `context:`. Pure."""

from __future__ import annotations

from pannier.clients.client import ContextPlan, Effect
from pannier.clients.effects import UNPRUNED, fires_at
from pannier.settings import ContextSettings
from pannier_hook.clients import CLIENTS

VARIABLE = "PANNIER_CODEX_CONTEXT"
"""Settings of Codex's own, `name=value` and a space between. The image's `codex` hands them on."""


def context(settings: ContextSettings) -> ContextPlan:
    """By its settings for its own compaction, as measured with the version in the image."""
    said = {}
    if settings.window is not None:
        said["model_context_window"] = settings.window
        if settings.compaction.enabled:
            said["model_auto_compact_token_limit"] = fires_at(settings, settings.window)
    elif settings.compaction.enabled:
        said["model_post_turn_compact_threshold_percent"] = settings.compaction.trigger_percent
    value = " ".join(f"{name}={number}" for name, number in said.items())
    environment = {VARIABLE: value} if value else {}
    return ContextPlan(environment, (*_compaction(settings), UNPRUNED, *_SPILL))


def _compaction(settings: ContextSettings) -> tuple[Effect, ...]:
    if settings.window is None:
        window = Effect("window", "partly", "unless it is said, Codex's own of the model")
        trigger = Effect(
            "compaction.trigger_percent",
            "partly",
            "by model_post_turn_compact_threshold_percent, at the end of a turn; within one Codex "
            "compacts at 90 percent: say `window` to have it there as well",
        )
        reserve = Effect(
            "compaction.reserve_tokens",
            "partly",
            "Codex leaves 10 percent of the window; say `window` to have it exact",
        )
    else:
        by = "by model_auto_compact_token_limit"
        window = Effect("window", "yes", "by model_context_window; at most what the model takes")
        trigger = Effect("compaction.trigger_percent", "yes", by)
        reserve = Effect("compaction.reserve_tokens", "yes", by)
    return (
        window,
        Effect("compaction.enabled", "yes", "false leaves its own settings to Codex"),
        trigger,
        reserve,
        Effect(
            "compaction.keep_recent_tokens",
            "no",
            "Codex itself decides what stays: what a person said, word for word, and its summary",
        ),
        Effect("compaction.min_messages", "no", "Codex asks only how full the window is"),
    )


_SHOWS = CLIENTS["codex"].shows
_BESIDE = (
    "of commands by a reader at their output (BASH_ENV); in the place of a result where it goes to "
    "the model as it is, beside it where a script of the model's gets it, so that no script "
    "computes with our words: what such a script then prints, Codex cuts at 10,000 tokens. Not of "
    "commands in a terminal or in another shell than bash"
)
_OTHERS = "after tools of MCP servers (PostToolUse)"
_SPILL = (
    Effect("spill_buffer", "partly", f"{_BESIDE}; {_OTHERS} in the same way"),
    Effect("spill_buffer.default_threshold", "yes", f"by the hook {_OTHERS}"),
    Effect(
        "spill_buffer.thresholds",
        "partly",
        f"of commands: more than {_SHOWS:,} bytes go into a file also where the threshold is "
        "higher, for Codex shows its model no more",
    ),
)

"""How Qwen Code is held to the settings in `context:`, as measured with the version in the image.

Pure.
"""

from __future__ import annotations

import json
from typing import Any

from pannier.clients.client import ContextPlan, Effect
from pannier.clients.effects import UNPRUNED, part_at
from pannier.settings import ContextSettings

DEFAULTS = "PANNIER_QWEN_DEFAULTS"
"""Environment variable with defaults, as JSON, in the place of those in the image: it takes no
number from a variable. The program that starts it sees to it (images/qwen/qwen)."""
SMALLEST_WINDOW = 131_072
"""Tokens: of the models that it is used with."""
ITS_THRESHOLD = 0.85


def default_settings(settings: ContextSettings) -> dict[str, Any]:
    """What holds as long as a person's or a project's settings say nothing else."""
    defaults: dict[str, Any] = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "ide": {"hasSeenNudge": True},
    }
    if settings.compaction.enabled:
        part = round(part_at(settings, SMALLEST_WINDOW), 4)
        defaults["context"] = {"autoCompactThreshold": part}
    if settings.window is not None:
        defaults["model"] = {"generationConfig": {"contextWindowSize": settings.window}}
    return defaults


def context(settings: ContextSettings) -> ContextPlan:
    """By `context.autoCompactThreshold` and the window of its settings."""
    defaults = default_settings(settings)
    baked = defaults == default_settings(ContextSettings())
    environment = {} if baked else {DEFAULTS: json.dumps(defaults, separators=(",", ":"))}
    return ContextPlan(environment, (*_compaction(), UNPRUNED, _SPILL))


def _compaction() -> tuple[Effect, ...]:
    by = "by context.autoCompactThreshold, unless a person's own settings in the container name one"
    return (
        Effect("window", "yes", "by model.generationConfig.contextWindowSize, unless a person's"),
        Effect("compaction.enabled", "yes", f"false leaves it at its own {ITS_THRESHOLD:.0%}"),
        Effect("compaction.trigger_percent", "yes", by),
        Effect(
            "compaction.reserve_tokens",
            "yes",
            "Qwen Code keeps some 33,000 free in any case; more, by the same setting",
        ),
        Effect(
            "compaction.keep_recent_tokens",
            "no",
            "Qwen Code keeps no messages beside the summary",
        ),
        Effect("compaction.min_messages", "no", "Qwen Code asks only how full the window is"),
    )


_SPILL = Effect(
    "spill_buffer",
    "no",
    "Qwen Code lets no hook replace what a tool gave. It shortens a result of more than 25,000 "
    "characters itself, and keeps all of it in ~/.qwen/tmp",
)

"""How OpenCode is held to the settings in `context:`, as measured with the version in the image.

Our plugin reads them itself, from the container's environment. Pure.
"""

from __future__ import annotations

from typing import Any

from pannier.clients.client import ContextPlan, Effect
from pannier.settings import ContextSettings
from pannier_hook import tuning
from pannier_hook.clients import CLIENTS


def default_settings() -> dict[str, Any]:
    """The settings that hold in the image, all of them said."""
    settings = ContextSettings().model_dump()
    settings["spill_buffer"]["thresholds"] = dict(tuning.THRESHOLDS)
    return settings


def context(_: ContextSettings) -> ContextPlan:
    """By the plugin."""
    by = "by the plugin, which lowers the model's limit of input"
    own = ", unless a person's own settings in the container say so"
    sent = "by the plugin, in each request; what OpenCode stores stays"
    how = "by the plugin after each tool (tool.execute.after)"
    shows = CLIENTS["opencode"].shows
    return ContextPlan(
        effects=(
            Effect("window", "yes", f"{by}; the model's own at most"),
            Effect("compaction.enabled", "yes", "false leaves its own settings to OpenCode"),
            Effect("compaction.trigger_percent", "yes", by),
            Effect("compaction.reserve_tokens", "yes", f"{by}, and by compaction.reserved{own}"),
            Effect(
                "compaction.keep_recent_tokens",
                "yes",
                f"by compaction.preserve_recent_tokens{own}",
            ),
            Effect("compaction.min_messages", "no", "OpenCode asks only how full the window is"),
            Effect("pruning", "yes", sent),
            Effect(
                "spill_buffer",
                "yes",
                f"{how}; what commands print is kept by a reader at their output (BASH_ENV), but "
                "not in another shell than bash",
            ),
            Effect(
                "spill_buffer.thresholds",
                "partly",
                f"of commands: more than {shows:,} bytes go into a file also where the threshold "
                "is higher, for OpenCode shows its model no more; another result of more than 50 "
                "KB or 2,000 lines OpenCode itself puts into a file of its own",
            ),
        )
    )

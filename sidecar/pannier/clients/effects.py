"""What is the same for several clients about the settings in `context:`. Pure."""

from __future__ import annotations

from pannier.clients.client import Effect
from pannier.settings import ContextSettings
from pannier_hook import tuning
from pannier_hook.tools import SHELL, kind_of, threshold

UNPRUNED = Effect("pruning", "no", "nobody can change what its model has already been sent")
"""Of all agent programs but OpenCode: no hook reaches back into a history."""


def fires_at(settings: ContextSettings, window: int) -> int:
    """Of how many tokens in a window of `window` a compaction begins."""
    compaction = settings.compaction
    return max(1, tuning.fires_at(window, compaction.trigger_percent, compaction.reserve_tokens))


def part_at(settings: ContextSettings, smallest: int) -> float:
    """The same as a part of the window. Where that is not known, the part holds for all windows of
    `smallest` tokens and more."""
    window = settings.window or smallest
    return fires_at(settings, window) / window


def own_limit(client: str, limit: int, unit: str, how: str) -> Effect:
    """What holds of the thresholds where the client keeps a command's longer output in a file of
    its own. `how`: by which means the hook does."""
    return Effect(
        "spill_buffer.thresholds",
        "partly",
        f"{how}; a command's output of more than {limit:,} {unit} {client} itself puts into a file "
        "of its own, also where the threshold is higher",
    )


def shell_threshold(settings: ContextSettings) -> int | None:
    """The bytes that a command's output may have, where a person says so; else None."""
    own = settings.spill_buffer.thresholds
    if any(name == SHELL or kind_of(name) == SHELL for name in own):
        return threshold(settings.spill_buffer, "Bash")
    return None

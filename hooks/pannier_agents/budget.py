"""How much of a model's window is used, and from where on something has to give way. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pannier_agents.settings import ContextSettings
from pannier_hook.tuning import fires_at

DEFAULT_WINDOW = 128_000
"""Tokens that a model takes of which nothing is known."""
_LARGEST_RESERVE = 2
"""Of a window that the settings do not know the reserve takes one part in so many at most."""
_LEAST_RESERVE = 4
"""Of the reserve one part in so many stays whatever else there is."""
_LARGEST_TAIL = 3 / 4
"""Of what is left below the trigger the kept tail has at most this share: the rest is gained."""
_SUMMARY = 8_000
_SUMMARY_SHARE = 8
_STEP_PERCENT = 10
_GAIN_PERCENT = 5
_MOST_DOUBLINGS = 3
_BOUNDS = 2 / 3, 2.0
"""An estimate is hardly ever further off. A count that is leaves out something, such as what was in
a cache, or is the sum of several requests."""


@dataclass(frozen=True)
class Budget:
    """Numbers of tokens for one model."""

    window: int
    limit: int
    """A compaction is due above it."""
    most: int
    """No request is larger, as long as there is anything to leave out."""
    keep: int
    """What stays word for word of the latest messages."""

    @property
    def summary(self) -> int:
        """The longest summary."""
        return min(_SUMMARY, self.window // _SUMMARY_SHARE)

    @property
    def step(self) -> int:
        """What a step of pruning saves at least: it costs the provider's cache of the prompt."""
        return self.window * _STEP_PERCENT // 100

    @property
    def gain(self) -> int:
        """A compaction that gains less is not worth its summary."""
        return self.window * _GAIN_PERCENT // 100

    def beside(self, staying: int) -> Budget:
        """Where `staying` tokens stay whatever gives way: the reserve takes half of the rest at
        most, and of what is left then messages have half before a compaction is due."""
        reserve, room = self.window - self.most, max(0, self.window - staying)
        most = self.window - max(reserve // _LEAST_RESERVE, min(reserve, room // 2))
        return replace(self, most=most, limit=min(max(self.limit, (staying + most) // 2), most))

    def pause(self, failed: int) -> int:
        """After so many failed summaries in a row the next one is tried when so much was added."""
        return self.gain << min(failed - 1, _MOST_DOUBLINGS)

    def tail(self, fixed: int) -> int:
        """What the kept tail may have where `fixed` tokens stay whatever is kept."""
        return max(0, min(self.keep, int((self.limit - fixed) * _LARGEST_TAIL)))


def budget(settings: ContextSettings, profile: Mapping[str, Any] | None) -> Budget:
    """For a model with this profile: the smaller of its window and the one in the settings."""
    known = [settings.window, (profile or {}).get("max_input_tokens")]
    windows = [one for one in known if isinstance(one, int) and one > 0]
    window = min(windows, default=DEFAULT_WINDOW)
    reserve = settings.compaction.reserve_tokens
    if window != settings.window:
        reserve = min(reserve, window // _LARGEST_RESERVE)
    most = window - reserve
    limit = fires_at(window, settings.compaction.trigger_percent, reserve)
    return Budget(window, limit, most, settings.compaction.keep_recent_tokens)


def profile_of(model: object) -> Mapping[str, Any] | None:
    """What LangChain knows of a model; None where it knows nothing."""
    profile = getattr(model, "profile", None)  # One that is chosen only later has no such member.
    return profile if isinstance(profile, Mapping) else None


def calibrated(estimated: int, reported: int | None) -> float:
    """By what an estimate is multiplied: a request was estimated at so many tokens, and the
    provider counted so many (None: it did not say)."""
    if not reported or estimated <= 0:
        return 1.0
    least, most = _BOUNDS
    return min(most, max(least, reported / estimated))

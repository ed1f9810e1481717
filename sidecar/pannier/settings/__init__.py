"""`pannier.yaml` and `group.yaml`, read into typed settings. Unknown keys are refused."""

from pannier.settings.context import Compaction, ContextSettings, Pruning, SpillBuffer
from pannier.settings.group import Conversations, GroupSettings, HomeSettings, Limits, MountRequest
from pannier.settings.learning import (
    CLIENT,
    Budget,
    HomeLearning,
    LearningSettings,
    ModelSettings,
)
from pannier.settings.reading import load, parse, what_is_wrong
from pannier.settings.strict import Strict
from pannier.settings.units import seconds_of, size_in_bytes

__all__ = [
    "CLIENT",
    "Budget",
    "Compaction",
    "ContextSettings",
    "Conversations",
    "GroupSettings",
    "HomeLearning",
    "HomeSettings",
    "LearningSettings",
    "Limits",
    "ModelSettings",
    "MountRequest",
    "Pruning",
    "SpillBuffer",
    "Strict",
    "load",
    "parse",
    "seconds_of",
    "size_in_bytes",
    "what_is_wrong",
]

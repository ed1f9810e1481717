"""The settings of `context:` as far as the hook needs them, from the container's environment."""

from __future__ import annotations

from . import tuning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


class Spill:
    """`context.spill_buffer`. Frozen by custom."""

    __slots__ = ("default_threshold", "enabled", "keep_days", "keep_size", "thresholds")

    def __init__(
        self,
        *,
        enabled: bool = True,
        default_threshold: int = tuning.DEFAULT_THRESHOLD,
        thresholds: Mapping[str, int] | None = None,
        keep_days: int = tuning.KEEP_DAYS,
        keep_size: str = tuning.KEEP_SIZE,
    ) -> None:
        self.enabled = enabled
        self.default_threshold = default_threshold
        self.thresholds: Mapping[str, int] = dict(thresholds or {})
        self.keep_days = keep_days
        self.keep_size = keep_size


def spill_of(variable: str) -> Spill:
    """What `PANNIER_CONTEXT` says of the spill buffer; the defaults for what it does not say.

    Raises ValueError. The host checked the settings; here only their form is looked at.
    """
    said = _part(variable, "spill_buffer")
    spill = Spill()
    for name, value in said.items():
        if name not in Spill.__slots__ or type(value) is not type(getattr(spill, name)):
            raise ValueError(f"{tuning.VARIABLE}: spill_buffer.{name} is not understood")
        setattr(spill, name, value)
    if any(type(size) is not int for size in spill.thresholds.values()):
        raise ValueError(f"{tuning.VARIABLE}: spill_buffer.thresholds are not all numbers")
    return spill


def compaction_enabled(variable: str) -> bool:
    """Whether pannier has a part in compactions, by `PANNIER_CONTEXT`. Raises ValueError."""
    return _part(variable, "compaction").get("enabled") is not False


def size_in_bytes(size: str) -> int:
    """`512m`, `1g`, `1.5GiB` → bytes, in powers of 1,024. Raises ValueError."""
    text = size.strip().lower().removesuffix("b").removesuffix("i")
    shift = _UNITS.get(text[-1:], 0)
    return int(float(text[:-1] if shift else text) * (1 << shift))


def _part(variable: str, name: str) -> dict[str, object]:
    if not variable:
        return {}
    from .jsontext import loads

    said = loads(variable)
    part = tuning.flattened(said).get(name, {}) if isinstance(said, dict) else None
    if not isinstance(part, dict):
        raise ValueError(f"{tuning.VARIABLE} is not an object of settings")
    return part

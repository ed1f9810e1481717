"""Which of a group's settings in `context:` hold with a client, and what its containers get for it.

Pure: each client says what becomes of the settings; here that is put beside all of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from pannier.clients import Client
from pannier.clients.client import Effect
from pannier.settings import ContextSettings
from pannier_hook.tools import KIND_OF, kind_of
from pannier_hook.tuning import THRESHOLDS, VARIABLE

Holds = Literal["yes", "partly", "no", "off", "unknown"]
"""`off`: it was switched off. `unknown`: pannier cannot say it of this client."""

_SWITCHES = {
    "pruning": "trim_tool_results",
    "compaction": "enabled",
    "spill_buffer": "enabled",
}
_IDLE = "compaction.idle_after"
_THRESHOLDS = "spill_buffer.thresholds"
_ALIKE = 0.85
"""How alike a misspelt name is (difflib). `web_search` is none of `search`."""
_DAEMON = "pannier serve compacts the thread by a turn of its own"


@dataclass(frozen=True)
class Row:
    """One setting, by its name below `context:`."""

    setting: str
    value: Any
    said: bool
    """Whether group.yaml gives it another value than the default."""
    holds: Holds
    how: str
    """By which means, or why not; words for a person."""

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "setting": self.setting,
            "value": self.value,
            "default": not self.said,
            "holds": self.holds,
            "how": self.how,
        }


def environment(settings: ContextSettings, client: Client) -> dict[str, str]:
    """Variables of each container of the client: the settings as JSON unless they are all as by
    default, and what the client itself is told."""
    said = settings.variable()
    return {**({VARIABLE: said} if said else {}), **client.context(settings).environment}


def rows(settings: ContextSettings, client: Client) -> tuple[Row, ...]:
    """Every setting, in the order of the page on settings, with what becomes of it."""
    effects = {effect.setting: effect for effect in client.context(settings).effects}
    return tuple(
        _row(name, value, default, _switched_off(settings, name), _effect(effects, name, client))
        for (name, value), (_, default) in zip(
            _leaves(settings), _leaves(ContextSettings()), strict=True
        )
    )


def unheld(settings: ContextSettings, client: Client) -> tuple[Row, ...]:
    """What a person should know before it matters: what group.yaml says in vain, and a result of
    any size that goes to the model because the client lets nobody take it away."""
    return tuple(
        row
        for row in rows(settings, client)
        if row.holds == "no" and (row.said or row.setting == "spill_buffer.enabled")
    )


def passed_over(environment: Mapping[str, str], env_from: tuple[str, ...]) -> tuple[str, ...]:
    """Variables that pannier would set for the client, and a person hands on instead."""
    return tuple(name for name in env_from if name in environment)


def misspelt(thresholds: Mapping[str, int]) -> dict[str, str]:
    """Names that stand for no kind of tools, nor for a tool that is known, and what each may be
    meant for. Others that are not known are left alone: a client may have any tools."""
    known = [*THRESHOLDS, *KIND_OF]
    found = {
        name: difflib.get_close_matches(name.lower(), known, n=1, cutoff=_ALIKE)
        for name in thresholds
        if name not in THRESHOLDS and not kind_of(name)
    }
    return {name: near[0] for name, near in found.items() if near}


def in_effect(thresholds: Mapping[str, int]) -> dict[str, int]:
    """What a person says, with what that means for each kind of tools."""
    alike = {
        kind: [size for name, size in thresholds.items() if kind_of(name) == kind]
        for kind in THRESHOLDS
    }
    kinds = {kind: min(sizes, default=THRESHOLDS[kind]) for kind, sizes in alike.items()}
    return {**kinds, **thresholds}


def _row(name: str, value: Any, default: Any, off: bool, effect: Effect | None) -> Row:
    said = value != default
    if name == _THRESHOLDS:
        value = in_effect(value)
    if off:
        return Row(name, value, said, "off", "switched off")
    if effect is None:
        return Row(name, value, said, "unknown", "pannier does not know what it makes of it")
    return Row(name, value, said, effect.holds, effect.how)


def _switched_off(settings: ContextSettings, name: str) -> bool:
    part = name.partition(".")[0]
    return part in _SWITCHES and not getattr(getattr(settings, part), _SWITCHES[part])


def _effect(effects: Mapping[str, Effect], name: str, client: Client) -> Effect | None:
    """What is said of the setting itself, else of all below the name before its dot."""
    if name == _IDLE and name not in effects:
        if client.compact is None:
            why = f"pannier knows no way to compact {client.title} without a person"
            return Effect(name, "no", why)
        return Effect(name, "yes", _DAEMON)
    return effects.get(name) or effects.get(name.partition(".")[0])


def _leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value

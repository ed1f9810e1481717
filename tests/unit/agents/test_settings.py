"""The settings of `context:` as an agent in Python is given them: each value is checked."""

from __future__ import annotations

from typing import Any

import pytest

from pannier.settings import ContextSettings as OfTheSidecar
from pannier_agents.settings import Compaction, ContextSettings, Pruning, SpillBuffer
from pannier_hook import tuning

NUMBERS = sorted(tuning.LEAST.keys() - {"spill_buffer.thresholds", "spill_buffer.keep_size"})


def nested(name: str, value: object) -> dict[str, Any]:
    section, _, inner = name.rpartition(".")
    return {section: {inner: value}} if section else {inner: value}


def accepted(data: dict[str, Any]) -> list[bool]:
    """By an agent in Python, and by the sidecar; without what contradicts another setting."""
    found = []
    for read in (ContextSettings.of, OfTheSidecar.model_validate):
        try:
            read(data)
        except ValueError as problem:
            found.append("is above" in str(problem) or "leaves nothing" in str(problem))
        else:
            found.append(True)
    return found


@pytest.mark.parametrize("name", NUMBERS)
def test_bounds(name: str) -> None:
    """A number has the bounds that it has in `group.yaml`."""
    least, most = tuning.LEAST[name], tuning.MOST.get(name)
    assert accepted(nested(name, least)) == [True, True]
    assert accepted(nested(name, least - 1)) == [False, False]
    if most is not None:
        assert accepted(nested(name, most)) == [True, True]
        assert accepted(nested(name, most + 1)) == [False, False]


WRONG: list[tuple[str, object]] = [
    *((name, value) for name in NUMBERS for value in ("5000", 5_000.5, True, [1])),
    ("pruning.trim_tool_results", "no"),
    ("compaction.enabled", 0),
    ("compaction.enabled", None),
    ("compaction.idle_after", "soon"),
    ("compaction.idle_after", 3_600),
    ("compaction.idle_after", "0h"),
    ("spill_buffer.enabled", "true"),
    ("spill_buffer.thresholds", {"Grep": "20000"}),
    ("spill_buffer.thresholds", {"Grep": 3_999}),
    ("spill_buffer.thresholds", [20_000]),
    ("spill_buffer.keep_size", "1x"),
    ("spill_buffer.keep_size", "inf"),
    ("spill_buffer.keep_size", "1m"),
    ("spill_buffer.keep_size", 1 << 30),
    ("pruning", "none"),
    ("pruning.soft", 1),
    ("windows", 100_000),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_is_no_value_of_a_setting(name: str, value: object) -> None:
    """One line names the setting."""
    with pytest.raises(ValueError, match=rf"^{name}\b.+") as caught:
        ContextSettings.of(nested(name, value))
    assert "\n" not in str(caught.value)


def test_parts_that_are_made_by_themselves() -> None:
    """They are checked as they are made, and so is what is put together of them."""
    with pytest.raises(ValueError, match=r"compaction.reserve_tokens should be .*, and is -1"):
        Compaction(reserve_tokens=-1)
    with pytest.raises(ValueError, match=r"pruning.protect_recent"):
        Pruning(protect_recent=-1)
    with pytest.raises(ValueError, match=r"spill_buffer.keep_days"):
        SpillBuffer(keep_days=0)
    with pytest.raises(ValueError, match=r"^pruning should be an object of settings"):
        ContextSettings(pruning={"protect_recent": 1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^context: should be an object"):
        ContextSettings.of([1])  # type: ignore[arg-type]


def test_what_is_right() -> None:
    """A time, a size and tools by their names are taken."""
    data = {
        "window": 50_000,
        "compaction": {"idle_after": "12h"},
        "spill_buffer": {"thresholds": {"Grep": 4_000}, "keep_size": "1.5GiB"},
    }
    assert ContextSettings.of(data).spill_buffer.thresholds == {"Grep": 4_000}
    assert accepted(data) == [True, True]


@pytest.mark.parametrize("said", ["{bad", "[1]", '{"window": "200000"}'])
def test_a_variable_that_is_not_understood(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """The variable is named in one line."""
    monkeypatch.setenv(tuning.VARIABLE, said)
    with pytest.raises(ValueError, match=rf"^{tuning.VARIABLE}\b.+"):
        ContextSettings.here()

"""One set of settings for the context: the host, the hook and an agent in Python read the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pannier.settings import ContextSettings, size_in_bytes
from pannier_agents import settings as agents
from pannier_hook import settings as hook

PERCENT = st.integers(10, 95)
SIZES = st.sampled_from(["1g", "512m", "1.5GiB", "200k", "7t"])
DURATIONS = st.one_of(st.none(), st.sampled_from(["30m", "12h", "2d"]))
THRESHOLDS = st.integers(4_000, 10**9)

WISHES = st.fixed_dictionaries(
    {},
    optional={
        "window": st.one_of(st.none(), st.integers(200_000, 10**7)),
        "pruning": st.fixed_dictionaries(
            {},
            optional={
                "trim_tool_results": st.booleans(),
                "soft_trim_chars": st.integers(500, 10_000),
                "hard_clear_threshold": st.integers(10_000, 10**6),
                "protect_recent": st.integers(0, 100),
            },
        ),
        "compaction": st.fixed_dictionaries(
            {},
            optional={
                "enabled": st.booleans(),
                "trigger_percent": PERCENT,
                "reserve_tokens": st.integers(0, 100_000),
                "keep_recent_tokens": st.integers(0, 19_999),
                "min_messages": st.integers(1, 1_000),
                "idle_after": DURATIONS,
            },
        ),
        "spill_buffer": st.fixed_dictionaries(
            {},
            optional={
                "enabled": st.booleans(),
                "default_threshold": THRESHOLDS,
                "thresholds": st.dictionaries(st.text(max_size=20), THRESHOLDS, max_size=4),
                "keep_days": st.integers(1, 36_500),
                "keep_size": SIZES,
            },
        ),
    },
)


def refused(wish: Mapping[str, Any]) -> str:
    """The host's reason; "" when it takes the wish."""
    try:
        ContextSettings.model_validate(wish)
    except ValidationError as error:
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    return ""


def test_the_hook_has_the_same_names_and_defaults() -> None:
    """What the page on settings says holds in a container that was told nothing."""
    said = ContextSettings().spill_buffer.model_dump()
    spill = hook.spill_of("")
    assert {name: getattr(spill, name) for name in hook.Spill.__slots__} == said


@given(WISHES)
def test_the_hook_reads_what_the_host_meant(wish: dict[str, Any]) -> None:
    """Whatever the host accepts, and in the host's units."""
    if refused(wish):
        return
    host = ContextSettings.model_validate(wish)
    spill = hook.spill_of(host.variable())
    for name, value in host.spill_buffer.model_dump().items():
        assert getattr(spill, name) == value
    assert hook.compaction_enabled(host.variable()) == host.compaction.enabled
    assert hook.size_in_bytes(spill.keep_size) == size_in_bytes(host.spill_buffer.keep_size)


@given(WISHES)
def test_mycel_s_form_is_the_same_wish(wish: dict[str, Any]) -> None:
    """`memory` and `tools` around it change nothing, for the host and for an agent in Python."""
    memory = {name: wish[name] for name in ("pruning", "compaction") if name in wish}
    tools = {name: wish[name] for name in ("spill_buffer",) if name in wish}
    outer = {"window": wish.get("window"), "memory": memory, "tools": tools}
    assert refused(outer) == refused(wish)
    if not refused(wish):
        assert ContextSettings.model_validate(outer) == ContextSettings.model_validate(wish)
        assert agents.ContextSettings.of(outer) == agents.ContextSettings.of(wish)


@pytest.mark.parametrize(
    "wish",
    [
        {"pruning": {"soft_trim_chars": 5_000, "hard_clear_threshold": 4_000}},
        {"window": 20_000, "compaction": {"reserve_tokens": 20_000}},
        {"window": 20_000, "compaction": {"reserve_tokens": 1_000}},
        {"window": 100_000, "compaction": {"keep_recent_tokens": 70_000}},
    ],
    ids=["soft above hard", "reserve", "keep in a small window", "keep"],
)
def test_what_contradicts_itself_is_refused_with_the_same_reason(wish: dict[str, Any]) -> None:
    """Wherever it is said."""
    reason = refused(wish)
    assert reason
    with pytest.raises(ValueError, match=r"\w") as error:
        agents.ContextSettings.of(wish)
    assert str(error.value) == reason


@pytest.mark.parametrize("where", ["", "pruning", "compaction", "spill_buffer"])
def test_a_name_that_is_no_setting_is_refused(where: str) -> None:
    """A typing error does not switch anything off in silence."""
    wrong = {"trim_tool_result": False}
    wish: dict[str, Any] = {where: wrong} if where else wrong
    assert refused(wish)
    with pytest.raises(ValueError, match="trim_tool_result is not a setting"):
        agents.ContextSettings.of(wish)

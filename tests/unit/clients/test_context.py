"""How Claude Code and Codex are told the settings of `context:`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier import clients
from pannier.clients import claude_context, codex_context
from pannier.clients.client import Effect
from pannier.clients.effects import fires_at
from pannier.settings import Compaction, ContextSettings, SpillBuffer

PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"


def claude(**said: object) -> dict[str, str]:
    return dict(claude_context.context(ContextSettings.model_validate(said)).environment)


def codex(**said: object) -> dict[str, str]:
    return dict(codex_context.context(ContextSettings.model_validate(said)).environment)


def fires(environment: dict[str, str], window: int) -> int:
    """When Claude Code compacts, as measured: of a window less 20,000, or 33,000 before its end."""
    return min(int((window - 20_000) * float(environment[PERCENT]) / 100), window - 33_000)


def test_claude_counts_in_percent_of_what_it_can_use() -> None:
    """Converted, 70 percent of a window are 70 percent of it."""
    environment = claude(window=200_000)
    assert environment == {WINDOW: "200000", PERCENT: "77.78"}
    assert fires(environment, 200_000) == pytest.approx(140_000, abs=20)


def test_claude_takes_no_window_below_100_000() -> None:
    """By the percentage a smaller one holds all the same."""
    environment = claude(window=50_000, compaction={"keep_recent_tokens": 10_000})
    assert environment[WINDOW] == "100000"
    assert fires(environment, 100_000) == pytest.approx(50_000 - 16_384, abs=20)


@given(st.integers(10, 95), st.integers(0, 150_000), st.sampled_from([200_000, 372_000, 1_000_000]))
def test_where_claude_s_window_is_not_said_it_never_compacts_too_late(
    trigger: int, reserve: int, window: int
) -> None:
    """Whatever the model, it begins at the trigger or before, and what is reserved is free."""
    compaction = Compaction(trigger_percent=trigger, reserve_tokens=reserve)
    settings = ContextSettings(compaction=compaction)
    begins = fires(dict(claude_context.context(settings).environment), window)
    assert 0 < begins <= fires_at(settings, window) + 100


@pytest.mark.parametrize(("limit", "holds"), [(100_000, "partly"), (30_000, "yes")])
def test_claude_s_own_limit_for_commands_is_told(limit: int, holds: str) -> None:
    """It keeps an output of more than 30,000 bytes in a file of its own, below the threshold."""
    settings = ContextSettings(spill_buffer=SpillBuffer(thresholds={"shell": limit}))
    effects = {e.setting: e for e in claude_context.context(settings).effects}
    assert effects["spill_buffer.thresholds"].holds == holds


def test_codex_is_told_tokens_where_the_window_is_said() -> None:
    """And a percentage where it is not: Codex alone knows its models."""
    name = codex_context.VARIABLE
    assert codex() == {name: "model_post_turn_compact_threshold_percent=70"}
    said = codex(window=100_000)[name].split()
    assert said == ["model_context_window=100000", "model_auto_compact_token_limit=70000"]


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_switched_off_it_is_left_to_the_client(client: str) -> None:
    """No variable says when to compact."""
    settings = ContextSettings(
        compaction=Compaction(enabled=False), spill_buffer=SpillBuffer(enabled=False)
    )
    assert clients.CLIENTS[client].context(settings).environment == {}


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_each_setting_has_a_word_on_it(client: str) -> None:
    """Nothing is left to be guessed."""
    effects = {e.setting: e for e in clients.CLIENTS[client].context(ContextSettings()).effects}
    names = [f"compaction.{name}" for name in Compaction.model_fields if name != "idle_after"]
    for name in ["window", "pruning", "spill_buffer", *names]:
        assert isinstance(effects[name], Effect)

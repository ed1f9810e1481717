"""`learning:` of group.yaml and of pannier.yaml."""

from __future__ import annotations

import pytest

from pannier.errors import SettingsError
from pannier.settings import GroupSettings, HomeSettings, parse
from pannier.settings.learning import LearningSettings


def _group(text: str) -> LearningSettings:
    return parse(f"learning: {{{text}}}", GroupSettings, "group.yaml").learning


def test_the_defaults_are_those_of_the_specification() -> None:
    """Five turns, six hours, forty candidates; on, without a model, without approval."""
    settings = GroupSettings().learning
    assert (settings.enabled, settings.approve, settings.model) == (True, False, None)
    assert (settings.extract_after, settings.consolidate_at) == (5, 40)
    assert settings.consolidate_seconds == 6 * 3_600


def test_no_time_means_the_usual_one() -> None:
    """A time that is left empty is the default."""
    assert _group("consolidate_after: ").consolidate_seconds == 6 * 3_600
    assert _group("consolidate_after: 30m").consolidate_seconds == 1_800


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model: m, base_url: localhost", "write a URL such as"),
        ("model: m, base_url: 'file:///etc'", "write a URL such as"),
        ("model: m, base_url: 'http://'", "write a URL such as"),
        ("model: m, base_url: 'http://a b/'", "write a URL such as"),
        ("model: m, base_url: 'https://me:sk-secret@host/v1'", "key_from"),
        ("model: m, base_url: 'https://host/v1?key=sk-secret'", "key_from"),
        ("model: m, key_from: sk-secret-0123", "not the key"),
        ("model: m, key_from: ''", "not the key"),
        ("base_url: 'http://localhost:11434/v1'", "base_url belongs to a model"),
        ("key_from: KEY", "key_from belongs to a model"),
        ("model: client, key_from: KEY", "remove key_from"),
        ("model: ''", "should not be empty"),
        ("window: 10", "greater than or equal to 4000"),
        ("budget: {calls: -1}", "greater than or equal to 0"),
        ("extract_after: 0", "greater than or equal to 1"),
        ("consolidate_after: soon", "30m"),
        ("budged: {}", "budget"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, says: str) -> None:
    """It is said in one line that names the setting and never shows a key."""
    for file, kind in (("group.yaml", GroupSettings), ("pannier.yaml", HomeSettings)):
        if kind is HomeSettings and ("extract" in text or "consolidate" in text):
            continue
        with pytest.raises(SettingsError) as caught:
            parse(f"learning: {{{text}}}", kind, file)
        said = f"{caught.value.message} {caught.value.hint}"
        assert says in said
        assert "learning" in said
        assert "sk-secret" not in said
        assert "\n" not in caught.value.message


def test_a_group_without_a_model_has_the_homes() -> None:
    """Model, server, key and window come from the home as a set."""
    home = parse(
        "learning: {model: 'openai:m', base_url: 'http://h/v1', key_from: K, window: 9000}",
        HomeSettings,
        "pannier.yaml",
    ).learning
    merged = _group("extract_after: 3").with_defaults(home)
    assert (merged.model, merged.base_url, merged.key_from) == ("openai:m", "http://h/v1", "K")
    assert (merged.window, merged.extract_after) == (9_000, 3)
    assert _group("window: 5000").with_defaults(home).window == 5_000


def test_a_group_with_a_model_has_nothing_of_the_homes() -> None:
    """A group's own model is never asked at the home's server, nor with its key."""
    home = parse(
        "learning: {model: 'openai:m', base_url: 'http://h/v1', key_from: K, window: 9000}",
        HomeSettings,
        "pannier.yaml",
    ).learning
    own = _group("model: 'anthropic:m'").with_defaults(home)
    assert (own.model, own.base_url, own.key_from, own.window) == ("anthropic:m", None, None, None)


def test_budgets_may_be_without_an_end() -> None:
    """null is any number."""
    budget = _group("budget: {calls: null, tokens: null}").budget
    assert (budget.calls, budget.tokens) == (None, None)

"""From settings to a model that can be asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pannier.learning.models import choosing
from pannier.learning.models.asking import Asker, AskError
from pannier.learning.models.choosing import chosen
from pannier.learning.models.langchain_asker import LangChainAsker
from pannier.settings.learning import LearningSettings

KEY = "sk-0123456789"
URL = "http://localhost:11434/v1"


def _settings(**given: object) -> LearningSettings:
    return LearningSettings.model_validate(given)


def _refused(settings: LearningSettings, environ: dict[str, str]) -> AskError:
    with pytest.raises(AskError) as caught:
        chosen(settings, environ)
    assert KEY not in caught.value.message + caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("given", "environ", "key"),
    [
        ({"model": "anthropic:m"}, {"ANTHROPIC_API_KEY": KEY}, KEY),
        ({"model": "claude-haiku-4-5"}, {"ANTHROPIC_API_KEY": f" {KEY}\n"}, KEY),
        ({"model": "openai:m"}, {"OPENAI_API_KEY": KEY}, KEY),
        ({"model": "openai:m", "key_from": "MINE"}, {"MINE": KEY, "OPENAI_API_KEY": "o"}, KEY),
        ({"model": "openai:m", "base_url": URL, "key_from": "MINE"}, {"MINE": KEY}, KEY),
        ({"model": "openai:m", "base_url": URL}, {"OPENAI_API_KEY": KEY}, None),
        ({"model": "anthropic:m", "base_url": URL}, {"ANTHROPIC_API_KEY": KEY}, None),
        ({"model": "mistralai:m"}, {"MISTRAL_API_KEY": KEY}, None),
    ],
)
def test_keys(
    given: dict[str, object],
    environ: dict[str, str],
    key: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The key is the named variable's, else the provider's usual one; that one never goes to
    another server."""
    monkeypatch.setattr(choosing, "find_spec", lambda _: True)
    asker = chosen(_settings(window=9_000, **given), environ)
    assert isinstance(asker, LangChainAsker)
    assert (asker.key, asker.window, asker.name) == (key, 9_000, given["model"])
    assert asker.base_url == given.get("base_url")


@pytest.mark.parametrize(
    ("given", "environ", "says"),
    [
        ({"model": "anthropic:m"}, {}, "no ANTHROPIC_API_KEY"),
        ({"model": "openai:m"}, {"OPENAI_API_KEY": " "}, "no OPENAI_API_KEY"),
        ({"model": "openai:m", "key_from": "MINE"}, {"OPENAI_API_KEY": KEY}, "no MINE"),
        ({"model": "openai:m", "key_from": "MINE"}, {"MINE": f"{KEY}\n{KEY}"}, "MINE"),
        ({"model": "openai:m", "key_from": "MINE"}, {"MINE": f"{KEY}é"}, "MINE"),
    ],
)
def test_no_key(given: dict[str, object], environ: dict[str, str], says: str) -> None:
    """A key that is missing, or can be none, is said by the name of its variable."""
    error = _refused(_settings(**given), environ)
    assert error.kind == "key"
    assert says in error.message


def test_no_model() -> None:
    """Without a model nobody is asked, and it is said how to set one."""
    error = _refused(_settings(), {"ANTHROPIC_API_KEY": KEY})
    assert error.kind == "unset"
    assert "pannier.yaml" in error.hint


def test_the_groups_client() -> None:
    """`client` is the asker that the command level makes."""
    client: Asker = LangChainAsker("stands:for-it")
    assert chosen(_settings(model="client"), {}, lambda: client) is client
    assert _refused(_settings(model="client"), {}).kind == "unset"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the packages are missing, one line says how to install them; a client needs none."""
    monkeypatch.setattr(choosing, "find_spec", lambda name: None)
    error = _refused(_settings(model="openai:m"), {"OPENAI_API_KEY": KEY})
    assert error.kind == "unset"
    assert "pannier[learning]" in error.hint
    client: Asker = LangChainAsker("stands:for-it")
    assert chosen(_settings(model="client"), {}, lambda: client) is client


def test_choosing_is_light() -> None:
    """Settings can be judged without loading the libraries of any provider."""
    code = (
        "import sys, pannier.learning.models.choosing, pannier.learning.models.budget;"
        "print([m for m in sys.modules if m.startswith(('lang', 'openai', 'anthropic', 'httpx'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("foo:bar", "names no provider that is known"),
        ("nonsense", "names no provider that is known"),
        ("openai:", "names no model"),
        ("google_genai:gemini-3", "needs the Python package langchain-google-genai"),
        ("bedrock:x", "needs the Python package langchain-aws"),
    ],
)
def test_a_model_that_cannot_be_is_told_before_it_is_asked(model: str, says: str) -> None:
    """By its name, and by the packages that are there."""
    error = _refused(_settings(model=model), {"OPENAI_API_KEY": KEY})
    assert (error.kind, says in error.message) == ("unset", True), error.message


def test_a_name_without_a_provider_may_be_known_to_the_library() -> None:
    """Such as that of a model of Amazon's, which has a colon of its own."""
    for model in ("grok-5", "amazon.nova-lite-v1:0", "openai:gpt-5"):
        assert chosen(_settings(model=model), {"OPENAI_API_KEY": KEY}).name == model

"""From settings to a model that can be asked. Nothing is asked here, and nothing heavy imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from pannier.learning.models.asking import Asker, AskError
from pannier.learning.models.langchain_asker import (
    LangChainAsker,
    needs,
    no_provider,
    provider_of,
)
from pannier.settings.learning import CLIENT, LearningSettings

_USUAL = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_MODULES = {
    "anthropic_bedrock": "langchain_aws",
    "azure_openai": "langchain_openai",
    "bedrock": "langchain_aws",
    "bedrock_converse": "langchain_aws",
    "bedrock_mantle_anthropic": "langchain_aws",
    "bedrock_mantle_openai": "langchain_aws",
    "google_anthropic_vertex": "langchain_google_vertexai",
    "langsmith": "langchain_openai",
    "nvidia": "langchain_nvidia_ai_endpoints",
}
"""Of providers of `init_chat_model`, where it is not `langchain_` with the provider behind it."""
_PROVIDERS = frozenset(_MODULES) | {
    *("anthropic", "azure_ai", "baseten", "cohere", "deepseek", "fireworks", "google_genai"),
    *("google_vertexai", "groq", "huggingface", "ibm", "litellm", "meta", "mistralai", "ollama"),
    *("openai", "openrouter", "perplexity", "together", "upstage", "xai"),
}
_BEGINNINGS = (
    *("gpt-", "o1", "o3", "o4", "chatgpt", "text-davinci", "claude", "command", "deepseek"),
    *("accounts/fireworks", "gemini", "amazon.", "anthropic.", "meta.", "mistral", "mixtral"),
    *("grok", "sonar", "solar"),
)
"""Of models' names from which `init_chat_model` knows the provider."""


def chosen(
    settings: LearningSettings,
    environ: Mapping[str, str],
    client: Callable[[], Asker] | None = None,
) -> Asker:
    """The model of a group, whose settings have the home's defaults. `client` makes the asker of
    the group's own client.

    Raises AskError of kind `unset` or `key`: then there is nothing that could be asked.
    """
    if settings.model is None:
        raise AskError(
            "unset",
            "no model learns: learning.model is not set",
            "Set it in pannier.yaml or in group.yaml, such as anthropic:claude-haiku-4-5, or "
            "`client` for the group's own client and login.",
        )
    if settings.model == CLIENT:
        if client is None:
            raise AskError("unset", "learning.model: the group's client cannot be asked here")
        return client()
    if find_spec("langchain") is None:
        raise AskError(
            "unset",
            f"learning.model: {settings.model} needs packages that are not installed",
            "Install them beside pannier: pip install 'pannier[learning]'",
        )
    _see_that_it_is_there(settings.model)
    name, key = _key(settings, settings.model, environ)
    return LangChainAsker(settings.model, settings.base_url, key, name, settings.window)


def _see_that_it_is_there(model: str) -> None:
    """As far as the name and the packages that are installed say."""
    provider = provider_of(model)
    if ":" in model and not model.partition(":")[2].strip():
        raise AskError(
            "unset", f"learning.model: {model!r} names no model", "Write it as provider:model."
        )
    if provider not in _PROVIDERS and model.lower().startswith(_BEGINNINGS):
        return
    if not provider:
        raise no_provider(model)
    module = _MODULES.get(provider, f"langchain_{provider}")
    if module.isidentifier() and find_spec(module) is not None:
        return
    if provider not in _PROVIDERS:
        raise no_provider(model)
    raise needs(model, module.replace("_", "-"))


def _key(
    settings: LearningSettings, model: str, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """With the variable that holds it. None: the provider's library looks for it by itself, or the
    server wants none. The usual key of a provider is for the provider's own server."""
    usual = None if settings.base_url else _USUAL.get(provider_of(model))
    name = settings.key_from or usual
    if name is None:
        return "", None
    where = "learning.key_from" if settings.key_from else f"learning.model: {model}"
    key = environ.get(name, "").strip()
    if not key:
        hint = "Start the daemon, and `pannier learned run`, with the key in their environment."
        raise AskError("key", f"{where}: the environment has no {name}", hint)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise AskError("key", f"{where}: what the environment has as {name} can be no key")
    return name, key

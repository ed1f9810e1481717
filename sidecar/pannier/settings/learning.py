"""`learning:` of `group.yaml` and of `pannier.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from pannier.settings.strict import Strict
from pannier.settings.units import Duration, seconds_of

CLIENT = "client"
"""In the place of a model's name: the group's own client, headless, with its own login."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def _url(text: str | None) -> str | None:
    if text is None:
        return None
    url = urlsplit(text) if text.isprintable() and " " not in text else None
    if url is None or url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("write a URL such as http://localhost:11434/v1")
    if "@" in url.netloc or url.query or url.fragment:
        raise ValueError("write the URL alone; name the variable that holds the key in key_from")
    return text


def _variable(name: str | None) -> str | None:
    # Whoever writes the key itself here must not find it in a message.
    if name is not None and not _VARIABLE.fullmatch(name):
        raise ValueError("write the name of a variable, such as MY_API_KEY, not the key")
    return name


class Budget(Strict):
    """What may be used in a day (of UTC)."""

    calls: int | None = Field(default=100, ge=0, description="Model calls; null: any number.")
    tokens: int | None = Field(
        default=2_000_000, ge=0, description="Tokens in and out; null: any number."
    )


class ModelSettings(Strict):
    """Which model learns. What a group leaves out, the home's says."""

    model: str | None = Field(
        default=None,
        min_length=1,
        description="As LangChain's `init_chat_model` names it, such as "
        "`anthropic:claude-haiku-4-5`; `client`: the group's own client and login (Claude Code, "
        "Codex, Gemini CLI or Qwen Code).",
    )
    base_url: Annotated[str | None, AfterValidator(_url)] = Field(
        default=None, description="Of a server that is not the provider's own."
    )
    key_from: Annotated[str | None, AfterValidator(_variable)] = Field(
        default=None,
        description="Name of the variable with the key, in the environment of the daemon; without "
        "it, the provider's usual one, and no key with `base_url`.",
    )
    window: int | None = Field(
        default=None,
        ge=4_000,
        le=100_000_000,
        description="Tokens of the model's context window; without it, what is known of the model, "
        "else 128,000.",
    )

    @property
    def who(self) -> str:
        """Another text for another model, server, key or window."""
        return " ".join(str(getattr(self, name)) for name in ModelSettings.model_fields)

    @model_validator(mode="after")
    def _of_a_model(self) -> Self:
        named = [name for name in ("base_url", "key_from") if getattr(self, name) is not None]
        if named and self.model is None:
            raise ValueError(f"{named[0]} belongs to a model: set model beside it")
        if named and self.model == CLIENT:
            raise ValueError(f"the client has its own server and login: remove {named[0]}")
        return self


class LearningSettings(ModelSettings):
    """How a group learns."""

    enabled: bool = Field(default=True, description="Whether lessons are drawn from threads.")
    approve: bool = Field(
        default=False,
        description="Each change of the memory waits for `pannier learned approve`.",
    )
    extract_after: int = Field(
        default=5, ge=1, le=10_000, description="Successful turns, those of all threads together."
    )
    consolidate_after: Duration = Field(
        default="6h", description="Time without a successful turn, such as 30m, 6h or 2d."
    )
    consolidate_at: int = Field(
        default=40, ge=1, le=10_000, description="Candidates with which it does not wait for that."
    )
    budget: Budget = Field(default=Budget(), description="What the group may use in a day.")

    @property
    def consolidate_seconds(self) -> int:
        return seconds_of(self.consolidate_after or "6h")

    def with_defaults(self, home: ModelSettings) -> LearningSettings:
        """Model, server, key and window as a set: a group that names a model of its own takes
        none of these from the home."""
        if self.model is not None:
            return self
        own = {name: getattr(home, name) for name in ModelSettings.model_fields}
        if self.window is not None:
            own["window"] = self.window
        return self.model_copy(update=own)


class HomeBudget(Budget):
    """What all groups together may use in a day (of UTC)."""

    calls: int | None = Field(default=1_000, ge=0, description="Model calls; null: any number.")
    tokens: int | None = Field(
        default=20_000_000, ge=0, description="Tokens in and out; null: any number."
    )


class HomeLearning(ModelSettings):
    """How all groups learn, unless they say otherwise."""

    budget: HomeBudget = Field(
        default=HomeBudget(), description="What all groups together may use in a day."
    )
    database_from: Annotated[str | None, AfterValidator(_variable)] = Field(
        default=None,
        description="Name of the variable with the URL of a PostgreSQL database for the steps in "
        "progress, so that several workers share them; without it, a file in `state/`.",
    )

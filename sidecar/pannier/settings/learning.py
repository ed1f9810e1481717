"""`learning:` of `group.yaml` and of `pannier.yaml`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from pannier.settings.strict import Strict
from pannier.settings.units import Duration, seconds_of

CLIENT = "client"
"""In the place of a model's name: the group's own client, headless, with its own login."""


def _url(text: str | None) -> str | None:
    if text is not None and not text.startswith(("http://", "https://")):
        raise ValueError("write a URL such as http://localhost:11434/v1")
    return text


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
        "`anthropic:claude-haiku-4-5`; `client`: the group's own client and login.",
    )
    base_url: Annotated[str | None, AfterValidator(_url)] = Field(
        default=None, description="Of a server that is not the provider's own."
    )
    key_from: str | None = Field(
        default=None,
        min_length=1,
        description="Name of the variable with the key, in the environment of the daemon; without "
        "it, the provider's usual one.",
    )
    window: int | None = Field(
        default=None,
        ge=4_000,
        le=100_000_000,
        description="Tokens of the model's context window; without it, what is known of the model, "
        "else 128,000.",
    )


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


class HomeLearning(ModelSettings):
    """How all groups learn, unless they say otherwise."""

    budget: Budget = Field(
        default=Budget(calls=1_000, tokens=20_000_000),
        description="What all groups together may use in a day.",
    )
    database_from: str | None = Field(
        default=None,
        min_length=1,
        description="Name of the variable with the URL of a PostgreSQL database for the steps in "
        "progress, so that several workers share them; without it, a file in `state/`.",
    )

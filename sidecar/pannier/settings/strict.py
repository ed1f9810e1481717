"""What all settings have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Strict(BaseModel):
    """Settings: typed, frozen, no unknown key. A section in which nothing stands, such as one with
    all its lines commented out, has its defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_sections(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {
            name: value for name, value in data.items() if value is not None or cls._is_single(name)
        }

    @classmethod
    def _is_single(cls, name: object) -> bool:
        """Whether this is no section: a single value, or no setting at all."""
        field = cls.model_fields.get(name) if isinstance(name, str) else None
        default = field.get_default(call_default_factory=True) if field else None
        return not isinstance(default, (Strict, dict, tuple))

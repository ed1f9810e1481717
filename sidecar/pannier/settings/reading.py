"""Reading a settings file, and saying what is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pannier.errors import SettingsError, reason
from pannier.settings.strict import Strict
from pannier.shown import brief
from pannier.yamltext import load_yaml
from pannier_hook import tuning

Settings = TypeVar("Settings", bound=Strict)


def load(file: Path, model: type[Settings]) -> Settings:
    """Read one settings file. An empty or missing file means the defaults.

    Raises SettingsError, with the file, the setting and the nearest known name.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return model()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {reason(error)}") from error
    return parse(text, model, str(file))


def parse(text: str, model: type[Settings], name: str) -> Settings:
    """The same from a text. `name` stands in the error."""
    data = load_yaml(text, name)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise SettingsError(f"{name}: should hold `name: value` lines")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explain(error, model, name, data) from None


# How pydantic's kinds of error are said of a file; of the others, its own words.
_WORDS = {
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "float_parsing": "should be a number",
    "float_type": "should be a number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_parsing_size": "should be a whole number",
    "int_type": "should be a whole number",
    "missing": "is missing",
    "model_type": "should hold `name: value` lines",
    "string_too_short": "should not be empty",
    "tuple_type": "should be a list",
}


def what_is_wrong(error: ValidationError) -> str:
    """The first thing that a model refused, in words for a person; no value is shown."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "string_type":
        quotes = isinstance(first["input"], (int, float))
        return f"should be text{', so put it in quotes' if quotes else ''}"
    said = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return _WORDS.get(first["type"], said)


def _explain(
    error: ValidationError, model: type[BaseModel], name: str, data: dict[str, Any]
) -> SettingsError:
    first = error.errors(include_url=False)[0]
    where = brief(".".join(str(part) for part in _as_written(data, first["loc"])), 100)
    if first["type"] != "extra_forbidden":
        return SettingsError(": ".join(filter(None, (name, where, what_is_wrong(error)))))
    fields = _fields_at(model, first["loc"][:-1])
    known = [field.alias or name for name, field in fields.items()]
    near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known here: {', '.join(known)}."
    return SettingsError(f"{name}: {where} is not a setting", hint)


def _as_written(data: Any, loc: tuple[int | str, ...]) -> Iterator[int | str]:
    """Where it stands in the file: maybe below one of Mycel's outer names."""
    for part in loc:
        if isinstance(data, dict) and part not in data:
            for outer in tuning.OUTER:
                inner = data.get(outer)
                if isinstance(inner, dict) and part in inner:
                    data = inner
                    yield outer
                    break
        yield part
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            data = None


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> dict[str, Any]:
    for part in loc:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        inner = [annotation, *getattr(annotation, "__args__", ())]
        model = next(t for t in inner if isinstance(t, type) and issubclass(t, BaseModel))
    return model.model_fields

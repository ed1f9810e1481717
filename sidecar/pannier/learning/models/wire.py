"""What a model is told about the form of its answer, and how the answer is read. Pure.

Servers hold an answer to a schema in ways of their own: some refuse one with limits in it or with
optional keys (OpenAI's strict mode), some build a grammar that a limit makes slow (llama.cpp). So
the schema that goes out is plain, each limit is said in words, and what comes back is checked
against the whole one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from pannier.shown import brief

_BLOCK = re.compile(r"```[a-z]*\n(.*)\n```", re.DOTALL)
_PLAIN = ("type", "enum", "const")
_LIMITS = {"maxLength": "At most {} characters.", "maxItems": "At most {}."}


def wire_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """A JSON schema without references, limits, defaults and optional keys.

    `answer` must not hold itself.
    """
    whole = answer.model_json_schema()
    schema = _plain(whole, whole.get("$defs", {}))
    return {"title": answer.__name__, **schema}


def _plain(schema: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        aside = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain({**named[schema["$ref"].rpartition("/")[2]], **aside}, named)
    plain = {key: schema[key] for key in _PLAIN if key in schema}
    limits = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema]
    if described := " ".join((*filter(None, [schema.get("description")]), *limits)):
        plain["description"] = described
    if "anyOf" in schema:
        plain["anyOf"] = [_plain(one, named) for one in schema["anyOf"]]
    if "items" in schema:
        plain["items"] = _plain(schema["items"], named)
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        plain["properties"] = {name: _plain(one, named) for name, one in properties.items()}
        plain["required"] = list(properties)
        plain["additionalProperties"] = False
    return plain


def read_answer(answer: type[BaseModel], given: object) -> dict[str, Any]:
    """The answer as JSON-able data that fits its schema.

    A list or an object that came as a text of JSON, which some models do within tool calls, is
    read as what it says. Raises ValueError with one line about what does not fit; it quotes
    nothing of the answer.
    """
    try:
        return answer.model_validate(given).model_dump(mode="json")
    except ValidationError as error:
        if isinstance(given, Mapping) and (unquoted := _unquoted(given)) != given:
            return read_answer(answer, unquoted)
        first, *others = error.errors(include_url=False, include_input=False)
        place = ".".join(str(step) for step in first["loc"]) or "the whole"
        more = f" (and {len(others)} more)" if others else ""
        raise ValueError(f"{brief(place, 80)}: {brief(first['msg'], 120)}{more}") from None


def read_text(answer: type[BaseModel], text: str) -> dict[str, Any]:
    """The same of an answer that is a text: of JSON alone, or in a block of Markdown.

    Raises ValueError. A text that ends too early is no answer: what is missing would be lost.
    """
    block = _BLOCK.fullmatch(text.strip())
    try:
        given = json.loads(block[1] if block else text)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    return read_answer(answer, given)


def _unquoted(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _from_text(value) for key, value in given.items()}


def _from_text(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value

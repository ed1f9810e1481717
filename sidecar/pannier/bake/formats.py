"""Settings files as text: JSON and TOML, read strictly, merged so that the rest stays as it is."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from pannier.bake.merge import CannotMerge, Document, Leaf, Merged, merge

_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
HOOKS_OFF = "disableAllHooks is true, so no hook runs"


class _Number(float):
    """A number of JSON's, with the text that a person wrote: a float may be less exact."""

    def __init__(self, text: str) -> None:
        self.text = text


class NotReadable(ValueError):
    """The text is not what its name says."""


def is_settings(path: str) -> bool:
    """Whether a file of this name holds settings that can be merged."""
    return PurePosixPath(path).suffix in (".json", ".toml")


def parse(text: bytes, path: str) -> dict[str, Any]:
    """The settings that a file holds. Raises NotReadable."""
    try:
        decoded = text.decode("utf-8")
        if path.endswith(".toml"):
            return tomllib.loads(decoded)
        data = json.loads(
            decoded,
            object_pairs_hook=_no_key_twice,
            parse_constant=_no_constant,
            parse_float=_Number,
        )
    except (ValueError, RecursionError) as error:
        raise NotReadable(" ".join(str(error).split()) or "it is nested too deep") from error
    if not isinstance(data, dict):
        raise NotReadable("it does not hold an object")
    return data


def merged(
    text: bytes, path: str, ours: Mapping[str, Any], earlier: Sequence[Leaf] = ()
) -> tuple[bytes, Merged]:
    """A person's file with ours brought in, and what that did.

    Unchanged settings leave the text byte for byte; changed TOML keeps its comments and order.
    Raises NotReadable, or CannotMerge.
    """
    before = parse(text, path)
    wanted = copy.deepcopy(before)
    done = merge(wanted, ours, earlier)
    if wanted == before:
        return text, done
    if path.endswith(".toml"):
        return _toml(text, wanted, ours, earlier), done
    return _json(text, wanted), done


def hooks_off(text: bytes, path: str) -> bool:
    """Whether these settings keep every hook from running, ours too; see `HOOKS_OFF`."""
    return parse(text, path).get("disableAllHooks") is True


def as_json(data: object) -> str:
    """The one way in which a value of JSON is written here."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _json(text: bytes, wanted: Mapping[str, Any]) -> bytes:
    decoded = text.decode("utf-8")
    indent = _INDENT.search(decoded)
    mark = "number "
    while mark in decoded:
        mark += "#"
    numbers: list[str] = []
    new = json.dumps(
        _marked(wanted, mark, numbers), indent=indent[1] if indent else 2, ensure_ascii=False
    )
    new = re.sub(rf'"{mark}(\d+)"', lambda found: numbers[int(found[1])], new)
    try:
        return _with_line_ends_of(decoded, f"{new}\n").encode()
    except ValueError as error:
        raise CannotMerge(f"it holds what cannot be written again: {error}") from error


def _marked(node: Any, mark: str, numbers: list[str]) -> Any:
    """The same with a marked string for each number that has to be written as it was."""
    if isinstance(node, dict):
        return {key: _marked(value, mark, numbers) for key, value in node.items()}
    if isinstance(node, list):
        return [_marked(value, mark, numbers) for value in node]
    if isinstance(node, _Number):
        numbers.append(node.text)
        return f"{mark}{len(numbers) - 1}"
    return node


def _with_line_ends_of(before: str, new: str) -> str:
    """Lines end in CR LF where all of a person's do."""
    if "\r\n" not in before or re.search(r"(?<!\r)\n", before):
        return new
    return re.sub(r"(?<!\r)\n", "\r\n", new)


def _toml(
    text: bytes, wanted: dict[str, Any], ours: Mapping[str, Any], earlier: Sequence[Leaf]
) -> bytes:
    try:
        document = tomlkit.parse(text)
        merge(_as_document(document), ours, earlier)
        new = _with_line_ends_of(text.decode("utf-8"), tomlkit.dumps(document))
        same = tomllib.loads(new) == wanted
    except (TOMLKitError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise CannotMerge(f"its tables cannot be added to: {error}") from error
    if not same:
        raise CannotMerge("its tables cannot be added to")
    return new.encode("utf-8")


def _as_document(document: Any) -> Document:
    return document  # type: ignore[no-any-return]


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(k for i, (k, _) in enumerate(pairs) if k in dict(pairs[:i]))
        raise ValueError(f"it holds the key {twice!r} twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")

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
        data = json.loads(decoded, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
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


def as_json(data: object) -> str:
    """The one way in which a value of JSON is written here."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _json(text: bytes, wanted: Mapping[str, Any]) -> bytes:
    indent = _INDENT.search(text.decode("utf-8"))
    try:
        new = json.dumps(
            wanted, indent=indent[1] if indent else 2, ensure_ascii=False, allow_nan=False
        )
        return f"{new}\n".encode()
    except ValueError as error:
        raise CannotMerge(f"it holds what cannot be written again: {error}") from error


def _toml(
    text: bytes, wanted: dict[str, Any], ours: Mapping[str, Any], earlier: Sequence[Leaf]
) -> bytes:
    try:
        document = tomlkit.parse(text)
        merge(_as_document(document), ours, earlier)
        new = tomlkit.dumps(document)
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

"""NanoClaw's `mount-allowlist.json` in the words of ours. Pure.

It allows roots, each read-only or writable, and blocks any path that holds one of its patterns
somewhere. Where our rules are narrower, that is said for each line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from pannier.errors import SettingsError
from pannier.settings import what_is_wrong
from pannier.shown import shown


class _Root(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    path: str
    description: str | None = None
    may_write: bool | None = Field(default=None, alias="allowReadWrite")
    read_only: bool | None = Field(default=None, alias="readOnly")

    @property
    def writable(self) -> bool:
        """Only where the file says so in one way and does not deny it in the other."""
        if self.may_write is not None:
            return self.may_write and self.read_only is not True
        return self.read_only is False


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    roots: tuple[_Root, ...] = Field(alias="allowedRoots")
    patterns: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(), alias="blockedPatterns"
    )
    others_read_only: bool = Field(default=False, alias="nonMainReadOnly")


@dataclass(frozen=True)
class Root:
    """A root to allow."""

    path: str
    rw: bool
    description: str | None
    narrowed: str = ""
    """What it allowed there and does not here; empty if nothing."""


@dataclass(frozen=True)
class Imported:
    """What the file says in our words."""

    roots: tuple[Root, ...]
    block: tuple[str, ...]
    narrowed: tuple[str, ...]
    """What holds for all of it."""


def translate(text: str, name: str) -> Imported:
    """The content of the file `name`. Raises SettingsError."""
    try:
        file = _File.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            where = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
            what = ": ".join(filter(None, (where, what_is_wrong(error))))
        else:
            what = "it is not JSON"
        raise SettingsError(f"{name} is no mount allowlist of NanoClaw: {what}") from None
    for number, pattern in enumerate(file.patterns):
        fault = _cannot_be_blocked(pattern)
        if fault:
            raise SettingsError(
                f"{name}: blockedPatterns.{number}: {shown(pattern)!r} {fault}",
                "Nothing was written. Take it out of a copy of the file, and import that.",
            )
    return Imported(
        roots=tuple(_root(root, file.others_read_only) for root in file.roots),
        block=tuple(dict.fromkeys(_anywhere(pattern) for pattern in file.patterns)),
        narrowed=_narrowed(file),
    )


def _root(root: _Root, others_read_only: bool) -> Root:
    if root.writable and others_read_only:
        narrowed = "read-only: nonMainReadOnly let only its main group write, and here is no such"
        return Root(root.path, False, root.description, narrowed)
    return Root(root.path, root.writable, root.description)


def _cannot_be_blocked(pattern: str) -> str:
    """Why a pattern has no counterpart here; empty if it has one.

    Leaving it out would grant what it kept away, so then nothing is taken over.
    """
    if "/" in pattern:
        return "holds a slash, and here a blocked name is one part of a path"
    if not pattern.isprintable():
        return "holds characters that cannot be shown"
    if not pattern.strip("* "):
        return "would block nearly everything"
    return ""


def _anywhere(pattern: str) -> str:
    """Its patterns match inside of a name."""
    return f"*{pattern.strip('*')}*"


def _narrowed(file: _File) -> tuple[str, ...]:
    told = []
    if any(root.writable for root in file.roots):
        told.append(
            "a writable mount that holds a git repository is refused until its root is allowed "
            "with --git"
        )
    told.append(
        "blocked names count below a mount too, and system folders, single files and what the "
        "host runs are never mounted"
    )
    return tuple(told)

"""The allowlist: what groups may mount. A person's file, outside of every project."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pannier import safefs
from pannier.errors import SettingsError, UnsafePath, reason
from pannier.paths import FOLDER, allowlist_file, person_home
from pannier.settings import Strict, parse


def begins_at_a_fixed_place(path: str) -> bool:
    """Whether a path means the same wherever one stands: from `/`, or from the person's home."""
    return path == "~" or path.startswith(("/", "~/"))


def _place(path: str) -> str:
    if not begins_at_a_fixed_place(path):
        raise ValueError("write an absolute path, or one that begins with ~/")
    if not path.isprintable():
        raise ValueError("holds control characters")
    return path


def _component(name: str) -> str:
    if not name or "/" in name:
        raise ValueError("write a name or a pattern for one part of a path, without /")
    return name


def _folder(name: str) -> str:
    if not FOLDER.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a group's folder")
    return name


def _empty(value: Any) -> Any:
    """`allow:` with nothing below it is an empty list to a person."""
    return () if value is None else value


Names = Annotated[tuple[Annotated[str, AfterValidator(_component)], ...], BeforeValidator(_empty)]


class Entry(Strict):
    """One root: groups may ask for it and for what lies below it."""

    path: Annotated[str, AfterValidator(_place)] = Field(
        description="A folder on the host; `~` is the person's home."
    )
    mode: Literal["ro", "rw"] = Field(default="ro", description="The most that is granted.")
    groups: tuple[Annotated[str, AfterValidator(_folder)], ...] | None = Field(
        default=None, description="Only for these groups; without it for all."
    )
    description: str | None = Field(default=None, description="For people.")
    excepted: Names = Field(
        default=(), alias="except", description="Blocked names that are wanted below this root."
    )
    scan: bool = Field(
        default=True,
        description="`false`: look at the folder's own names only, not at all that lies below.",
    )
    git: bool = Field(
        default=False, description="`true`: a source that holds a git repository may be writable."
    )


class Allowlist(Strict):
    """`~/.config/pannier/mounts.yaml`."""

    allow: Annotated[tuple[Entry, ...], BeforeValidator(_empty)] = Field(
        default=(), description="The roots. The longest one that holds a source decides."
    )
    block: Names = Field(
        default=(), description="Blocked names of your own, beside the built-in ones."
    )

    @model_validator(mode="after")
    def _each_path_once(self) -> Allowlist:
        seen: set[str] = set()
        for entry in self.allow:
            # normpath leaves two slashes at the beginning; Linux does not set them apart.
            path = os.path.normpath(re.sub("/+", "/", entry.path))
            if path in seen:
                raise ValueError(f"{entry.path} is listed twice; join the two entries")
            seen.add(path)
        return self


@dataclass(frozen=True)
class Loaded:
    """What the file said just now. With an `error` it grants nothing."""

    file: Path
    allowlist: Allowlist = field(default_factory=Allowlist)
    error: str = ""
    missing: bool = False
    """There is no file yet; `pannier mounts allow` makes it."""


def load(environ: Mapping[str, str]) -> Loaded:
    """Read the allowlist, each time anew. Never raises: an error is part of what is returned."""
    file = allowlist_file(environ)
    try:
        # Nobody waits for the other end of a pipe; a person's link is followed.
        real = Path(os.path.realpath(file))
        text = safefs.read(real.parent, real.name).decode()
    except FileNotFoundError:
        return Loaded(file, error=f"there is no allowlist {file}", missing=True)
    except (OSError, UnicodeDecodeError) as error:
        return Loaded(file, error=f"the allowlist {file} cannot be read: {reason(error)}")
    except UnsafePath as error:
        return Loaded(file, error=f"the allowlist {file} cannot be read: {error.message}")
    try:
        return Loaded(file, parse_allowlist(text, str(file)))
    except SettingsError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return Loaded(file, error=f"the allowlist is broken: {error.message}{hint}")


def parse_allowlist(text: str, name: str) -> Allowlist:
    """Raises SettingsError, with the line or the setting."""
    return parse(text, Allowlist, name)


def expand(path: str, environ: Mapping[str, str]) -> Path:
    """`~` and `~/…` in the person's home."""
    if path == "~" or path.startswith("~/"):
        return person_home(environ) / path[2:]
    return Path(path)

"""Where the links of a memory lead. Pure."""

from __future__ import annotations

import re
from enum import Enum
from urllib.parse import unquote

from pannier.paths import AGENT_ROOT, CONTAINER_HOME

_MEMORY = AGENT_ROOT.joinpath("memory").parts[1:]
"""Where an agent sees its memory; what a link leads to above it counts from there."""
_CONTAINER = (f"{AGENT_ROOT.parent}/", f"{CONTAINER_HOME}/")
"""Beginnings of a path that is meant in the container, not from the memory's root."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class Elsewhere(Enum):
    """Links that lead to no path in the memory."""

    NOT_A_PATH = "another resource, or a place in the same file"
    OUTSIDE = "a path outside of the memory"


def resolve(source: str, target: str) -> str | Elsewhere:
    """The path that a link in the file `source` leads to, both from the memory's root.

    `target` may begin at the root of the memory (`/people/dana.md`), be relative to the file, carry
    an anchor, and have encoded characters. The root itself is the empty path.
    """
    path = re.split(r"[#?]", target, maxsplit=1)[0]
    if not path or _SCHEME.match(path):
        return Elsewhere.NOT_A_PATH
    path = unquote(path, errors="surrogateescape")
    if path.startswith(_CONTAINER):
        at: list[str] = []
    elif path.startswith("/"):
        at = list(_MEMORY)
    else:
        at = [*_MEMORY, *source.split("/")[:-1]]
    for name in path.split("/"):
        if name == "..":
            del at[-1:]
        elif name not in ("", "."):
            at.append(name)
    if tuple(at[: len(_MEMORY)]) != _MEMORY:
        return Elsewhere.OUTSIDE
    return "/".join(at[len(_MEMORY) :])

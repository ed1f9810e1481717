"""The files of words and phrases beside the guards, which are written in sections. Pure."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"\[([a-z ]+)\]")


@cache
def sections(name: str) -> dict[str, list[str]]:
    """The lines of each section of a file: a section begins with its name in brackets; empty lines,
    and those that begin with `#`, are nobody's."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    text = (files("pannier.learning.guards") / name).read_text("utf-8")
    for line in filter(None, map(str.strip, text.splitlines())):
        if heading := _HEADING.fullmatch(line):
            lines = found.setdefault(heading[1], [])
        elif not line.startswith("#"):
            lines.append(line)
    return found

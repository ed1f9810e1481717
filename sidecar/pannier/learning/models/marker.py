"""Lines of our own in what a model is to read, which no text there can forge."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LENGTH = 8
"""Hexadecimal digits of a mark. It is chosen when the texts are there, so nobody can aim at it."""


@dataclass(frozen=True)
class Marker:
    """A random word with which our lines begin, and which occurs in no text between them."""

    token: str

    def line(self, what: str) -> str:
        """A line of ours. `what`: words of ours, or names without line breaks."""
        return f"[{self.token} {what}]"


BROADEST = Marker("0" * LENGTH)
"""As many tokens as any mark comes to, for reckoning with one that is not chosen yet."""


def marker_for(texts: Iterable[str], fresh: Callable[[], str] | None = None) -> Marker:
    """A mark that none of the texts holds, in whatever case. `fresh` gives random words."""
    held = "\n".join(texts).casefold()
    fresh = fresh or _fresh
    while (token := fresh()).casefold() in held:
        pass
    return Marker(token)


def _fresh() -> str:
    return secrets.token_hex(LENGTH // 2)


def instructions(name: str, mark: Marker) -> str:
    """A prompt of ours, `prompts/<name>.md`, that tells the model by which mark it knows us."""
    return _prompt(name).replace("{mark}", mark.token)


@cache
def _prompt(name: str) -> str:
    return files("pannier.learning").joinpath("prompts", f"{name}.md").read_text("utf-8")

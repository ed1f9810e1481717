"""What is made up for a new lesson: its id, and the heading it stands under. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.resources import files

from pannier import redaction
from pannier.learning.files.memoryfile import NOWHERE, Memory, heading_for
from pannier.learning.guards.senses import narrowing
from pannier.learning.guards.widening import widens
from pannier.learning.guards.wording import strange
from pannier.learning.guards.words import addresses
from pannier.learning.lessons import Candidate

_LONGEST = 40
"""Code points of a section's name that a model may make up, and its words."""
_WORDS = 5
_ID = re.compile(r"(?=\d*[a-f])[0-9a-f]{7}")


def lesson_id(text: str, candidates: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    """7 hexadecimal digits, not only decimal ones; the same from the same."""
    seed = "\n".join((text, *candidates))
    for number in range(1_000_000):
        id = hashlib.sha256(f"{number}\n{seed}".encode()).hexdigest()[:7]
        if _ID.fullmatch(id) and not is_taken(id):
            return id
    raise AssertionError("no id is free")


def section_name(memory: Memory, wanted: str, candidates: Sequence[Candidate]) -> str:
    """The heading that a model wants where there is one of this name, or where it is a short name
    in ordinary words or those of the candidates; else the topic of the first of them, if that is
    one. A heading is read by the agent, too, and nobody speaks for it."""
    said = [_ordinary(), *(c.text for c in candidates), *(c.topic for c in candidates)]
    for name in (wanted, candidates[0].topic):
        found = heading_for(memory, redaction.mask(name))
        if found in memory.sections or (_is_name(found) and not strange(found, said)):
            return found
    return NOWHERE


@lru_cache(maxsize=1)
def _ordinary() -> str:
    """What a heading may say though no candidate does."""
    return (files("pannier.learning.consolidation") / "headings.txt").read_text("utf-8")


def _is_name(text: str) -> bool:
    short = len(text) <= _LONGEST and len(text.split()) <= _WORDS
    masked = " removed]" in text
    orders = widens(text) or narrowing(text) or addresses(text)
    return short and not masked and not orders

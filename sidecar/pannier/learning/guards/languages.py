"""Whether a text is in a language whose phrases of widening are known. Pure.

Of what is in another one it cannot be told what it would let an agent do, so a person looks at it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from pannier.learning.guards.markup import unmarked
from pannier.learning.guards.sections import sections
from pannier.learning.guards.words import normal
from pannier.redaction.reading import is_unseen

UNKNOWN = "pannier cannot judge this language"

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s|[\n。！？]")
_TOKEN = re.compile(r"(?<![\w.@/-])[^\W\d_]{2,40}(?:'[^\W\d_]{1,3})?(?![\w@/-]|\.\w)")
_ODD = re.compile(r"[ãõıłşğąęśżźćńřšžčěůőűășțđåøðþæĩũ]")
_LEAST = 4
"""Words of a sentence, at least, before it is held for having none that is known."""
_OTHER = 4, 1 / 2
"""Letters of other scripts in a sentence, and their share, from which on it is one of theirs."""


def unjudged(text: str) -> str:
    """Why a person has to look at it: `pannier cannot judge this language`; "": it can."""
    sentences = _SENTENCE_ENDS.split(unicodedata.normalize("NFKC", _seen(unmarked(text))))
    return UNKNOWN if any(map(_is_strange, sentences)) else ""


def _seen(text: str) -> str:
    """Without what shows nothing; accents and the like stay."""
    return "".join(
        c for c in text if c.isascii() or unicodedata.category(c) == "Mn" or not is_unseen(c)
    )


def _is_strange(sentence: str) -> bool:
    scripts = [_script(c) for c in sentence if c.isalpha()]
    other, ours = scripts.count("other"), scripts.count("unspaced")
    if other >= _OTHER[0] and other >= _OTHER[1] * len(scripts):
        return True
    if ours:
        return False
    tokens = _TOKEN.findall(sentence)
    words = [normal(token) for token in tokens]
    known: int = sum(
        word.partition("'")[0] in _words("known") or word in _words("known") for word in words
    )
    strange: int = sum(word in _words("strange") for word in words)
    strange += sum(token.islower() and bool(_ODD.search(token)) for token in tokens)
    if strange:
        return strange >= known
    lower = [token for place, token in enumerate(tokens) if token.islower() or place == 0]
    return known == 0 and len(lower) >= _LEAST


@lru_cache(maxsize=4_096)
def _script(char: str) -> str:
    name = unicodedata.name(char, "")
    if name.startswith(("LATIN", "FULLWIDTH LATIN", "MODIFIER", "FEMININE", "MASCULINE", "MICRO")):
        return "latin"
    if name.startswith(("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "IDEOGRAPHIC")):
        return "unspaced"
    return "other"


@lru_cache(maxsize=2)
def _words(section: str) -> frozenset[str]:
    """Those of `languages.txt`."""
    return frozenset(normal(" ".join(sections("languages.txt")[section])).split())

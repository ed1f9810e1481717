"""Whether a text says only what others say, as far as words tell. Pure.

Words alone do not tell whether it is said or denied: `senses` looks at that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files

from pannier.learning.guards.planting import coverage
from pannier.learning.guards.senses import narrowing
from pannier.learning.guards.words import addresses, figures, normal, words

_COVERED = 0.6
"""Share of a sentence's words that must be said somewhere, the little ones counted."""
_NEARLY = 0.9
_SHORTEST = 4
"""Letters of a word that others may begin with and still be the same one."""
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_CHARACTER = re.compile(r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
"""Of a script that puts no space between words."""


def says(text: str, sources: Sequence[str]) -> bool:
    """Whether these texts say all of it, sentence by sentence roughly in these words: no word that
    counts, no number and no address that stands in none of them."""
    return (
        all(coverage(sentence, sources) >= _COVERED for sentence in _SENTENCE_END.split(text))
        and not strange(text, sources)
        and figures(text) <= frozenset().union(*map(figures, sources))
        and addresses(text) <= frozenset().union(*map(addresses, sources))
    )


def strange(text: str, sources: Iterable[str]) -> frozenset[str]:
    """The words that count in a text and stand in none of the others, in whatever form."""
    known = frozenset().union(*(_counting(source) for source in sources))
    return frozenset(word for word in _counting(text) if not _stands(word, known))


def common(text: str, other: str) -> frozenset[str]:
    """The words that count in a text and stand in the other one, too."""
    return frozenset(_counting(text)) - strange(text, [other])


def counting(text: str) -> frozenset[str]:
    """The words of a text that count."""
    return frozenset(_counting(text))


def leaves_out(text: str, whole: str) -> bool:
    """Whether a text says a part of what the other one says: words are left out, and no other ones
    put in, nor in another order; the numbers and addresses are the same, and what denies or limits.
    """
    rest = iter(_units(whole))
    return (
        all(unit in rest for unit in _units(text))
        and narrowing(text) == narrowing(whole)
        and figures(text) == figures(whole)
        and addresses(text) == addresses(whole)
    )


def repeated(text: str, other: str) -> bool:
    """Whether a text says another one again: nearly all of its words, and none of its own."""
    nearly = min(coverage(text, other), coverage(other, text)) >= _NEARLY
    return nearly and not strange(text, [other])


def same(one: str, other: str) -> bool:
    """Whether two texts have the same words that matter, in the same order."""
    return words(one) == words(other)


def _stands(word: str, known: frozenset[str]) -> bool:
    if word in known:
        return True
    if len(word) < _SHORTEST or not word.isalpha() or _CHARACTER.fullmatch(word[0]):
        return False
    return any(
        len(other) >= _SHORTEST and (word.startswith(other) or other.startswith(word))
        for other in known
    )


def _counting(text: str) -> list[str]:
    return [unit for unit in _units(text) if unit not in _small() and not _is_kana(unit)]


def _units(text: str) -> Iterator[str]:
    """Its words; of scripts without spaces, each character: where words end is not known."""
    for part in _CHARACTER.split(normal(text)):
        if _CHARACTER.fullmatch(part):
            yield part
        else:
            yield from words(part)


def _is_kana(unit: str) -> bool:
    """Hiragana: they join what the other characters say."""
    return "\u3040" <= unit[0] <= "\u309f"


@lru_cache(maxsize=1)
def _small() -> frozenset[str]:
    """What may stand in a text though nobody said it: it joins words, or tells when and who. What
    denies is compared by `senses`."""
    return frozenset(_units((files("pannier.learning.guards") / "wording.txt").read_text("utf-8")))

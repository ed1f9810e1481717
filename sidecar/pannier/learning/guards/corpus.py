"""What was said, or put out by tools, made ready to be compared with many texts. Pure.

Made in time proportional to what was heard; a comparison takes time proportional to the text that
is compared, however often its words were heard.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from pannier.learning.guards.words import addresses, normal, sentences, together, words

_OFTEN = 2_000
"""A word heard in more places counts as heard everywhere."""
_APART = 1 << 20
"""Words between two texts."""

_NAMES = re.compile(r"(?<![\w-])[A-ZÀ-ÖØ-Þ][\w-]*|(?<![\w-])(?!\d{4}-\d\d)[\w-]*\d[\w.:-]*")

Run = tuple[str, ...]


class Corpus:
    """Several texts, as one source."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        self._runs: dict[int, frozenset[Run]] = {}

    @cached_property
    def sequence(self) -> list[str]:
        """The words; an empty one between two texts."""
        return together(self.texts)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.sequence)

    @cached_property
    def addresses(self) -> frozenset[str]:
        return frozenset().union(*map(addresses, self.texts))

    @cached_property
    def sentences(self) -> tuple[tuple[frozenset[str], str], ...]:
        """The words of each, and its `words.normal` form; the end of a line ends one, too."""
        found = (sentence for text in self.texts for sentence in sentences(text))
        return tuple((frozenset(words(one)), normal(one)) for one in found)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset().union(*map(names_in, self.texts))

    def runs(self, length: int) -> frozenset[Run]:
        """All phrases of `length` words."""
        if length not in self._runs:
            shifted = (self.sequence[start:] for start in range(length))
            self._runs[length] = frozenset(zip(*shifted, strict=False))
        return self._runs[length]

    def densest(self, weights: Mapping[str, int], span: int) -> int:
        """The most of `weights` that was heard within about `span` words."""
        half = 8
        while 2 * half < span:
            half *= 2
        everywhere = 0
        found: Counter[int] = Counter()
        for word, weight in weights.items():
            places = self._places.get(word, ())
            if len(places) > _OFTEN:
                everywhere += weight
            else:
                # Stretches of two halves; each overlaps half of the next.
                stretches = {place // half + more for place in places for more in (0, 1)}
                found.update(dict.fromkeys(stretches, weight))
        return everywhere + max(found.values(), default=0)

    @cached_property
    def _places(self) -> Mapping[str, list[int]]:
        """Where each word stands; texts lie so far apart that no stretch reaches into another."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        place = 0
        for word in self.sequence:
            if word:
                places[word].append(place)
                place += 1
            else:
                place += _APART
        return places


def names_in(text: str) -> frozenset[str]:
    """The words that look like names, and figures other than dates."""
    return frozenset(word for name in _NAMES.findall(text) for word in words(name))


def corpus(texts: Corpus | Iterable[str]) -> Corpus:
    return texts if isinstance(texts, Corpus) else Corpus(texts)

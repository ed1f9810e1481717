"""What was said, or put out by tools, made ready to be compared with many texts. Pure.

Made in time proportional to what was heard; a comparison takes time proportional to the text that
is compared, however often its words were heard.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from pannier.learning.guards.words import addresses, normal, together, words

_OFTEN = 200
"""A word heard in more places counts as heard everywhere."""

_SENTENCES = re.compile(r"(?<=[.!?])\s|\n|(?<=[。！？])")

Run = tuple[str, ...]


class Corpus:
    """Several texts, as one source."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        self._runs: dict[int, frozenset[Run]] = {}
        self._places: dict[int, Mapping[str, frozenset[int]]] = {}

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
        found = (sentence for text in self.texts for sentence in _SENTENCES.split(text))
        return tuple((frozenset(words(one)), normal(one)) for one in found if one.strip())

    def runs(self, length: int) -> frozenset[Run]:
        """All phrases of `length` words."""
        if length not in self._runs:
            shifted = (self.sequence[start:] for start in range(length))
            self._runs[length] = frozenset(zip(*shifted, strict=False))
        return self._runs[length]

    def densest(self, weights: Mapping[str, int], span: int) -> int:
        """The most of `weights` that was heard within about `span` words."""
        size = 16
        while size < span:
            size *= 2
        places = self._within(size)
        everywhere = 0
        found: Counter[int] = Counter()
        for word, weight in weights.items():
            where = places.get(word, frozenset())
            if len(where) > _OFTEN:
                everywhere += weight
            else:
                found.update(dict.fromkeys(where, weight))
        return everywhere + max(found.values(), default=0)

    def _within(self, size: int) -> Mapping[str, frozenset[int]]:
        """In which stretches of `size` words each word stands; each overlaps half of the next, and
        none reaches from one text into another."""
        if size not in self._places:
            half = size // 2
            places: defaultdict[str, set[int]] = defaultdict(set)
            place = 0
            for word in self.sequence:
                if word:
                    places[word] |= {place // half, place // half + 1}
                    place += 1
                else:
                    place = (place // half + 2) * half
            self._places[size] = {word: frozenset(where) for word, where in places.items()}
        return self._places[size]


def corpus(texts: Corpus | Iterable[str]) -> Corpus:
    return texts if isinstance(texts, Corpus) else Corpus(texts)

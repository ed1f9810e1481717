"""Whether a text says the contrary of what it was made from. Pure; knows words, not meanings.

`Never deploy on Fridays.` and `Deploy on Fridays.` have nearly the same words; `Dana owns it, not
Tom` and `Tom owns it, not Dana` have all of them. So a text is read clause by clause: what is
denied in one and not in the other was turned. What holds `only for Acme` in one, and always in the
other, has lost a limit. The words by which that is told are in `senses.txt`. It can be wrong both
ways, so what it finds is looked at by a person rather than thrown away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pannier.learning.guards.sections import sections
from pannier.learning.guards.words import normal, sentences, words

TURNED = "it says the contrary of what was said"
UNLIMITED = "what was said has a limit that it does not have"

_MOST = 0.6
"""Share of a denied clause's words that a text has when it speaks of the same."""
_NEARLY_ALL = 0.8
"""Share of a text's clause that a denied one has when it speaks of the same."""

Polarity = Literal["said", "denied", "either"]
Limit = Literal["", "only", "exceptions"]


@dataclass(frozen=True)
class _Clause:
    words: frozenset[str]
    """Those of what it is about."""
    polarity: Polarity
    limit: Limit

    def shared(self, others: Iterable[str]) -> float:
        """The share of its words that are among others."""
        return len(self.words.intersection(others)) / len(self.words) if self.words else 0.0


def turned(text: str, sources: Iterable[str]) -> str:
    """Why a text does not say what its sources say, the oldest of them first; "": it may well do.

    That it is about the same is taken for granted.
    """
    mine, said = _clauses(text), [s for source in sources for s in sentences(source)]
    theirs = [clause for sentence in said for clause in _clauses(sentence)]
    if _asserts_what_is_denied(mine, theirs) or _denies_what_is_said(mine, theirs):
        return TURNED
    about = _all(mine)
    near = [s for s in map(normal, said) if 2 * len(about & _all(_clauses(s))) >= len(about)]
    if near and all(_is_opposed(normal(text), one) for one in near):
        return TURNED
    return UNLIMITED if _loses_a_limit(mine, said) else ""


def narrowing(text: str) -> tuple[str, ...]:
    """The words of a text by which it denies something or limits it, in order."""
    found = _pattern("denials", "without", "instead", "only", "exceptions").finditer(normal(text))
    return tuple(match[0] for match in found)


def denies(text: str) -> bool:
    """Whether it says no to something."""
    return _pattern("denials").search(normal(text)) is not None


def asserted(text: str) -> frozenset[str]:
    """The words of what it says, without what it denies, or says to be over or wrong."""
    return _all(clause for clause in _clauses(text) if clause.polarity == "said")


def affirms(text: str) -> bool:
    """Whether a sentence of it agrees to something, and denies nothing."""
    return any(
        _pattern("affirms").search(one) is not None and _pattern("denials").search(one) is None
        for one in map(normal, sentences(text))
    )


def _asserts_what_is_denied(mine: Iterable[_Clause], theirs: list[_Clause]) -> bool:
    said = [clause for clause in mine if clause.polarity == "said"]
    denied = _all(clause for clause in mine if clause.polarity != "said")
    all_said = _all(said)
    for place, clause in enumerate(theirs):
        if clause.polarity != "denied" or clause.words & denied:
            continue
        same = clause.shared(all_said) >= _MOST or any(
            len(one.words) > 1 and one.shared(clause.words) >= _NEARLY_ALL for one in said
        )
        later = (one for one in theirs[place + 1 :] if one.polarity == "said")
        if same and not any(clause.shared(one.words) >= _MOST for one in later):
            return True
    return False


def _denies_what_is_said(mine: tuple[_Clause, ...], theirs: list[_Clause]) -> bool:
    """One word may be denied to explain the rest (`7654, not 5432`), if all the rest was said."""
    adds = bool(_all(clause for clause in mine if clause.polarity == "said") - _all(theirs))
    denied = _all(clause for clause in theirs if clause.polarity != "said")
    said = _all(clause for clause in theirs if clause.polarity == "said")
    denies = any(clause.polarity != "said" or clause.limit for clause in theirs)
    return any(
        clause.polarity == "denied"
        and (adds or len(clause.words) > 1)
        and not clause.words & denied
        and (not denies or clause.shared(said) >= _MOST)
        for clause in mine
    )


def _is_opposed(text: str, sentence: str) -> bool:
    """Whether one has the contrary of a word of the other, or two words have changed places around
    one such as `over`."""
    for one, other in _opposites():
        mine, theirs = (
            (bool(one.search(found)), bool(other.search(found))) for found in (text, sentence)
        )
        if {mine, theirs} == {(True, False), (False, True)}:
            return True
    said, places = frozenset(words(sentence)), _followers(sentence)
    return any(
        place in places and behind.isdisjoint(places[place]) and behind & said
        for place, behind in _followers(text).items()
    )


def _followers(text: str) -> dict[str, set[str]]:
    """The words that stand next behind each word of direction."""
    found: dict[str, set[str]] = {}
    for match in _pattern("directions").finditer(text):
        found.setdefault(match[0], set()).update(words(text[match.end() : match.end() + 60])[:1])
    return found


def _loses_a_limit(mine: tuple[_Clause, ...], said: Iterable[str]) -> bool:
    """In the sentence that says most of it."""
    if any(clause.limit or clause.polarity == "denied" for clause in mine):
        return False
    my_words = _all(mine)
    best = max(map(_clauses, said), key=lambda c: len(_all(c) & my_words), default=())
    if 2 * len(_all(best) & my_words) < len(my_words):
        return False
    return any(
        clause.limit == "exceptions" or (clause.limit == "only" and clause.shared(my_words) < 1)
        for clause in best
    )


def _all(clauses: Iterable[_Clause]) -> frozenset[str]:
    return frozenset[str]().union(*(clause.words for clause in clauses))


# ---------------------------------------------------------------------------------------- clauses

_SEPARATORS = re.compile(
    r"[;:()，；：、。！？]|[.!?](?=\s|$)| - |,(?! (?:dass|that|to|zu|que)\b)(?=\s|$)"
)


@lru_cache(maxsize=4_096)
def _clauses(text: str) -> tuple[_Clause, ...]:
    return tuple(
        _clause(part) for piece in _SEPARATORS.split(normal(text)) for part in _joined(piece)
    )


def _joined(piece: str) -> Iterator[str]:
    """A part between two punctuation marks, where a new clause begins without one."""
    at = 0
    for match in _pattern("joins", "instead").finditer(piece):
        yield piece[at : match.start()]
        at = match.start()
    yield piece[at:]


def _clause(text: str) -> _Clause:
    limit: Limit = ""
    if _pattern("exceptions").search(text):
        limit = "exceptions"
    elif _pattern("only").search(text):
        limit = "only"
    about = _pattern(*_NOT_OF_THE_MATTER).sub(" ", text)
    return _Clause(frozenset(words(about)), _polarity(_pattern("only").sub(" ", text)), limit)


def _polarity(text: str) -> Polarity:
    rest, replaced = _pattern("instead").subn(" ", text)
    urges = _pattern("urges").search(rest) is not None
    denies = replaced > 0 or (not urges and _pattern("denials").search(rest) is not None)
    lacks = _pattern("without").search(rest) is not None
    if denies != lacks:
        return "denied"
    return "either" if _pattern("doubts").search(rest) else "said"


# ------------------------------------------------------------------------------------------ words

_NOT_OF_THE_MATTER = ("denials", "without", "instead", "only", "exceptions", "fillers", "joins")
_UNSPACED = re.compile(r"[\u3000-\u9fff\uac00-\ud7a3]")


@lru_cache(maxsize=1)
def _table() -> dict[str, list[str]]:
    """The expressions of each section."""
    return {
        name: [_expression(word) for line in lines for word in line.split()]
        for name, lines in sections("senses.txt").items()
    }


def _expression(word: str) -> str:
    if _UNSPACED.search(word):
        return word
    body = r"\w*".join(re.escape(normal(part)) for part in word.split("*")).replace("_", " ")
    return rf"(?<![\w'-]){body}(?![\w'-])"


@lru_cache(maxsize=1)
def _opposites() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    found = map(re.compile, _table()["opposites"])
    return tuple(zip(found, found, strict=True))


@lru_cache(maxsize=32)
def _pattern(*sections: str) -> re.Pattern[str]:
    return re.compile("|".join(one for name in sections for one in _table()[name]))

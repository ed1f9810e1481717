"""What a person had forgotten, told only by digests: it does not come back by itself. Pure.

Whoever reads the database could still try words of a dictionary against them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pannier.learning.lessons import Evidence

What = Literal["text", "words", "message"]
"""`text`: a text as it was; `words`: those of one, for what is nearly the same; `message`: one that
proved it."""
Verdict = Literal["", "gone", "held"]
"""`gone`: it was forgotten; `held`: a person said it again since."""

_SIZE = 8
_NEAR = 0.6
"""Of the words of both together, those in common."""
_MOSTLY = 0.8
"""Of the words that were forgotten, those in common."""
_RUN_ON = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Mark:
    """One row of what is forgotten."""

    what: What
    digest: bytes
    at: float
    """When it was forgotten, in seconds since 1970."""


@dataclass(frozen=True)
class Forgotten:
    """Of one group."""

    texts: dict[bytes, float]
    words: dict[frozenset[bytes], float]
    messages: frozenset[bytes]

    @classmethod
    def of(cls, marks: Iterable[Mark]) -> Forgotten:
        """Put together from its marks."""
        texts: dict[bytes, float] = {}
        words: dict[frozenset[bytes], float] = {}
        messages = set[bytes]()
        for mark in marks:
            if mark.what == "text":
                texts[mark.digest] = mark.at
            elif mark.what == "words":
                words[_apart(mark.digest)] = mark.at
            else:
                messages.add(mark.digest)
        return cls(texts, words, frozenset(messages))

    def verdict(self, text: str, evidence: Iterable[Evidence]) -> Verdict:
        """Whether a lesson may be learned.

        Not from the messages alone that proved what was forgotten, nor in the same or nearly the
        same words; unless a person said so after it was forgotten: then a person decides.
        """
        proofs = tuple(evidence)
        if proofs and all(_digest(str(proof.message)) in self.messages for proof in proofs):
            return "gone"
        at = self._when(text)
        if at is None:
            return ""
        again = any(proof.source == "person" and proof.at > at * 1e9 for proof in proofs)
        return "held" if again else "gone"

    def _when(self, text: str) -> float | None:
        """When this text, or one that is nearly the same, was forgotten last."""
        found = self.texts.get(_digest(_normal(text)))
        here = _hashed(text)
        near = [at for words, at in self.words.items() if _are_near(words, here)]
        return max(near if found is None else [*near, found], default=None)


NOTHING = Forgotten({}, {}, frozenset())
"""Nothing was forgotten."""


def is_near(forgotten: str, text: str) -> bool:
    """Whether a text says nearly what another one says, by their words."""
    return _normal(forgotten) == _normal(text) or _are_near(_hashed(forgotten), _hashed(text))


def marks(texts: Iterable[str], messages: Iterable[int], at: float) -> tuple[Mark, ...]:
    """By which these texts, and what these messages prove, do not come back."""
    found: list[Mark] = []
    for text in texts:
        found.append(Mark("text", _digest(_normal(text)), at))
        if words := _hashed(text):
            found.append(Mark("words", b"".join(sorted(words)), at))
    found += (Mark("message", _digest(str(message)), at) for message in messages)
    return tuple(found)


def _are_near(forgotten: frozenset[bytes], here: frozenset[bytes]) -> bool:
    common = len(forgotten & here)
    if not common:
        return False
    return common / len(forgotten | here) >= _NEAR or (
        len(forgotten) > 2 and common / len(forgotten) >= _MOSTLY
    )


def _normal(text: str) -> str:
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    """In scripts without spaces, each pair of characters is one."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for word in _WORD.findall(_RUN_ON.sub(r" \g<0> ", plain)):
        if _RUN_ON.fullmatch(word) and len(word) > 2:
            found += (word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.append(word)
    return found


def _hashed(text: str) -> frozenset[bytes]:
    return frozenset(_digest(word) for word in _words(text))


def _apart(together: bytes) -> frozenset[bytes]:
    return frozenset(together[at : at + _SIZE] for at in range(0, len(together), _SIZE))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()

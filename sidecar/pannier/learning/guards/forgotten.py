"""What a person had forgotten, told only by digests: it does not come back by itself. Pure.

Whoever reads the database could still try words of a dictionary against them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pannier.learning.lessons import Evidence

What = Literal["text", "words", "phrase", "message", "thread", "time"]
"""`text`: a text as it was; `words`: those of one, for what is nearly the same; `phrase`: those of
which all that has them is forgotten; `message`: one that proved it. As they are, since they tell
nothing: `thread`: a thread's key, and the message up to which it is forgotten; `time`: from when to
when, in nanoseconds since 1970."""
Verdict = Literal["", "gone", "held"]
"""`gone`: it was forgotten; `held`: a person said it again since."""

_SIZE = 8
_REMEMBERED = 20_000
"""Texts that are taken apart once: each is compared with many."""
_NEAR = 0.6
"""Of the words of both together, those in common."""
_MOSTLY = 0.8
"""Of the words that were forgotten, those in common."""
_RUN_ON = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Tombstone:
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
    phrases: dict[frozenset[bytes], float]
    messages: frozenset[bytes]
    threads: dict[str, int]
    times: tuple[tuple[int, int], ...]
    """From the first up to before the second."""

    @classmethod
    def of(cls, tombstones: Iterable[Tombstone]) -> Forgotten:
        """Put together from its tombstones."""
        texts: dict[bytes, float] = {}
        words: dict[frozenset[bytes], float] = {}
        phrases: dict[frozenset[bytes], float] = {}
        messages = set[bytes]()
        threads: dict[str, int] = {}
        times: list[tuple[int, int]] = []
        for one in tombstones:
            if one.what == "text":
                texts[one.digest] = one.at
            elif one.what == "words":
                words[_apart(one.digest)] = one.at
            elif one.what == "phrase":
                phrases[_apart(one.digest)] = one.at
            elif one.what == "message":
                messages.add(one.digest)
            else:
                first, second = one.digest.decode().split()
                if one.what == "thread":
                    threads[first] = max(int(second), threads.get(first, 0))
                else:
                    times.append((int(first), int(second)))
        return cls(texts, words, phrases, frozenset(messages), threads, tuple(times))

    def hides(self, thread: str, message: int, at: int) -> bool:
        """Whether nothing is learned from this message of the thread with this key any more."""
        return (
            message <= self.threads.get(thread, 0)
            or any(begin <= at < end for begin, end in self.times)
            or _digest(str(message)) in self.messages
        )

    def verdict(self, text: str, evidence: Iterable[Evidence]) -> Verdict:
        """Whether a lesson may be learned.

        Not from the messages alone that proved what was forgotten, nor in the same or nearly the
        same words, nor with all words of a phrase; unless a person said so after it was forgotten:
        then a person decides.
        """
        proofs = tuple(evidence)
        if proofs and all(self.hides(p.thread, p.message, p.at) for p in proofs):
            return "gone"
        at = self._when(text)
        if at is None:
            return ""
        again = any(proof.source == "person" and proof.at > at * 1e9 for proof in proofs)
        return "held" if again else "gone"

    def _when(self, text: str) -> float | None:
        """When this text, or one that is nearly the same, or a phrase in it, was forgotten last."""
        found = self.texts.get(_digest(_normal(text)))
        here = _hashed(text)
        near = [at for words, at in self.words.items() if _are_near(words, here)]
        near += [at for words, at in self.phrases.items() if words <= here]
        return max(near if found is None else [*near, found], default=None)


NOTHING = Forgotten({}, {}, {}, frozenset(), {}, ())
"""Nothing was forgotten."""


def is_near(forgotten: str, text: str) -> bool:
    """Whether a text says nearly what another one says, by their words."""
    return is_same(forgotten, text) or _are_near(_hashed(forgotten), _hashed(text))


def is_same(one: str, other: str) -> bool:
    """Whether two texts have the same words in the same order."""
    return _normal(one) == _normal(other)


def has_words(text: str) -> bool:
    """Whether there is anything to tell it by."""
    return bool(_words(text))


def holds(text: str, part: str) -> bool:
    """Whether these words stand together in a text. A part without words stands nowhere."""
    words = _normal(part)
    return bool(words) and f" {words} " in f" {_normal(text)} "


def tombstones(texts: Iterable[str], messages: Iterable[int], at: float) -> tuple[Tombstone, ...]:
    """By which these texts, and what these messages prove, do not come back."""
    found: list[Tombstone] = []
    for text in texts:
        found.append(Tombstone("text", _digest(_normal(text)), at))
        if words := _hashed(text):
            found.append(Tombstone("words", b"".join(sorted(words)), at))
    found += (Tombstone("message", _digest(str(message)), at) for message in messages)
    return tuple(found)


def phrase_tombstone(text: str, at: float) -> Tombstone:
    """By which all is forgotten that has these words, in whatever order and among others."""
    return Tombstone("phrase", b"".join(sorted(_hashed(text))), at)


def thread_tombstone(thread: str, upto: int, at: float) -> Tombstone:
    """By which a thread is forgotten up to this message."""
    return Tombstone("thread", f"{thread} {upto}".encode(), at)


def time_tombstone(begin: int, end: int, at: float) -> Tombstone:
    """By which all is forgotten that was said in this time."""
    return Tombstone("time", f"{begin} {end}".encode(), at)


def _are_near(forgotten: frozenset[bytes], here: frozenset[bytes]) -> bool:
    common = len(forgotten & here)
    if not common or not _same_numbers(forgotten, here):
        return False
    return common / len(forgotten | here) >= _NEAR or (
        len(forgotten) > 2 and common / len(forgotten) >= _MOSTLY
    )


def _same_numbers(one: frozenset[bytes], other: frozenset[bytes]) -> bool:
    """Where one says 40 and the other 90, they are two things."""
    numbers, others = ({w for w in words if w[-1] & 1} for words in (one, other))
    return numbers <= others or others <= numbers


@lru_cache(maxsize=_REMEMBERED)
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


@lru_cache(maxsize=_REMEMBERED)
def _hashed(text: str) -> frozenset[bytes]:
    """The last bit of each says whether there is a digit in the word."""
    return frozenset(
        digest[:-1] + bytes([digest[-1] & 0xFE | any(map(str.isdigit, word))])
        for word in _words(text)
        for digest in [_digest(word)]
    )


def _apart(together: bytes) -> frozenset[bytes]:
    return frozenset(together[at : at + _SIZE] for at in range(0, len(together), _SIZE))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()

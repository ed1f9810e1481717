"""Whether what a model found in a piece of a thread may be believed, and as what. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pannier import redaction
from pannier.learning.answers import Found
from pannier.learning.forgotten import Forgotten
from pannier.learning.lessons import FROM_PERSONS, Evidence, Kind, Source
from pannier.learning.planting import clean_summary, is_planted
from pannier.learning.reading import Shown
from pannier.learning.widening import widens
from pannier.threads.excerpt import plain

SUMMARY = 3_000
"""The most of a summary that is kept, in code points."""

NO_TEXT = "it says nothing, or little but a secret"
NO_PROOF = "no message that was shown proves it"
AGAIN = "it says the same as another one"
NO_PERSON = "it needs a person's message, and none says so"
BY_TOOLS = "only the output of tools says so"
ORDER = "it is an instruction that stands in the output of a tool"
FORGOTTEN = "it was forgotten"

BY_MESSAGE = "a message of the queue says so, and no person"
WIDENS = "it lets the agent do more than before"
SAID_AGAIN = "it was forgotten, and a person said it again since"

_STRONGEST: tuple[Source, ...] = ("person", "message", "agent", "tool")
_NEVER_OF_TOOLS: frozenset[Kind] = FROM_PERSONS | {"decision", "procedure"}


class Dropped(Exception):
    """Why a candidate is not taken."""


@dataclass(frozen=True)
class Case:
    """A candidate that is taken: as what, by whom, and why it is held ("": it is not)."""

    kind: Kind
    source: Source
    evidence: tuple[Evidence, ...]
    held: str


@dataclass(frozen=True)
class Scales:
    """What a piece's candidates are weighed against."""

    shown: Mapping[int, Shown]
    thread: str
    forgotten: Forgotten

    def texts(self, *sources: Source) -> list[str]:
        return [one.text for one in self.shown.values() if one.source in sources]

    def weigh(self, found: Found, text: str) -> Case:
        """Raises Dropped."""
        if _is_little(text):
            raise Dropped(NO_TEXT)
        numbers = sorted(set(found.evidence) & self.shown.keys())
        proofs = [self.shown[number] for number in numbers]
        if not proofs:
            raise Dropped(NO_PROOF)
        source = min((proof.source for proof in proofs), key=_STRONGEST.index)
        said = [proof.text for proof in proofs if proof.source in ("person", "message")]
        if is_planted(text, said, self.texts("tool")):
            source = "tool"
        evidence = tuple(
            Evidence(self.thread, proof.turn, proof.message, proof.source, proof.at)
            for proof in proofs
        )
        kind = _kind(found.kind, source, text)
        verdict = self.forgotten.verdict(text, evidence)
        if verdict == "gone":
            raise Dropped(FORGOTTEN)
        held = widens(text) or (WIDENS if found.widens else "")
        if verdict == "held":
            held = held or SAID_AGAIN
        elif source == "message" and kind in FROM_PERSONS:
            held = held or BY_MESSAGE
        return Case(kind, source, evidence, held)

    def summary(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """The summary as it may be kept, and what was taken out of it."""
        masked = redaction.mask(plain(text)).strip()
        clean, planted = clean_summary(masked, self.texts("person", "message"), self.texts("tool"))
        out = [(sentence, f"of the summary: {why}") for sentence, why in planted]
        sentences = []
        for sentence in _sentences(clean):
            if self.forgotten.verdict(sentence, ()):
                out.append((sentence.strip(), f"of the summary: {FORGOTTEN}"))
            else:
                sentences.append(sentence)
        return "".join(sentences).strip()[:SUMMARY], out


def _kind(kind: Kind, source: Source, text: str) -> Kind:
    """As what a candidate is taken by its source. Raises Dropped."""
    if source != "tool":
        if source == "agent" and kind in FROM_PERSONS:
            raise Dropped(NO_PERSON)
        return kind
    if kind in _NEVER_OF_TOOLS:
        raise Dropped(NO_PERSON if kind in FROM_PERSONS else BY_TOOLS)
    if _ORDERS.search(text):
        raise Dropped(ORDER)
    return "environment"


_ORDERS = re.compile(
    r"\b(?:always|never|must(?:n't)?|should(?:n't)?|shall|do not|don't|please|make sure|ensure"
    r"|remember to|from now on|prefers?|instead of|you (?:are|have|need|may|can)"
    r"|immer|nie(?:mals)?|muss(?:t)?|müssen|soll(?:en|st|te)?|bitte|ab sofort|künftig|nicht mehr"
    r"|toujours|jamais|doi(?:t|s|vent)|il faut|veuillez|désormais"
    r"|siempre|nunca|debe[ns]?|hay que|por favor|a partir de ahora)\b"
    r"|总是|始终|永远|必须|应该|应当|务必|不要|请|切勿|必ず|常に|ください|べき|決して|こと。?$",
    re.IGNORECASE,
)
"""What an order sounds like. Of a tool's output only facts are taken, and few sound so."""

_LEAST = 8
"""Letters of a lesson, at least; of another script than ours, one counts as three."""
_BESIDE_A_SECRET = 30
"""The same of one in which something was masked."""
_REMOVED = re.compile(r"\[[\w -]{1,60} removed\]")
_BULLET = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_ID = re.compile(r"\s\^[0-9A-Za-z-]{1,40}$")


def tidy(text: str) -> str:
    """In one line, without secrets, and without what would make it a line of a list."""
    line = " ".join(redaction.mask(plain(text)).split())
    return _ID.sub("", _BULLET.sub("", line, count=1) if _BULLET.match(line) else line).strip()


def _is_little(text: str) -> bool:
    rest, masked = _REMOVED.subn(" ", text)
    letters = sum(c.isalnum() if c.isascii() else 3 * c.isalnum() for c in rest)
    return letters < (_BESIDE_A_SECRET if masked else _LEAST)


def _sentences(text: str) -> Iterator[str]:
    """With what stands between them: together they are the text."""
    at = 0
    for end in _END.finditer(text):
        yield text[at : end.end()]
        at = end.end()
    yield text[at:]


_END = re.compile(r"(?:[.!?]\s|[。！？]|\n)\s*")

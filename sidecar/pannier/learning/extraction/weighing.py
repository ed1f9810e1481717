"""Whether what a model found in a piece of a thread may be believed, and as what. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pannier import redaction
from pannier.learning.extraction.reading import Shown
from pannier.learning.guards.corpus import Corpus
from pannier.learning.guards.forgotten import Forgotten
from pannier.learning.guards.languages import unjudged
from pannier.learning.guards.manner import is_of_people, is_of_wishes, is_order
from pannier.learning.guards.planting import (
    clean_summary,
    coverage,
    demands,
    is_demanded,
    is_mixed,
    is_planted,
    topic_of_tools,
)
from pannier.learning.guards.senses import affirms, denies, turned
from pannier.learning.guards.widening import widens
from pannier.learning.lessons import FROM_PERSONS, STRONGEST_FIRST, Evidence, Kind, Source
from pannier.learning.models.answers import Found
from pannier.threads.excerpt import plain

SUMMARY = 3_000
"""The most of a summary that is kept, in code points."""

NO_TEXT = "it says nothing, or little but a secret"
NO_PROOF = "no message that was shown proves it"
NOT_SAID = "the messages that it names do not say so"
AGAIN = "it says the same as another one"
NO_PERSON = "it needs a person's message, and none says so"
BY_TOOLS = "only the output of tools says so"
ORDER = "it is an instruction that stands in the output of a tool"
OF_PEOPLE = "it speaks of a person, and only the output of tools says so"
REFUSED = "the agent says so, and a person refused it"
OF_WISHES = "it tells what a person wants, and no person says so"
NOBODY = "it is a rule, and nobody says so"
FORGOTTEN = "it was forgotten"

OF_BOTH = "a part of it stands in the output of a tool, and no person said that"
OTHER_WORDS = "few of its words stand in the messages that it names"
BY_MESSAGE = "a message of the queue says so, and no person"
BY_AGENT = "it is a rule, and only the agent says so"
WIDENS = "it lets the agent do more than before"
SAID_AGAIN = "it was forgotten, and a person said it again since"

_PEOPLE: frozenset[Source] = frozenset({"person", "message"})
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
    told: Corpus
    """What tools put out, also what is not shown of it."""
    thread: str
    forgotten: Forgotten
    earlier: str = ""
    """The summary of what was said before."""

    @cached_property
    def said(self) -> Corpus:
        """What persons and the queue said."""
        return self._corpus(*_PEOPLE)

    @cached_property
    def all(self) -> Corpus:
        return self._corpus(*STRONGEST_FIRST)

    @cached_property
    def _known(self) -> Corpus:
        return Corpus((*self.all.texts, self.earlier))

    def _corpus(self, *sources: Source) -> Corpus:
        return Corpus(one.text for one in self.shown.values() if one.source in sources)

    def weigh(self, found: Found, text: str) -> Case:
        """Raises Dropped."""
        if _is_little(text):
            raise Dropped(NO_TEXT)
        proofs = [self.shown[number] for number in sorted({*found.evidence} & self.shown.keys())]
        if not proofs:
            raise Dropped(NO_PROOF)
        source = min((proof.source for proof in proofs), key=STRONGEST_FIRST.index)
        said = Corpus(proof.text for proof in proofs if proof.source in _PEOPLE)
        if is_planted(text, said, self.told):
            source = "tool"
        elif source in _PEOPLE and self._is_the_agents(text, proofs):
            source = "agent"
        kind = _kind(found.kind, source, text)
        if source == "tool" and is_demanded(text, self.told):
            raise Dropped(ORDER)
        context = Corpus(one.text for one in self._context(proofs))
        strange = self._is_strange(text, context)
        evidence = tuple(
            Evidence(self.thread, proof.turn, proof.message, proof.source, proof.at)
            for proof in proofs
        )
        verdict = self.forgotten.verdict(text, evidence)
        if verdict == "gone":
            raise Dropped(FORGOTTEN)
        doubts = (
            widens(text),
            WIDENS if found.widens else "",
            unjudged(text),
            SAID_AGAIN if verdict == "held" else "",
            BY_MESSAGE if source == "message" and kind in _NEVER_OF_TOOLS else "",
            BY_AGENT if source == "agent" and kind == "decision" and is_order(text) else "",
            OF_BOTH if kind in _NEVER_OF_TOOLS and self._is_mixed(text, source) else "",
            turned(text, context.texts),
            OTHER_WORDS if strange else "",
        )
        return Case(kind, source, evidence, next(filter(None, doubts), ""))

    def _is_the_agents(self, text: str, proofs: Sequence[Shown]) -> bool:
        """Whether it is in the words of the agent, and no person agreed to them. Raises Dropped
        where a person did not."""
        agents = [one.text for one in self._context(proofs) if one.source == "agent"]
        if not coverage(text, self.said) < _MOSTLY <= coverage(text, agents):
            return False
        answers = [proof.text for proof in proofs if proof.source in _PEOPLE]
        if any(map(affirms, answers)):
            return False
        if any(map(denies, answers)):
            raise Dropped(REFUSED)
        return True

    def _is_mixed(self, text: str, source: Source) -> bool:
        return source in _PEOPLE and is_mixed(text, self.said, self.told)

    def _is_strange(self, text: str, context: Corpus) -> bool:
        """Whether what it names has few of its words: it may be in another language. Raises Dropped
        if something else here has more of them."""
        said = coverage(text, context)
        if said < _LEAST_SAID <= coverage(text, self.all):
            raise Dropped(NOT_SAID)
        return said < _ENOUGH_SAID

    def _context(self, proofs: Sequence[Shown]) -> Iterator[Shown]:
        """The proofs, each with what the agent said before: it may be an answer."""
        numbers = {proof.message for proof in proofs}
        before: Shown | None = None
        for one in self.shown.values():
            if one.message in numbers:
                if before is not None and before.source == "agent":
                    yield before
                yield one
            before = one

    def topic(self, topic: str, text: str) -> str:
        """A lesson's topic as it may stand; "": tools named it."""
        return "" if topic_of_tools(topic, text, self.said, self.told) else topic

    def summary(self, text: str, held: Iterable[str] = ()) -> tuple[str, list[tuple[str, str]]]:
        """The summary as it may be kept, and what was taken out of it: also what says the same as
        the candidates that are `held`."""
        masked = redaction.mask(plain(text)).strip()
        clean, planted = clean_summary(masked, self.said, self.told, held)
        out = [(sentence, f"of the summary: {why}") for sentence, why in planted]
        sentences = []
        for sentence in _sentences(clean):
            if demands(sentence) and coverage(sentence, self._known) < _MOSTLY:
                out.append((sentence.strip(), f"of the summary: {NOBODY}"))
            elif self.forgotten.verdict(sentence, ()):
                out.append((sentence.strip(), f"of the summary: {FORGOTTEN}"))
            else:
                sentences.append(sentence)
        return "".join(sentences).strip()[:SUMMARY], out


def _kind(kind: Kind, source: Source, text: str) -> Kind:
    """As what a candidate is taken by its source. Raises Dropped."""
    if source == "agent":
        if kind in FROM_PERSONS:
            raise Dropped(NO_PERSON)
        if is_of_wishes(text):
            raise Dropped(OF_WISHES)
    if source != "tool":
        return kind
    if kind in _NEVER_OF_TOOLS:
        raise Dropped(NO_PERSON if kind in FROM_PERSONS else BY_TOOLS)
    if is_order(text):
        raise Dropped(ORDER)
    if is_of_people(text):
        raise Dropped(OF_PEOPLE)
    return "environment"


_MOSTLY = 0.5
"""Share of a lesson's words that makes it the agent's, or a person's."""
_LEAST_SAID = 0.25
"""Share of a lesson's words that what it names has, at least."""
_ENOUGH_SAID = 0.34
"""With less, a person looks at it."""
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

"""Whether words come from a tool's output rather than from a person. Pure; compares, understands
nothing.

A model that reads a poisoned page may write its words down as what a person wants, and name a
person's message as the proof. Whatever it names, its text is held against what was said: what tools
put out and no person said is treated as proved by tools alone.

Everything takes time in proportion to the texts. Who compares many texts with the same ones gives
them as `Corpus`, so that they are taken apart once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pannier.learning.guards.corpus import Corpus, corpus, names_in
from pannier.learning.guards.languages import unjudged
from pannier.learning.guards.senses import asserted
from pannier.learning.guards.widening import widens
from pannier.learning.guards.words import addresses, normal, words

FROM_TOOLS = "a tool's output said it, no person"
HELD = "it waits for a person"
"""Why a sentence is dropped that widens nothing by its own words."""

_ALIKE = 0.5
"""Share of a summary's sentence that is another text's: it tells of the same."""
_PART = 0.4
"""Share of a lesson that a tool's sentence has, when that speaks of the same."""
_RUN = 5
"""Words in the same order: more than chance."""


def coverage(text: str, source: str | Corpus | Iterable[str]) -> float:
    """The share of the words of `text` that `source` has anywhere, from 0 to 1; 1.0 for a text that
    says nothing. Words with digits count three times: a wrong number is a wrong lesson."""
    weights = _weights(words(text))
    if not weights:
        return 1.0
    source = Corpus((source,)) if isinstance(source, str) else corpus(source)
    return _weight(weights.keys() & source.words, weights) / _weight(weights, weights)


def is_planted(
    text: str, evidence_texts: Corpus | Iterable[str], tool_texts: Corpus | Iterable[str]
) -> bool:
    """Whether the words of `text`, or of a sentence in it, stand in `tool_texts`, and no person
    said them. What is only a part of a sentence has to be more alike.

    `evidence_texts` are the persons' messages that are named as its proof; an agent's own words do
    not belong there, it repeats what it read.
    """
    said, told = corpus(evidence_texts), corpus(tool_texts)
    if not told.texts:
        return False
    if (addresses(text) - said.addresses) & told.addresses:
        return True  # with a strange address, a harmless text is a theft
    return any(
        _passage(sequence, said, told, limits) or _repeated(sequence, said, told)
        for sequence, limits in _parts(text)
    )


@dataclass(frozen=True)
class _Limits:
    told: float
    """So much of the words stands close together in a tool's output."""
    unsaid: float
    """So much of them no person said."""
    least: int
    """So many words, at least, are compared."""


_SENTENCE = _Limits(told=0.6, unsaid=0.4, least=1)
_CLAUSE = _Limits(told=0.7, unsaid=0.5, least=4)
_CLAUSES = re.compile(
    r"[,;:()，；：、]|(?<!\w)(?:and|but|or|also|und|aber|auch|et|mais|aussi|y|pero|también)(?!\w)"
)


def _parts(text: str) -> Iterator[tuple[list[str], _Limits]]:
    for sentence in _SENTENCES.findall(text):
        for part, limits in [
            (sentence, _SENTENCE),
            *((c, _CLAUSE) for c in _CLAUSES.split(sentence)),
        ]:
            sequence = words(part)
            if len(sequence) >= limits.least:
                yield sequence, limits


def is_mixed(text: str, said: Corpus, told: Corpus) -> bool:
    """Whether a part of `text` that no person said stands in a sentence of a tool's output: a name,
    beside another of its words; or several words, beside a good part of all."""
    sequence = set(words(text))
    unsaid = (sequence - said.words) & told.words
    names = names_in(text) & asserted(text) & unsaid & told.names
    if not unsaid:
        return False
    for found, _ in told.sentences:
        common = len(sequence & found)
        if common > 1 and names & found:
            return True
        if len(unsaid & found) > 1 and common >= _PART * len(sequence):
            return True
    return False


def topic_of_tools(topic: str, text: str, said: Corpus, told: Corpus) -> bool:
    """Whether a lesson's topic is mostly in words that only tools put out: neither the lesson nor a
    person says them."""
    sequence = set(words(topic))
    strange = sequence - said.words - set(words(text))
    return 2 * len(strange) > len(sequence) and strange <= told.words


def is_demanded(text: str, tool_texts: Corpus | Iterable[str]) -> bool:
    """Whether a sentence of `text` is what a tool's output demands, or tells of a person's wishes,
    whatever it is made to sound like: `I prefer invoices without tax` stays one as a fact."""
    told = corpus(tool_texts)
    for sequence, _ in _parts(text):
        weights = _weights(sequence)
        enough = 0.5 * _weight(weights, weights)
        for found, source in told.sentences:
            if _weight(weights.keys() & found, weights) >= enough and _demands(source):
                return True
    return False


def clean_summary(
    summary: str,
    person_texts: Corpus | Iterable[str],
    tool_texts: Corpus | Iterable[str],
    held: Iterable[str] = (),
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The summary without the sentences that nobody should read as orders, and those with why.

    Dropped are sentences that widen what the agent may do, whoever said so, for that has to be
    approved of; those that say what is `held` for a person; and those that demand something in the
    words of a tool's output, or repeat it.
    """
    said, told = corpus(person_texts), corpus(tool_texts)
    waiting = [Corpus((text,)) for text in held]
    kept, dropped = [], []
    for sentence in _SENTENCES.findall(summary):
        if why := _why_dropped(sentence, said, told, waiting):
            dropped.append((sentence.strip(), why))
            kept += _line_breaks(sentence)
        else:
            kept.append(sentence)
    return "".join(kept).strip() if dropped else summary, tuple(dropped)


# ------------------------------------------------------------------------------------ how alike


def _weights(sequence: Iterable[str]) -> dict[str, int]:
    return {word: 3 if any(c.isdigit() for c in word) else 1 for word in sequence}


def _weight(chosen: Iterable[str], weights: Mapping[str, int]) -> int:
    return sum(weights[word] for word in chosen)


def _passage(sequence: list[str], said: Corpus, told: Corpus, limits: _Limits) -> bool:
    """Whether most of the words stand within one passage of a tool's output, in any order, and too
    few of them within one of what was said: in much talk any word occurs somewhere."""
    weights, span = _weights(sequence), 2 * len(sequence) + 8
    all_of_them = _weight(weights, weights)
    return (
        told.densest(weights, span) >= limits.told * all_of_them
        and all_of_them - said.densest(weights, span) >= limits.unsaid * all_of_them
    )


def _repeated(sequence: list[str], said: Corpus, told: Corpus) -> bool:
    """Whether a good part of the words stand in the same order in a tool's output, where a person
    said them, if at all, in another one: `tabs over spaces` against `spaces over tabs`."""
    length = min(_RUN, len(sequence))
    if length < 3:
        return False
    of_tools, of_persons = told.runs(length), said.runs(3)
    planted: set[int] = set()
    for start in range(len(sequence) - length + 1):
        run = tuple(sequence[start : start + length])
        if run in of_tools and not any(run[i : i + 3] in of_persons for i in range(length - 2)):
            planted.update(range(start, start + length))
    return len(planted) >= _SENTENCE.unsaid * len(sequence)


# ------------------------------------------------------------------------------------ summaries

_SENTENCES = re.compile(
    r"(?:[^.!?。！？\n]|[.!?](?=[^\s.!?]))+(?:[.!?。！？\n]+[ \t]*)?|[.!?。！？\n]+"
)
"""Each with what ends it; a dot within a name or a number ends none."""
_DEMANDS = re.compile(
    r"(?<!\w)(?:always|never|must|should|shall|has to|have to|needs? to|prefer\w*|wants?"
    r"|wishes|likes|asked|asks|requests?|requested|instruct\w*|decided|remember|rule"
    r"|policy|from now|do not|don't|please|make sure|ensure|corrected|correction|use"
    r"|insists?|expects?|requires?|favou?rite|call me|address me|i am|my|our|note (?:to|for)"
    r"|immer|nie|niemals|muss|mussen|soll|sollen|bevorzugt|will|mochte|wunscht|ab sofort|bitte"
    r"|toujours|jamais|doit|doivent|il faut|prefere|veut|souhaite|desormais|demande"
    r"|siempre|nunca|debe|deben|hay que|prefiere|quiere|desea|a partir de ahora|pide)(?!\w)"
    r"|必须|总是|始终|永远|不要|应该|应当|偏好|喜欢|希望|要求|从现在|以后|请"
    r"|必ず|常に|決して|べき|好む|希望|今後|ください|求め"
)
_WHOLE = 0.85
"""Share of a sentence that is another's words: it is no summary."""


def _why_dropped(sentence: str, said: Corpus, told: Corpus, waiting: list[Corpus]) -> str:
    if not (sequence := words(sentence)):
        return ""
    if why := widens(sentence):
        return why
    if any(coverage(sentence, one) >= _ALIKE for one in waiting):
        return HELD
    planted = is_planted(sentence, said, told) and bool(
        demands(sentence)
        or unjudged(sentence)
        or _is_copied(sequence, told)
        or is_demanded(sentence, told)
    )
    return FROM_TOOLS if planted else ""


def demands(text: str) -> bool:
    """Whether it demands something, or tells what somebody wants."""
    return _demands(normal(text))


def _demands(plain: str) -> bool:
    return _DEMANDS.search(plain.replace("_", " ")) is not None


def _is_copied(sequence: list[str], told: Corpus) -> bool:
    pairs = list(pairwise(sequence))
    return len(pairs) > 1 and sum(p in told.runs(2) for p in pairs) >= _WHOLE * len(pairs)


def _line_breaks(sentence: str) -> list[str]:
    ending = sentence[len(sentence.rstrip()) :]
    return ["\n" * ending.count("\n")] if "\n" in ending else []

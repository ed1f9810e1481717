"""What is asked about a piece of a thread, and what of the answer is believed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from pannier.learning.extraction.pieces import Piece
from pannier.learning.extraction.prompt import prompt
from pannier.learning.extraction.reading import Shown, read, told
from pannier.learning.extraction.weighing import AGAIN, Dropped, Scales, tidy
from pannier.learning.guards.corpus import Corpus
from pannier.learning.guards.forgotten import Forgotten
from pannier.learning.lessons import Candidate
from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import AskError, Question, Reply
from pannier.threads.rows import MessageRow

_MOST_ANSWER = 8_000
"""Tokens of an answer."""
_LONGEST_TOPIC = 80


@dataclass(frozen=True)
class Extraction:
    """What one piece gave."""

    summary: str
    """Of the thread; "": none that is better than the one there was."""
    candidates: tuple[Candidate, ...]
    dropped: tuple[tuple[str, str], ...]
    """What was not believed, and why."""


def question(rows: Sequence[MessageRow], piece: Piece, summary: str = "") -> Question | None:
    """What to ask about the rows of a piece; None when there is nothing to show.

    `summary`: that of what came before. Instructions and data have at most `piece.budget` tokens
    together. Not the same text twice: the mark is random.
    """
    shown = tuple(read(rows, piece.hidden))
    if not shown:
        return None
    made = prompt(shown, piece.name, summary, piece.budget)
    most = min(_MOST_ANSWER, piece.budget)
    return Question(made.instructions, made.data, ExtractionAnswer, most)


def judge(
    rows: Sequence[MessageRow],
    piece: Piece,
    reply: Reply,
    forgotten: Forgotten,
    new_id: Callable[[], str],
    now: float,
    before: Sequence[MessageRow] = (),
    earlier: str = "",
) -> Extraction:
    """What of an answer may be taken.

    Who speaks for a candidate is looked up in the rows; the answer names only their numbers. What
    was said is not newer than `now`. `before`: what tools put out in the thread before the piece;
    `earlier`: the summary of what was said before it.
    `new_id` is called once for each candidate that is kept, in order. Raises AskError for an
    answer that does not fit the schema.
    """
    try:
        answer = ExtractionAnswer.model_validate(reply.data)
    except ValidationError as error:
        raise AskError("answer", f"the answer does not fit: {error.error_count()} errors") from None
    shown = {one.message: _until(now, one) for one in read(rows, piece.hidden)}
    scales = Scales(shown, Corpus(told([*before, *rows])), piece.thread_key, forgotten, earlier)
    dropped: list[tuple[str, str]] = []
    kept: dict[str, Candidate] = {}
    for found in answer.candidates:
        text = tidy(found.text)
        try:
            if text.casefold() in kept:
                raise Dropped(AGAIN)
            case = scales.weigh(found, text)
        except Dropped as why:
            dropped.append((text or found.topic, str(why)))
            continue
        kept[text.casefold()] = Candidate(
            new_id(),
            case.kind,
            text,
            scales.topic(tidy(found.topic)[:_LONGEST_TOPIC], text),
            case.source,
            case.evidence,
            now,
            "held" if case.held else "waiting",
            case.held,
        )
    held = [candidate.text for candidate in kept.values() if candidate.state == "held"]
    summary, out = scales.summary(answer.summary, held)
    return Extraction(summary, tuple(kept.values()), (*out, *dropped))


def _until(now: float, shown: Shown) -> Shown:
    """Its time is a claim: one in the future would stand against all that is said later."""
    return replace(shown, at=min(shown.at, int(now * 1e9)))

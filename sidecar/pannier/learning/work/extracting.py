"""One extraction of a group: what is new in its threads is read, a piece at a time.

It may be broken off anywhere and done again: what was paid is recorded by the step, and what was
stored is not stored twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from pannier.learning.extraction.pieces import MOST_PIECES, Piece, plan, results_before, rows_of
from pannier.learning.extraction.question import judge, question
from pannier.learning.models.asking import AskError, Question
from pannier.learning.store import Learning
from pannier.learning.store.rows import ThreadMark
from pannier.learning.work import aside
from pannier.learning.work.means import (
    Json,
    Means,
    Step,
    judging,
    new_key,
    note_trouble,
    reply,
    report,
    trouble,
    waits_until,
)
from pannier.learning.work.schedule import MOST_TRIES, OF_PIECE
from pannier.threads.learnable import Activity, activities, count_after
from pannier.threads.queries import Store

WORK = "extract"
_NOTHING = "Here is no conversation: this only tries whether you can be asked."
_MOST_TOLD = 20
"""Of what was not believed."""


@dataclass
class _Tally:
    """What came of it so far."""

    found: int = 0
    held: int = 0
    threads: set[str] = field(default_factory=set)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    aside: list[tuple[str, str]] = field(default_factory=list)
    """Threads of which a part was set aside, and for what."""
    answered: bool = False
    """Whether the model took any question."""
    trouble: Json | None = None
    at: float = 0.0
    stopped: set[str] = field(default_factory=set)
    """Threads of which nothing more is read this time."""


def extract(means: Means, grp: str, step: Step) -> Json:
    """Do it. What came of it, for the report. Raises PannierError, Busy among them."""
    with means.alone(grp):
        tally, planned = _Tally(), step("plan 1", lambda: _plan(means, grp))
        first, number = planned, 1
        while planned["pieces"]:
            _read(means, planned["pieces"], step, tally)
            if tally.trouble or len(planned["pieces"]) < MOST_PIECES:
                break
            number += 1
            planned = step(f"plan {number}", lambda: _plan(means, grp, first["counted"]))
        return _finish(means, grp, first, tally)


def _read(means: Means, pieces: list[Json], step: Step, tally: _Tally) -> None:
    """Piece by piece, until one fails for what the others would fail for, too."""
    for piece in map(Piece.of, pieces):
        if piece.thread_key in tally.stopped:
            continue
        asked = step(f"ask {piece.id}", _asking(means, piece))
        if _is_refused(asked) and not tally.answered:
            asked = _whose_trouble(asked, step(f"try {piece.id}", _trying(means, piece)))
            tally.answered = _is_refused(asked)
        tally.answered = tally.answered or "reply" in asked
        _take(means, piece, asked, tally)
        if tally.trouble and tally.trouble["kind"] not in OF_PIECE:
            return


def _is_refused(asked: Json) -> bool:
    return "trouble" in asked and asked["trouble"]["kind"] == "refused"


def _whose_trouble(asked: Json, tried: Json) -> Json:
    """What refuses any question does not refuse for what is asked: that waits for other settings,
    and no piece is set aside for it."""
    if _is_refused(tried):
        return {**asked, "trouble": {**asked["trouble"], "kind": "setting"}}
    if "trouble" in tried and tried["trouble"]["kind"] not in OF_PIECE:
        return tried
    return asked


def _plan(means: Means, grp: str, counted: int = 0) -> Json:
    """What is to be read, or the rest of it, once it is known up to which turn. Nothing, if another
    worker read it meanwhile."""
    nothing: Json = {"pieces": [], "at": means.time(), "counted": 0, "key": new_key()}
    try:
        settings, asker = means.settings(grp), means.asker_for(grp)
    except AskError as error:
        return {**nothing, "trouble": trouble(error)}
    with means.threads() as store, means.learning(write=True) as learning:
        more = counted > 0
        counted = counted or activities(store).get(grp, Activity()).last_success_id
        before = learning.group_mark(grp).counted
        wanted = (grp, WORK) in learning.books.wanted()
        new = count_after(store, grp, before, settings.extract_after)
        budget = means.budget(grp, asker)
        again: list[Piece] = []
        if not more:
            failed_with = None if wanted else settings.who
            again = aside.again(store, learning, grp, budget, but=failed_with)
        if not more and not wanted and new < settings.extract_after:
            return {**nothing, "pieces": [one.as_data() for one in again]}
        found = [*plan(store, learning, grp, budget), *again]
        return {**nothing, "pieces": [one.as_data() for one in found], "counted": counted}


def _asking(means: Means, piece: Piece) -> Callable[[], Json]:
    def ask() -> Json:
        made = _question(means, piece)
        return means.asked(piece.grp, lambda _asker: (made, {}) if made else None)

    return ask


def _trying(means: Means, piece: Piece) -> Callable[[], Json]:
    """The same question about nothing: is it what was said that the model does not take?"""

    def ask() -> Json:
        made = _question(means, piece)
        about = replace(made, data=_NOTHING) if made else None
        return means.asked(piece.grp, lambda _asker: (about, {}) if about else None)

    return ask


def _question(means: Means, piece: Piece) -> Question | None:
    with means.threads() as store, means.learning() as learning:
        rows = rows_of(store, piece)
        mark = learning.thread_marks(piece.grp).get(piece.thread_key)
    return question(rows, piece, mark.summary if mark else "")


def _take(means: Means, piece: Piece, asked: Json, tally: _Tally) -> None:
    """Store what the answer to a piece is worth."""
    with means.threads() as store, means.learning(write=True) as learning:
        if "trouble" in asked:
            _note(means, learning, piece, asked["trouble"], asked["at"], tally)
            return
        try:
            mark = _marked(store, learning, piece, asked, tally)
        except AskError as error:
            _note(means, learning, piece, trouble(error), asked["at"], tally)
            return
        learning.books.clear_tries(piece.grp, _name(piece))
        learning.books.clear_tries(piece.grp, aside.name(piece))
        tally.threads.add(mark.name)


def _marked(
    store: Store, learning: Learning, piece: Piece, asked: Json, tally: _Tally
) -> ThreadMark:
    rows = rows_of(store, piece)
    before = learning.thread_marks(piece.grp).get(piece.thread_key)
    active = max((row.at for row in rows), default=before.active if before else 0)
    summary = before.summary if before else ""
    summarized = before.summarized if before else 0.0
    if not asked:
        mark = ThreadMark(piece.thread_key, piece.name, piece.upto, active, summary, summarized)
        learning.add_extraction(piece.grp, piece.id, mark, ())
        return mark
    active = min(active, int(asked["at"] * 1e9))
    forgotten, results = learning.forgotten(piece.grp), results_before(store, piece)
    with judging():
        new_id = _ids(piece.id)
        found = judge(rows, piece, reply(asked), forgotten, new_id, asked["at"], results, summary)
    if found.summary:
        summary, summarized = found.summary, asked["at"]
    mark = ThreadMark(piece.thread_key, piece.name, piece.upto, active, summary, summarized)
    if aside.is_again(piece):
        learning.add_late(piece.grp, piece.id, found.candidates)
    else:
        learning.add_extraction(piece.grp, piece.id, mark, found.candidates)
    tally.found += len(found.candidates)
    tally.held += sum(one.state == "held" for one in found.candidates)
    tally.dropped += found.dropped
    return mark


def _note(
    means: Means, learning: Learning, piece: Piece, found: Json, at: float, tally: _Tally
) -> None:
    """What a piece failed for; after several times it is set aside, and its thread goes on."""
    if found["kind"] not in OF_PIECE:
        tally.trouble, tally.at = found, at
        return
    settings = means.groups().get(piece.grp)
    found = {**found, "model": settings.who if settings else ""}
    if aside.is_again(piece):
        aside.put_back(learning, piece, found, at)
        tally.aside.append((piece.name, found["why"]))
        return
    tally.stopped.add(piece.thread_key)
    mark = learning.thread_marks(piece.grp).get(piece.thread_key)
    is_aside = mark is not None and mark.upto >= piece.upto
    if not is_aside:
        tried = note_trouble(learning, piece.grp, _name(piece), found, at, part_of=WORK)
        is_aside = tried.count >= MOST_TRIES
    if is_aside:
        aside.set_aside(learning, piece, found, at)
        learning.books.clear_tries(piece.grp, _name(piece))
        tally.aside.append((piece.name, found["why"]))
    else:
        tally.trouble, tally.at = found, at


def _finish(means: Means, grp: str, planned: Json, tally: _Tally) -> Json:
    found = tally.trouble or planned.get("trouble")
    at = tally.at or planned["at"]
    result = {
        "found": tally.found,
        "held": tally.held,
        "threads": sorted(tally.threads),
        "dropped": tally.dropped[:_MOST_TOLD],
        "aside": tally.aside,
    }
    with means.learning(write=True) as learning, learning.transaction():
        if found:
            tried = note_trouble(learning, grp, WORK, found, at)
            result |= {"trouble": found, "not_before": waits_until(tried)}
        else:
            if planned["counted"]:
                learning.finish_extraction(grp, planned["counted"])
            learning.books.clear_tries(grp, WORK)
        learning.books.unwant(grp, WORK, planned["at"])
        if found or any(result.values()):
            report(learning, grp, WORK, planned["key"], planned["at"], result)
    return result


def _name(piece: Piece) -> str:
    """Of its failures: what is said behind it later changes it not."""
    return f"piece:{piece.thread_key}:{piece.after}"


def _ids(seed: str) -> Callable[[], str]:
    """The same ones in the same order, whenever it is done again."""
    numbers = count()

    def new_id() -> str:
        text = f"{seed} {next(numbers)}"
        return f"c{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    return new_id

"""Pieces that the model did not manage: set aside, and read again by another model, or when a
person asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from pannier.learning.extraction.pieces import Piece, new_rows, split
from pannier.learning.store import Learning
from pannier.learning.store.rows import ASIDE, ThreadMark, Try
from pannier.learning.work.means import Json, note_trouble
from pannier.threads.queries import Store
from pannier.threads.rows import MessageRow

_AGAIN = "again-"
"""Begins the id of a piece that is read again."""


def set_aside(learning: Learning, piece: Piece, found: Json, at: float) -> None:
    """Its thread goes on behind it. Raises PannierError."""
    with learning.transaction():
        before = learning.thread_marks(piece.grp).get(piece.thread_key)
        summary = (before.active, before.summary, before.summarized) if before else (0, "", 0.0)
        mark = ThreadMark(piece.thread_key, piece.name, piece.upto, *summary)
        if not learning.add_extraction(piece.grp, piece.id, mark, ()):
            return
        put_back(learning, piece, found, at)


def put_back(learning: Learning, piece: Piece, found: Json, at: float) -> None:
    """It is, or stays, set aside. Raises PannierError."""
    where = f"{piece.name}, behind m{piece.after} and up to m{piece.upto}"
    why = f"{where}, was set aside: {found['why']}"
    note_trouble(learning, piece.grp, name(piece), {**found, "why": why}, at)


def again(
    store: Store, learning: Learning, grp: str, budget: int, *, but: str | None
) -> list[Piece]:
    """What was set aside of a group, to be read once more; not what the model `but` (see
    `ModelSettings.who`) did not manage. Raises PannierError."""
    forgotten = learning.forgotten(grp)
    threads = {thread.key: thread for thread in store.threads(grp)}
    found: list[Piece] = []
    for tried in learning.books.tries(grp):
        if not tried.work.startswith(ASIDE) or tried.model == but:
            continue
        key, after, upto = tried.work.removeprefix(ASIDE).split(":")
        pieces: list[Piece] = []
        if key in threads:
            rows = _upto(new_rows(store, threads[key].id, int(after)), int(upto))
            pieces = [*split(rows, threads[key], int(after), budget, forgotten)]
        _rename(learning, tried, pieces)
        found += [replace(piece, id=f"{_AGAIN}{piece.id}") for piece in pieces]
    return found


def _rename(learning: Learning, tried: Try, pieces: Sequence[Piece]) -> None:
    """With another window it may be other pieces that are set aside, or none."""
    names = [name(piece) for piece in pieces]
    if names != [tried.work]:
        with learning.transaction():
            learning.books.clear_tries(tried.grp, tried.work)
            for work in names:
                learning.books.note_try(replace(tried, work=work))


def _upto(rows: Iterable[MessageRow], last: int) -> Iterator[MessageRow]:
    return takewhile(lambda row: row.id <= last, rows)


def is_again(piece: Piece) -> bool:
    """Whether its thread was read beyond it already."""
    return piece.id.startswith(_AGAIN)


def name(piece: Piece) -> str:
    """Among the failures."""
    return f"{ASIDE}{piece.thread_key}:{piece.after}:{piece.upto}"

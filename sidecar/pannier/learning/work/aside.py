"""Pieces that the model did not manage: set aside, and read again when a person asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from pannier.learning.extraction.pieces import Piece, new_rows, split
from pannier.learning.store import Learning
from pannier.learning.store.rows import ASIDE, ThreadMark
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


def again(store: Store, learning: Learning, grp: str, budget: int) -> Iterator[Piece]:
    """What was set aside of a group, to be read once more. Raises PannierError."""
    threads = {thread.key: thread for thread in store.threads(grp)}
    forgotten = learning.forgotten(grp)
    for tried in learning.books.tries(grp):
        if not tried.work.startswith(ASIDE):
            continue
        key, after, upto = tried.work.removeprefix(ASIDE).split(":")
        if key in threads:
            rows = _upto(new_rows(store, threads[key].id, int(after)), int(upto))
            for piece in split(rows, threads[key], int(after), budget, forgotten):
                yield replace(piece, id=f"{_AGAIN}{piece.id}")


def _upto(rows: Iterable[MessageRow], last: int) -> Iterator[MessageRow]:
    return takewhile(lambda row: row.id <= last, rows)


def is_again(piece: Piece) -> bool:
    """Whether its thread was read beyond it already."""
    return piece.id.startswith(_AGAIN)


def name(piece: Piece) -> str:
    """Among the failures."""
    return f"{ASIDE}{piece.thread_key}:{piece.after}:{piece.upto}"

"""What of a group's threads is read in which question to a learner."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pannier.learning.extraction.prompt import cost, most_of_one, room
from pannier.learning.extraction.reading import OUTPUT, Own, Shown, read
from pannier.learning.guards.forgotten import NOTHING, Forgotten
from pannier.learning.store import Learning
from pannier.threads.learnable import latest_results, new_messages, threads_with_new
from pannier.threads.queries import Store
from pannier.threads.rows import MessageRow, ThreadRow

MOST_PIECES = 50
"""In one plan; the next one has the rest."""
_PAGE = 500
"""Messages that are loaded at once."""
_RESULTS = 40
"""Of tools before a piece, with which it is compared."""


@dataclass(frozen=True)
class Piece:
    """Messages of one thread, behind `after` and up to `upto`, for one question."""

    id: str
    """The same for the same messages."""
    grp: str
    thread_key: str
    thread_id: int
    name: str
    after: int
    upto: int
    budget: int
    """Tokens of the question."""
    hidden: tuple[int, ...] = ()
    """Messages between that are not shown."""

    def as_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "hidden": list(self.hidden)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """From what `as_data` gave."""
        return cls(**{**data, "hidden": tuple(data["hidden"])})


def plan(store: Store, learning: Learning, grp: str, budget: int) -> tuple[Piece, ...]:
    """What is new in a group, so that the question for each piece fits `budget` tokens.

    Every message that may be learned from is in exactly one piece; those of a thread come in
    order. At most MOST_PIECES. Raises PannierError.
    """
    forgotten = learning.forgotten(grp)
    upto = {key: mark.upto for key, mark in learning.thread_marks(grp).items()}
    upto |= {key: max(last, upto.get(key, 0)) for key, last in forgotten.threads.items()}
    found: list[Piece] = []
    for thread in threads_with_new(store, grp, upto):
        after = upto.get(thread.key, 0)
        rows = new_rows(store, thread.id, after)
        for piece in split(rows, thread, after, budget, forgotten):
            found.append(piece)
            if len(found) == MOST_PIECES:
                return tuple(found)
    return tuple(found)


def rows_of(store: Store, piece: Piece) -> tuple[MessageRow, ...]:
    """The piece's messages as they stand now. Raises PannierError."""
    found = []
    for row in new_rows(store, piece.thread_id, piece.after):
        if row.id > piece.upto:
            break
        found.append(row)
    return tuple(found)


def results_before(store: Store, piece: Piece) -> tuple[MessageRow, ...]:
    """What tools put out last in the thread, before the piece. Raises PannierError."""
    return latest_results(store, piece.thread_id, piece.after, _RESULTS, OUTPUT)


def new_rows(store: Store, thread: int, after: int) -> Iterator[MessageRow]:
    """What is new in a thread, some at a time. Raises PannierError."""
    while page := new_messages(store, thread, after, _PAGE):
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].id


@dataclass
class _Run:
    """The piece that is being filled: what it shows, with the tokens of each, and what not."""

    shown: list[tuple[Shown, int]] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)

    def tokens(self, begin: int = 0, end: int | None = None) -> int:
        return sum(tokens for _, tokens in self.shown[begin:end])

    def seam(self) -> int:
        """Where it is best cut: before the last turn that begins in its second half; else at its
        end."""
        for at in range(len(self.shown) - 1, 0, -1):
            here, before = self.shown[at][0], self.shown[at - 1][0]
            if 2 * self.tokens(end=at) < self.tokens():
                break
            if here.turn != before.turn and here.source in ("person", "message"):
                return at
        return len(self.shown)

    def cut(self, at: int) -> tuple[_Run, _Run]:
        upto = self.shown[at - 1][0].message
        one = _Run(self.shown[:at], [id for id in self.hidden if id <= upto])
        return one, _Run(self.shown[at:], [id for id in self.hidden if id > upto])


def split(
    rows: Iterable[MessageRow],
    thread: ThreadRow,
    after: int,
    budget: int,
    forgotten: Forgotten = NOTHING,
) -> Iterator[Piece]:
    """Rows of a thread, those behind `after`, in pieces; none without something to show. Pure."""
    fit, most = room(budget, thread.name), most_of_one(budget, thread.name)
    own, run, last = Own(), _Run(), after
    for row in rows:
        last = row.id
        if own.has(row) or forgotten.hides(thread.key, row.id, row.at):
            run.hidden.append(row.id)
        for shown in read((row,), run.hidden):
            tokens = cost(shown, most)
            while run.shown and run.tokens() + tokens > fit:
                done, run = run.cut(run.seam())
                yield _piece(thread, after, done.shown[-1][0].message, budget, done)
                after = done.shown[-1][0].message
            run.shown.append((shown, tokens))
    if run.shown:
        yield _piece(thread, after, last, budget, run)


def _piece(thread: ThreadRow, after: int, upto: int, budget: int, run: _Run) -> Piece:
    where = f"{thread.grp}\0{thread.key}\0{after}\0{upto}"
    id = hashlib.sha256(where.encode("utf-8", "replace")).hexdigest()[:16]
    return Piece(
        *(id, thread.grp, thread.key, thread.id, thread.name),
        *(after, upto, budget, tuple(run.hidden)),
    )

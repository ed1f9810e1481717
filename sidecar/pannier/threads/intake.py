"""Taking in what hooks handed over: every group's spool, by turns, into the database.

An event is stored in a transaction, and its files are removed when that is done: whatever ends this
process in between, the event is there afterwards, and a second time it adds nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from pannier.errors import UnsafePath, described
from pannier.paths import GroupPaths, Home
from pannier.threads.backlog import Backlog, TakenIn, TellQueue
from pannier.threads.locking import Busy, writing
from pannier.threads.spool import Spool
from pannier.threads.store import WritableStore

__all__ = ["SECONDS", "TakenIn", "TellQueue", "sweep", "take_in"]

SECONDS = 2.0
"""How long one call goes on when there is always more."""


def nobody(_group: str, _ids: Sequence[str]) -> None:
    """Where no queue is asked."""


def take_in(
    home: Home,
    environ: Mapping[str, str],
    *,
    seconds: float = SECONDS,
    patience: float = 0.0,
    told: TellQueue = nobody,
) -> TakenIn:
    """Take in what waits in the spools, for about so many seconds.

    Another process that writes is waited for `patience` seconds; then it is left to that one.
    Raises PannierError when the database cannot be written; nothing is lost by that.
    """
    taken = TakenIn()
    backlogs = [found for group in home.all_groups() if (found := _look(group, taken))]
    if not backlogs:
        return taken
    # Whose turn does not come this time has as good a chance next time.
    random.shuffle(backlogs)
    with ExitStack() as stack:
        try:
            store = stack.enter_context(writing(home, environ, seconds=patience))
        except Busy:
            taken.more = True
            return taken
        store.forget_taken()
        until = time.monotonic() + seconds
        while backlogs and time.monotonic() < until:
            for backlog in backlogs:
                _turn(backlog, store, told)
                if time.monotonic() >= until:
                    break
            backlogs = [backlog for backlog in backlogs if not backlog.is_done]
    taken.more |= bool(backlogs)
    return taken


def sweep(home: Home) -> None:
    """Remove what hooks that were killed left in the spools, long ago."""
    for group in home.all_groups():
        try:
            with Spool(group) as spool:
                spool.sweep()
        except (OSError, UnsafePath):
            continue  # An agent made it so; `_look` says what stands in the way.


def _look(group: GroupPaths, taken: TakenIn) -> Backlog | None:
    try:
        with Spool(group) as spool:
            names, more = spool.names()
    except (OSError, UnsafePath) as error:
        taken.problems[group.folder] = described(error)
        return None
    taken.more |= more
    return Backlog(group, names, taken) if names else None


def _turn(backlog: Backlog, store: WritableStore, told: TellQueue) -> None:
    try:
        with Spool(backlog.group) as spool:
            backlog.go_on(spool, store, told)
    except (OSError, UnsafePath) as error:
        backlog.give_up(described(error))

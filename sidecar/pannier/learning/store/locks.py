"""Who learns: one process at a time for a group, and so many workers in a home.

The locks lie in `state/` and are the kernel's: they end with the process, however that ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from pannier.errors import PannierError
from pannier.paths import Home
from pannier.safefs.lock import alone, is_taken

MOST_WORKERS = 16
"""Of a home, where they share a database; else there is one."""


PATIENCE = 30.0
"""Seconds for which a person's command waits."""


class Busy(PannierError):
    """Another process learns just now."""


def at_work(home: Home, grp: str, *, seconds: float) -> AbstractContextManager[bool]:
    """Whether nobody else changes what the group learned, after so many seconds at most.

    Whoever writes its lessons, its candidates or its `agent-memory/` holds this.
    """
    return alone(home.state, f"learning-{grp}", seconds=seconds)


def is_at_work(home: Home, grp: str) -> bool:
    """Whether somebody holds that just now. Makes and waits for nothing."""
    return is_taken(home.state, f"learning-{grp}")


@contextmanager
def only_one(home: Home, grp: str) -> Iterator[None]:
    """The same for a person's command. Raises Busy when a worker is at it for half a minute."""
    with at_work(home, grp, seconds=PATIENCE) as taken:
        if not taken:
            raise Busy(f"lessons of {grp} are being drawn just now", "Try again in a minute.")
        yield


@contextmanager
def seat(home: Home, most: int) -> Iterator[str]:
    """The place of a worker, by its name, while it is taken. Raises Busy if all are.

    A place outlives who sat there: the next one goes on with what the last one began.
    """
    for name in _seats(most):
        with alone(home.state, name, seconds=0) as taken:
            if taken:
                yield name
                return
    raise Busy(
        "lessons are being drawn just now, by another process", "See: pannier learned status"
    )


@contextmanager
def left(home: Home, most: int) -> Iterator[tuple[str, ...]]:
    """The other places at which somebody sat once, and nobody does now; meanwhile nobody sits
    down there."""
    with ExitStack() as locks:
        yield tuple(
            name
            for name in _seats(most)
            if _is_used(home, name) and locks.enter_context(alone(home.state, name, seconds=0))
        )


def _seats(most: int) -> list[str]:
    return [f"learning-worker{number or ''}" for number in range(most)]


def _is_used(home: Home, name: str) -> bool:
    return (home.state / f"{name}.lock").exists()

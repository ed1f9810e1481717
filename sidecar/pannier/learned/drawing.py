"""Drawing lessons in this process: what the daemon's worker does, and a person's command."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from pannier import groups
from pannier.learned.equipping import AskClient, equipped
from pannier.learning.store.steps import database_url, not_installed
from pannier.learning.work.telling import Told
from pannier.paths import Home
from pannier.signals import ended_by_signals

LINGER = 2.0
"""Seconds for which a worker waits for more: to start one takes as long."""


class RealClock:
    """The machine's time, until somebody ends it."""

    def __init__(self) -> None:
        self._end = threading.Event()

    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        self._end.wait(seconds)

    @property
    def ending(self) -> bool:
        return self._end.is_set()

    def end(self) -> None:
        """May be called by a signal's handler."""
        self._end.set()


@dataclass(frozen=True)
class Drawn:
    """How it came to its end."""

    ended: bool = True
    """False: a model is still waited for, and the process is to end at once."""
    interrupted: bool = False
    """By a signal."""


def draw(
    home: Home,
    environ: dict[str, str],
    tell: Callable[[Told], None],
    *,
    linger: float = 0.0,
    only: str | None = None,
    now: Callable[[], float] = time.time,
    client: AskClient | None = None,
) -> Drawn:
    """Draw lessons until nothing is due, or a signal ends it. `only`: of this group.

    Raises PannierError; `locks.Busy` when another process does it.
    """
    try:
        from pannier.learning.work.worker import work  # noqa: PLC0415 (DBOS takes half a second)
    except ImportError as error:
        raise not_installed() from error
    url = database_url(groups.home_settings(home).learning, environ)
    clock = RealClock()
    with ended_by_signals(clock.end):
        made = equipped(home, environ, now=now, client=client)
        ended = work(made, clock, tell, url=url, linger=linger, only=only)
        return Drawn(ended, interrupted=clock.ending)

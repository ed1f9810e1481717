"""Drawing lessons in this process: what the daemon's worker does, and a person's command."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pannier import groups
from pannier.learned.equipping import AskClient, equipped
from pannier.learning.store.steps import database_url, not_installed
from pannier.learning.work.telling import Told
from pannier.paths import Home

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


def draw(
    home: Home,
    environ: dict[str, str],
    tell: Callable[[Told], None],
    *,
    linger: float = 0.0,
    now: Callable[[], float] = time.time,
    client: AskClient | None = None,
) -> bool:
    """Draw lessons until nothing is due, or a signal ends it.

    Whether all has ended: else a model is still waited for, and the process is to end at once.
    Raises PannierError; `locks.Busy` when another process does it.
    """
    try:
        from pannier.learning.work.worker import work  # noqa: PLC0415 (DBOS takes half a second)
    except ImportError as error:
        raise not_installed() from error
    url = database_url(groups.home_settings(home).learning, environ)
    clock = RealClock()
    with _ended_by_signals(clock):
        made = equipped(home, environ, now=now, client=client)
        return work(made, clock, tell, url=url, linger=linger)


@contextmanager
def _ended_by_signals(clock: RealClock) -> Iterator[None]:
    """The first signal asks it to end; the next ends it. In another thread than the main one,
    nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def end(_number: int, _frame: FrameType | None) -> None:
        clock.end()
        restore()

    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        restore()

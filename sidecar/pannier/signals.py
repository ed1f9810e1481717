"""Ending in good order when a signal asks for it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """The first signal calls `end`; the next ends the process. In another thread than the main
    one, nothing is changed: Python allows it only there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ended(_number: int, _frame: FrameType | None) -> None:
        end()
        restore()

    for number in _ENDING:
        signal.signal(number, ended)
    try:
        yield
    finally:
        restore()

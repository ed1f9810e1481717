"""Hints that something was handed over. The scan of every round is the truth: hints get lost."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from watchfiles import Change, watch

from pannier.paths import Home
from pannier.threads.spool import NEW

_STEP = 100
"""Milliseconds between two looks at what the kernel says."""
_DEBOUNCE = 400
"""Milliseconds for which changes are gathered at most."""
_REST = 0.2
"""Seconds between two hints, so that a flood cannot keep the daemon busy."""


class Hints:
    """Calls `nudge`, from another thread, when a file appears in a spool."""

    def __init__(self, home: Home, nudge: Callable[[], None]) -> None:
        self.home = home
        self.nudge = nudge
        self._watched: tuple[Path, ...] = ()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def refresh(self) -> None:
        """Watch the spools that there are now. A folder that is made anew is found so, too."""
        alive = self._thread is not None and self._thread.is_alive()
        folders = tuple(_folders(self.home))
        if folders == self._watched and (alive or not folders):
            return
        self.close()
        self._watched = folders
        if folders:
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=_watch, args=(folders, self._stop, self.nudge), name="hints", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Watch nothing."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None
        self._watched = ()


def _folders(home: Home) -> Iterable[Path]:
    for group in home.all_groups():
        folders = (group.spool, group.spool / NEW)
        try:
            if all(stat.S_ISDIR(folder.lstat().st_mode) for folder in folders):
                yield folders[-1]
        except OSError:
            continue


def _watch(folders: tuple[Path, ...], stop: threading.Event, nudge: Callable[[], None]) -> None:
    try:
        for _ in watch(
            *folders,
            watch_filter=lambda change, _path: change is Change.added,
            debounce=_DEBOUNCE,
            step=_STEP,
            stop_event=stop,
            raise_interrupt=False,
            recursive=False,
            ignore_permission_denied=True,
        ):
            nudge()
            if stop.wait(_REST):
                return
    except Exception:  # No more watches, a folder that went away: it is only a hint.
        return

"""Learning now, because a person says so: here, or by a worker that is at it already."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pannier.errors import PannierError, UsageError
from pannier.learned.drawing import Drawn, draw
from pannier.learned.overview import settings_of
from pannier.learning.models.choosing import chosen
from pannier.learning.store import learning_file, open_learning
from pannier.learning.store.locks import Busy
from pannier.learning.work.schedule import WORKS
from pannier.learning.work.telling import Told
from pannier.paths import Home
from pannier.settings import CLIENT
from pannier.threads.intake import take_in

_LOOK = 0.5
"""Seconds between two looks at what another process does."""
_LONGEST = 900.0
"""Seconds for which it is waited for."""


@dataclass(frozen=True)
class Ran:
    """What came of it."""

    told: tuple[Told, ...]
    """Of this group."""
    how: Drawn

    @property
    def failed(self) -> bool:
        """Also where a part was set aside."""
        return any(
            one.failed or "trouble" in one.result or one.result.get("aside") for one in self.told
        )


def run(
    home: Home,
    environ: Mapping[str, str],
    folder: str,
    tell: Callable[[Told], None],
    waits: Callable[[], None],
) -> Ran:
    """Draw what can be drawn from the group's threads, and merge it, whenever it would be due.

    No other group's work is begun. `tell`: as it happens, also of what an ended worker had begun
    for another group; `waits`: another process is at it. Raises UsageError where learning is
    off, PannierError where nothing can be done.
    """
    check(home, environ, folder)
    take_in(home, environ)
    told: list[Told] = []

    def heard(one: Told) -> None:
        if one.grp == folder:
            told.append(one)
        tell(one)

    now = time.time()
    with open_learning(learning_file(home, environ), write=True) as learning:
        for work in WORKS:
            learning.books.want(folder, work, now)
    try:
        how = draw(home, dict(environ), heard, only=folder)
    except Busy:
        waits()
        how = _wait(home, environ, folder, now, heard)
    return Ran(tuple(told), how)


def check(home: Home, environ: Mapping[str, str], folder: str) -> None:
    """Raises UsageError where nothing would be learned, AskError for a missing key or package."""
    settings = settings_of(home, folder)
    file = home.group(folder).settings
    if not settings.enabled:
        raise UsageError(f"{file}: learning.enabled is false", "So nothing is learned there.")
    if settings.model is None:
        raise UsageError(
            f"no model is set, so {folder} learns nothing; what could be learned waits",
            f"Set learning.model in {home.settings} or in {file}.",
        )
    if settings.model != CLIENT:
        chosen(settings, environ)


def _wait(
    home: Home,
    environ: Mapping[str, str],
    folder: str,
    since: float,
    heard: Callable[[Told], None],
) -> Drawn:
    """Until the worker that is at it did what was asked for, or ended; gives what `draw` does."""
    until = time.monotonic() + _LONGEST
    seen = 0
    while time.monotonic() < until:
        with open_learning(learning_file(home, environ)) as learning:
            wanted = {work for grp, work in learning.books.wanted() if grp == folder}
            reports = learning.books.reports(folder)
        for report in reversed(reports):
            if report.id > seen and report.at >= since:
                heard(Told(folder, report.work, json.loads(report.body)))
                seen = report.id
        if not wanted:
            return Drawn()
        with suppress(Busy):
            return draw(home, dict(environ), heard, only=folder)
        time.sleep(_LOOK)
    raise PannierError(
        f"lessons of {folder} are still being drawn by another process",
        f"It goes on. See: pannier learned status {folder}",
    )

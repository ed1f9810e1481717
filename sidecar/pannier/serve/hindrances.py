"""What hinders a work of the rounds: said once, and once more when it is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pannier.serve.log import Event, Level

HOME = ""
"""Stands among the groups for what concerns all of them."""


class Hindrances:
    """Of one work. `stuck` and `over` name the events, `again` says that it is over."""

    def __init__(self, stuck: str, over: str, again: str, *, home: Level = "warning") -> None:
        self._stuck = stuck
        self._over = over
        self._again = again
        self._home = home
        self._known: Mapping[str, str] = {}

    def changes(self, now: Mapping[str, str]) -> Iterator[Event]:
        """What is new in what hinders it now, by group."""
        before, self._known = self._known, dict(now)
        for folder, problem in now.items():
            if before.get(folder) != problem:
                level = "warning" if folder else self._home
                yield Event(level, folder, self._stuck, problem)
        for folder in before:
            if folder not in now:
                yield Event("info", folder, self._over, self._again)

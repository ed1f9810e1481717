"""The daemon's care for what was said: spools are taken in, and readable transcripts kept up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pannier.errors import PannierError
from pannier.paths import Home
from pannier.serve.hindrances import HOME, Hindrances
from pannier.serve.log import Event
from pannier.serve.words import in_one_line
from pannier.threads import conversations
from pannier.threads.intake import TakenIn, sweep, take_in
from pannier.threads.locking import Busy
from pannier.threads.queue import tell_queue

_SWEEP = 3600.0
"""Seconds between two looks for what killed hooks left."""
_PATIENCE = 1.0
"""Seconds that a command's writing is waited for; then it is the next time's."""


class ThreadsWork:
    """Takes in what agents handed over. What hinders it is said once, and when it is over."""

    def __init__(self, home: Home, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        self.home = home
        self.environ = environ
        self.now = now
        self._told = tell_queue(home, environ)
        self.more = False
        """Whether something is left that could be taken in at once."""
        self._hindrances = Hindrances(
            "threads.stuck", "threads.go_on", "what agents say is stored again", home="error"
        )
        self._swept: float | None = None
        self._behind: set[str] | None = None
        """Groups whose readable transcripts are older than what is stored; None: any may be."""
        self._pages: dict[str, str] = {}
        """What stands in the way of these."""

    def round(self) -> Iterator[Event]:
        """Never raises for what a person, a disk or a container can do."""
        problems: dict[str, str] = {}
        self.more = False
        try:
            taken = take_in(self.home, self.environ, patience=_PATIENCE, told=self._told)
            problems |= taken.problems
            yield from _events(taken)
            self.more = taken.more
            if self._behind is not None:
                self._behind |= taken.groups
            self._keep_up()
            problems |= self._pages
        except (PannierError, OSError) as error:
            problems[HOME] = in_one_line(error)
        self._sweep()
        yield from self._hindrances.changes(problems)

    def _keep_up(self) -> None:
        if self._behind == set():
            return
        try:
            kept = conversations.keep_up(self.home, self.environ, self._behind)
        except Busy:
            return
        tried = self._pages if self._behind is None else self._behind
        self._pages = {f: p for f, p in self._pages.items() if f not in tried}
        self._pages |= kept.problems
        self._behind = set(kept.behind)

    def _sweep(self) -> None:
        now = self.now()
        if self._swept is None or now - self._swept > _SWEEP:
            self._swept = now
            sweep(self.home)


def _events(taken: TakenIn) -> Iterator[Event]:
    for folder, count in taken.rejected.items():
        files = "a file" if count == 1 else f"{count:,} files"
        message = f"{files} of its spool cannot be read: see spool/rejected, and pannier doctor"
        yield Event("warning", folder, "spool.rejected", message)

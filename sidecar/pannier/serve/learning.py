"""The daemon's care for what agents learn: it looks what is due, and starts a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pannier.errors import PannierError
from pannier.learning.store import learning_file, open_learning
from pannier.learning.store.rows import ASIDE
from pannier.learning.work.edits import Edits
from pannier.learning.work.schedule import OF_SETTINGS, Due, Standing, compaction_is_over, due
from pannier.learning.work.standing import pass_over, standings
from pannier.learning.work.telling import told
from pannier.paths import Home
from pannier.serve.child import Child
from pannier.serve.facts import GroupFacts
from pannier.serve.hindrances import HOME, Hindrances
from pannier.serve.log import Event
from pannier.serve.words import in_one_line
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file

WORKER = ("learned", "worker")
FIRST_PAUSE = 60.0
"""Seconds after a worker that failed; each further one in a row makes it twice as long."""
LONGEST_PAUSE = 3_600.0
_BREATH = 5.0
"""Seconds between two workers at least."""
_EVERY = 3_600.0
"""Seconds after which it is looked for what is due, whatever did not change."""
_GRACE = 15.0


class LearningWork:
    """Begins a worker when something is due, and tells what it learned. `now`: a clock that never
    goes back; `time`: seconds since 1970."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        now: Callable[[], float],
        time: Callable[[], float],
    ) -> None:
        self.home = home
        self.environ = environ
        self.now = now
        self.time = time
        self._child: Child | None = None
        self._failures = 0
        self._broken = ""
        """Why the last worker failed, if it did."""
        self._rests = 0.0
        """Until when no worker is begun."""
        self._seen = ""
        """How settings and databases were when it was looked last."""
        self._again = 0.0
        """When something becomes due by time alone, in seconds since 1970."""
        self._stamps: dict[str, str] = {}
        self._edits = Edits(home)
        self._hindrances = Hindrances(
            "learning.stuck", "learning.goes_on", "lessons are drawn again"
        )

    def round(self, groups: Sequence[GroupFacts]) -> Iterator[Event]:
        """Never raises for what a person, a disk or a model can do."""
        yield from self._follow()
        if self._child is not None or self.now() < self._rests or not self._is_worth_it(groups):
            return
        problems = {HOME: self._broken} if self._broken else {}
        try:
            yield from self._look(groups)
        except (PannierError, OSError) as error:
            self._seen = ""
            self._rests = self.now() + FIRST_PAUSE
            problems[HOME] = in_one_line(error)
        yield from self._hindrances.changes(problems)

    def close(self) -> None:
        """End the worker. What it was at goes on with the next one."""
        if self._child is not None:
            self._child.stop(_GRACE)
            self._child.close()
            self._child = None

    def _is_worth_it(self, groups: Sequence[GroupFacts]) -> bool:
        """Whether anything changed, or became due, since it was looked last."""
        memories = self._edits.stamps(group.folder for group in groups)
        stamps = "".join(group.stamp for group in groups)
        seen = f"{hash(stamps)} {hash(str(memories))} {_state(self.home, self.environ)}"
        if seen == self._seen and self.time() < self._again:
            return False
        self._seen = seen
        return True

    def _look(self, groups: Sequence[GroupFacts]) -> Iterator[Event]:
        settings = {g.folder: g.learning for g in groups if g.learning is not None}
        now = self.time()
        self._again = now + _EVERY
        self._forgive(groups)
        found = self._standings(settings, now)
        works = {grp: due(standing, now) for grp, standing in found.items()}
        times = [one.at for one in works.values() if one.at is not None and one.at > now]
        self._again = min([self._again, *times])
        begun = {grp: work for grp, work in works.items() if work.work}
        if begun:
            self._child = Child(self.home, self.environ, *WORKER)
            for grp, work in begun.items():
                yield Event("info", grp, "learning.started", _begins(work, found[grp]))

    def _standings(
        self, settings: Mapping[str, LearningSettings], now: float
    ) -> dict[str, Standing]:
        file = learning_file(self.home, self.environ)
        with open_store(threads_file(self.home, self.environ)) as store:
            with open_learning(file) as learning:
                found = standings(store, learning, settings, self._edits)
            if any(compaction_is_over(standing) for standing in found.values()):
                with open_learning(file, write=True) as learning:
                    pass_over(learning, found, now)
        return found

    def _forgive(self, groups: Sequence[GroupFacts]) -> None:
        """What failed before somebody edited the settings, or for an environment before this one,
        is tried again. (What was set aside is by itself, with another model.)"""
        stamps = {group.folder: group.stamp for group in groups}
        edited = {grp for grp, stamp in stamps.items() if self._stamps.get(grp) != stamp}
        new = stamps.keys() - self._stamps.keys()
        file = learning_file(self.home, self.environ)
        if edited and file.exists():
            with open_learning(file) as learning:
                tries = learning.books.tries()
            over = [
                tried
                for tried in tries
                if tried.grp in edited
                and not tried.work.startswith(ASIDE)
                and (tried.grp not in new or tried.kind in (*OF_SETTINGS, "login", "stopped"))
            ]
            if over:
                with open_learning(file, write=True) as learning:
                    for tried in over:
                        learning.books.clear_tries(tried.grp, tried.work)
        self._stamps = stamps

    def _follow(self) -> Iterator[Event]:
        """What the worker says, and how it ends."""
        child = self._child
        if child is None:
            return
        status = child.status
        for line in child.lines():
            one = told(line)
            if one is not None:
                event = "learning.failed" if one.trouble else "learning.done"
                yield Event(one.level, one.grp, event, str(one))
        if status is None:
            return
        self._child = None
        self._seen = self._broken = ""
        if status == 0:
            self._failures, self._rests = 0, self.now() + _BREATH
        else:
            self._failures += 1
            pause = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 16), LONGEST_PAUSE)
            self._rests = self.now() + pause
            self._broken = child.reason()
        child.close()
        yield from self._hindrances.changes({HOME: self._broken} if self._broken else {})


def _begins(work: Due, standing: Standing) -> str:
    if work.work == "extract":
        return "draws lessons from what was said"
    if standing.edited:
        return "takes up what a person edited in its memory"
    if standing.staged:
        return "goes on with writing its memory"
    return f"merges what was found into its memory ({standing.waiting} candidates)"


def _state(home: Home, environ: Mapping[str, str]) -> str:
    """Another text whenever one of the databases was written."""
    parts = []
    for file in (threads_file(home, environ), learning_file(home, environ)):
        for path in (file, file.with_name(f"{file.name}-wal")):
            try:
                status = path.stat()
            except OSError:
                continue
            parts.append(f"{path.name}.{status.st_mtime_ns}.{status.st_size}")
    return " ".join(parts)

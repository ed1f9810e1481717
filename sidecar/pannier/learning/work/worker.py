"""A worker: does what is due, as long as something is, and ends."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from pannier.errors import PannierError
from pannier.learning.forgetting.removal import Place, sweep
from pannier.learning.store.locks import MOST_WORKERS, at_work, left, seat
from pannier.learning.work import durable
from pannier.learning.work.consolidating import consolidate
from pannier.learning.work.durable import Ended, Works
from pannier.learning.work.edits import Edits
from pannier.learning.work.extracting import extract
from pannier.learning.work.means import Json, Means, Step, note_trouble
from pannier.learning.work.schedule import Due, compaction_is_over, due, wish_is_over
from pannier.learning.work.standing import pass_over, standings
from pannier.learning.work.telling import Told

_LOOK = 0.25
"""Seconds between two looks while something runs."""
_STUCK = 60.0
"""Seconds after which what is said to be in progress here, and is not, ends the worker."""
_GRACE = 6.0
"""Seconds for what runs when the worker is asked to end: an answer that is paid is worth them."""
_AGAIN = 2.0
"""Seconds until what a person's command stood in the way of is tried again."""


class Clock(Protocol):
    """Time, so that tests can move it."""

    def now(self) -> float:
        """Seconds of a clock that never goes back."""

    def wait(self, seconds: float) -> None:
        """Let time pass; returns at once when the worker is asked to end."""

    @property
    def ending(self) -> bool:
        """Whether the worker was asked to end."""


Tell = Callable[[Told], None]


def work(
    means: Means,
    clock: Clock,
    tell: Tell,
    *,
    url: str | None = None,
    linger: float = 0.0,
    only: str | None = None,
) -> bool:
    """Draw lessons until nothing is due. `linger`: for so many seconds something may still become
    so. `url`: of the PostgreSQL database that several workers share. `only`: begin nothing for
    another group than this; what was begun there goes on.

    Whether all that ran has ended: if the worker was asked to end, a model may still be asked.
    Raises PannierError: Busy when as many workers as there may be are at it, or because of a
    database.
    """
    most = 1 if url is None else MOST_WORKERS
    with (
        seat(means.home, most) as name,
        durable.launched(means.home, url, _does(means), name) as works,
    ):
        worker = _Worker(means, clock, tell, works, url, only)
        with left(means.home, most) as others:
            worker.take(works.inherit(others))
        worker.run(linger)
        ended = works.end(_GRACE)
        worker.take(works.collect())
        return ended


def _does(means: Means) -> durable.Do:
    works = {"extract": extract, "consolidate": consolidate}

    def do(grp: str, work: str, step: Step) -> Json:
        return works[work](means, grp, step)

    return do


@dataclass
class _Worker:
    means: Means
    clock: Clock
    tell: Tell
    works: Works
    url: str | None
    only: str | None = None
    later: dict[tuple[str, str], float] = field(default_factory=dict)
    """What stopped here, and when it is tried again, by the clock that never goes back."""
    since: float = 0.0
    """How long nothing moved."""
    edits: Edits = field(init=False)

    def __post_init__(self) -> None:
        self.edits = Edits(self.means.home)

    def run(self, linger: float) -> None:
        quiet: float | None = None
        self.since = self.clock.now()
        while not self.clock.ending:
            self.take(self.works.collect())
            active = self.works.active()
            if self._begin(active) or active:
                quiet = None
                self._see_that_it_moves(active)
                self.works.wait(_LOOK)
                continue
            quiet = self.clock.now() if quiet is None else quiet
            if self.clock.now() - quiet >= linger and not self.later:
                return
            self.clock.wait(_LOOK)

    def take(self, ended: Iterable[Ended]) -> None:
        """What came to an end."""
        for one in ended:
            self.since = self.clock.now()
            if one.busy:
                self.later[one.grp, one.work] = self.clock.now() + _AGAIN
                continue
            if one.failed:
                self._note(one)
            if one.failed or one.result:
                self.tell(Told(one.grp, one.work, one.result, one.failed))
            self._sweep(one.grp)

    def _sweep(self, grp: str) -> None:
        """What a thread left behind that was deleted meanwhile goes now."""
        place = Place(self.means.home, self.means.environ, grp, self.url)
        with (
            suppress(PannierError),
            at_work(self.means.home, grp, seconds=0) as taken,
            self.means.threads() as store,
        ):
            if taken:
                sweep(place, store, self.means.time())

    def _note(self, ended: Ended) -> None:
        """It is tried again later, with what was recorded."""
        at = self.means.time()
        found: Json = {"kind": "stopped", "why": ended.failed}
        with self.means.learning(write=True) as learning:
            note_trouble(learning, ended.grp, ended.work, found, at)
            learning.books.unwant(ended.grp, ended.work, at)

    def _begin(self, active: Container[str]) -> bool:
        """Whether something was begun."""
        begun = False
        for grp, found in self._due().items():
            if found.work is None or grp in active:
                continue
            if self.clock.now() < self.later.get((grp, found.work), 0.0):
                continue
            self.later.pop((grp, found.work), None)
            self.works.begin(grp, found.work)
            begun = True
        self.later = {key: at for key, at in self.later.items() if at > self.clock.now()}
        return begun

    def _due(self) -> dict[str, Due]:
        now = self.means.time()
        groups = self.means.groups()
        if self.only is not None:
            groups = {grp: one for grp, one in groups.items() if grp == self.only}
        with self.means.threads() as store, self.means.learning() as learning:
            found = standings(store, learning, groups, self.edits)
        if any(compaction_is_over(one) or wish_is_over(one, now) for one in found.values()):
            with self.means.learning(write=True) as learning:
                pass_over(learning, found, now)
        return {grp: due(standing, now) for grp, standing in found.items()}

    def _see_that_it_moves(self, active: Mapping[str, bool]) -> None:
        """Raises PannierError when DBOS gave up what it says is in progress."""
        if not active or any(active.values()):
            self.since = self.clock.now()
        elif self.clock.now() - self.since > _STUCK:
            raise PannierError(
                "what is in progress cannot be recorded",
                "Look whether the disk is full, and at the rights of state/.",
            )

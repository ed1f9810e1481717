"""The daemon's idle compaction: a thread in which nothing was said for long is compacted once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from pannier import clients
from pannier.engine import Engine
from pannier.errors import EngineNotFound, PannierError
from pannier.paths import Home
from pannier.serve.child import Child
from pannier.serve.facts import GroupFacts
from pannier.serve.hindrances import HOME, Hindrances
from pannier.serve.idle import Rule, begun, due, still
from pannier.serve.log import Event
from pannier.serve.words import in_one_line
from pannier.shown import brief
from pannier.starting import Starter
from pannier.threads.pauses import Pause, is_worth_it, pauses
from pannier.threads.queue import open_queue, queue_file
from pannier.threads.store import Store, open_store, threads_file
from pannier.tries import Tried, read_tries, write_tries

EVERY = 60.0
"""Seconds between two looks for idle threads."""
MOST_AT_ONCE = 2
"""Clients that compact at a time; of a group, one."""
_MOST_ASKED = 4
"""Threads of which the engine is asked in one look whether somebody is at work on them."""
_AT_WORK = 600.0
"""Seconds after which a thread is looked at again on which somebody was."""
_LONGEST = 3_600.0
"""Seconds after which one that still runs is ended: an image may have had to be built first."""
_GRACE = 10.0


@dataclass(frozen=True)
class _Running:
    """A thread that is being compacted."""

    pause: Pause
    tried: Tried
    child: Child
    until: float


class CompactionWork:
    """Begins what is due and sees how it ends. `now`: a clock that never goes back; `time`:
    seconds since 1970."""

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
        self._due = 0.0
        self._tries: dict[str, Tried] | None = None
        """As in the file, or newer; None: not read yet."""
        self._written: dict[str, Tried] = {}
        self._running: dict[str, _Running] = {}
        self._later: dict[str, float] = {}
        """Threads on which somebody was at work, and when to look again."""
        self._short: dict[str, tuple[int, int]] = {}
        """Threads in which too little was said: after which message, and how many were wanted."""
        self._hindrances = Hindrances(
            "compaction.stuck", "compaction.goes_on", "idle threads are looked after again"
        )

    def round(self, groups: Sequence[GroupFacts], engine: Engine | None) -> Iterator[Event]:
        """Never raises for what a person, a disk or a container can do."""
        yield from self._finish()
        if engine is None or self.now() < self._due:
            return
        self._due = self.now() + EVERY
        problems: dict[str, str] = {}
        try:
            rules = {g.folder: g.idle for g in groups if g.idle is not None}
            broken = {g.folder for g in groups if g.error}
            yield from self._look(rules, broken, engine)
        except EngineNotFound:
            return  # The rounds themselves say what is wrong with it.
        except (PannierError, OSError) as error:
            problems[HOME] = in_one_line(error)
        yield from self._hindrances.changes(problems)

    def close(self) -> None:
        """End what runs. It counts as tried."""
        for one in self._running.values():
            one.child.end()
        for one in self._running.values():
            one.child.stop(_GRACE)
            one.child.close()
        self._running = {}

    def _look(
        self, rules: Mapping[str, Rule], broken: Collection[str], engine: Engine
    ) -> Iterator[Event]:
        if self._tries is None:
            self._tries = self._written = read_tries(self.home)
        tries = self._tries
        if not rules and not tries:
            return
        with open_store(threads_file(self.home, self.environ)) as store:
            found = [pause for folder in rules for pause in pauses(store, folder)]
            tries = still(tries, found, broken)
            self._remember(_mended(store, tries, found, rules))
            self._later = {p.key: self._later[p.key] for p in found if p.key in self._later}
            self._short = {p.key: self._short[p.key] for p in found if p.key in self._short}
            wanted = self._wanted(found, rules)
            worth = (p for p in wanted if self._is_worth_it(store, p, rules[p.group].least))
            for pause in islice(worth, _MOST_ASKED):
                if len(self._running) < MOST_AT_ONCE:
                    yield from self._try(pause, engine)

    def _wanted(self, found: Sequence[Pause], rules: Mapping[str, Rule]) -> Iterator[Pause]:
        """The threads of which it is worth asking more. While they are gone through, others may
        have been begun."""
        able = {name for name, client in clients.CLIENTS.items() if client.compact is not None}
        told = self._told()
        for pause in due(found, rules, self._tries or {}, able, self.time()):
            if (
                pause.group not in {one.pause.group for one in self._running.values()}
                and (pause.group, pause.thread) not in told
                and self.now() >= self._later.get(pause.key, 0.0)
            ):
                yield pause

    def _is_worth_it(self, store: Store, pause: Pause, least: int) -> bool:
        """Asked once in a pause: many threads stay short for ever."""
        known = (pause.said, least)
        if self._short.get(pause.key) == known:
            return False
        worth = is_worth_it(store, pause.session, least)
        if not worth:
            self._short[pause.key] = known
        return worth

    def _told(self) -> set[tuple[str, str]]:
        """Groups and threads for which a message waits: soon there is more to say."""
        path = queue_file(self.home, self.environ)
        if not path.exists():
            return set()
        with open_queue(path) as queue:
            return {(row.group, row.message.thread) for row in queue.waiting()}

    def _try(self, pause: Pause, engine: Engine) -> Iterator[Event]:
        starter = Starter(engine, self.home, self.environ, pause.group, pause.thread)
        if starter.place(clients.get(pause.client), pause.session_id, alone=True) is None:
            self._later[pause.key] = self.now() + _AT_WORK
            return
        before = (self._tries or {}).get(pause.key)
        tried = begun(pause, before, self.time())
        self._remember({**(self._tries or {}), pause.key: tried})
        child = Child(self.home, self.environ, "compact", pause.group, "--thread", pause.thread)
        self._running[pause.key] = _Running(pause, tried, child, self.now() + _LONGEST)
        hours = (self.time() - pause.since) / 3_600
        message = f"compacts {pause.thread}, in which nothing was said for {hours:.1f} h"
        yield Event("info", pause.group, "compaction.started", message)

    def _finish(self) -> Iterator[Event]:
        """What came of those that ended since the last time."""
        for key, one in list(self._running.items()):
            if self.now() >= one.until:
                one.child.stop(_GRACE)
            if one.child.status is None:
                continue
            del self._running[key]
            tried, event = _outcome(one, self.time())
            one.child.close()
            self._tries = {**(self._tries or {}), key: tried}
            with suppress(PannierError):  # The next look says what is wrong with the file.
                self._remember(self._tries)
            yield event

    def _remember(self, tries: dict[str, Tried]) -> None:
        """Also for the next daemon. Raises PannierError."""
        if tries != self._written:
            write_tries(self.home, tries)
        self._tries = self._written = tries


def _mended(
    store: Store, tries: Mapping[str, Tried], found: Sequence[Pause], rules: Mapping[str, Rule]
) -> dict[str, Tried]:
    """What failed, and was done by somebody else meanwhile, is done."""
    kept = dict(tries)
    for pause in found:
        tried = kept.get(pause.key)
        least = rules[pause.group].least
        if tried and tried.why and not is_worth_it(store, pause.session, least):
            kept[pause.key] = replace(tried, done=True, why="")
    return kept


def _outcome(one: _Running, now: float) -> tuple[Tried, Event]:
    pause = one.pause
    if one.child.status == 0:
        event = Event("info", pause.group, "compaction.done", f"compacted {pause.thread}")
        return replace(one.tried, at=now, done=True), event
    why, words = one.child.reason(), one.child.last_words()
    too_little = clients.get(pause.client).too_little
    if too_little and too_little in words:
        message = f"{pause.thread} has too little to be compacted: {brief(words, 200)}"
        event = Event("info", pause.group, "compaction.needless", message)
        return replace(one.tried, at=now, done=True), event
    if words:
        why = f"{why}; it said: {brief(words, 200)}"
    tried = replace(one.tried, at=now, why=why)
    return tried, Event("warning", pause.group, "compaction.failed", str(tried))

"""Compacting a thread's latest session without a person."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pannier import clients, groups, running
from pannier.errors import PannierError, UsageError
from pannier.launch import Building, Tell
from pannier.paths import Home
from pannier.starting import Start, Starter
from pannier.threads.intake import take_in
from pannier.threads.pauses import is_worth_it, last_summary
from pannier.threads.queue import tell_queue
from pannier.threads.rows import SessionRow
from pannier.threads.store import open_store, threads_file

LIMIT = 900
"""Seconds after which the client is told to end, and 10 more after which it is ended. A program of
the container sees to it (timeout(1)), so that it holds whatever becomes of the sidecar."""
_TOO_LONG = 124
"""Status of timeout(1) when it had to."""
_LONGEST = LIMIT + 60.0
_STORED = 30.0
"""Seconds in which the summary is looked for: another process may be writing what was said."""


@dataclass(frozen=True)
class Compactor:
    """Compacts the latest session of one thread."""

    starter: Starter

    def decide(self) -> Start:
        """Where the client would be started. Changes nothing.

        Raises UsageError where nothing was said, or the client cannot; PannierError if nothing was
        said since the last summary, or somebody is at work on the thread.
        """
        session = self._latest()
        client = clients.get(session.client)
        if client.compact is None:
            raise UsageError(
                f"pannier knows no way to compact a session of {client.title} without a person"
            )
        if not self._is_worth_it(session.id):
            raise PannierError(
                f"nothing was said in {self._ref} since its last summary",
                "So there is nothing to compact, and no model was asked.",
            )
        start = self.starter.place(client, session.session, alone=True)
        if start is None:
            raise PannierError(f"somebody is at work on {self._ref}", "See: pannier ps")
        return start

    def run(self, tell: Tell, building: Building) -> None:
        """Compact. Raises PannierError unless a summary was stored, whatever the client says."""
        with running.alone(self.starter.home, _lock(self.starter.folder), seconds=0) as taken:
            if not taken:
                raise PannierError(f"another pannier is compacting {self.starter.folder}")
            self._run(self.decide(), tell, building)

    def _run(self, start: Start, tell: Tell, building: Building) -> None:
        assert start.client.compact is not None
        number = self._latest().id
        before = self._last_summary(number)
        command = ("timeout", "-k", "10", str(LIMIT), *start.client.compact(start.session))
        status = self.starter.run(start, command, tell, building)
        if status == _TOO_LONG:
            raise PannierError(
                f"{start.client.title} did not compact {self._ref} within {LIMIT // 60} minutes"
            )
        if status:
            raise PannierError(f"{start.client.title} ended with status {status}")
        if not self._is_stored(number, before):
            raise PannierError(
                f"{start.client.title} ended, and {self._ref} has no new summary",
                "There may have been too little to compact.",
            )

    @property
    def _ref(self) -> str:
        return f"{self.starter.folder}/{self.starter.thread}"

    def _latest(self) -> SessionRow:
        groups.get(self.starter.home, self.starter.folder)
        spoken = self.starter.spoken()
        if not spoken:
            raise UsageError(
                f"nothing was said in {self._ref} yet", "See which there are: pannier threads list"
            )
        return spoken[-1]

    def _is_worth_it(self, session: int) -> bool:
        with open_store(threads_file(self.starter.home, self.starter.environ)) as store:
            return is_worth_it(store, session, 1)

    def _last_summary(self, session: int) -> int:
        with open_store(threads_file(self.starter.home, self.starter.environ)) as store:
            return last_summary(store, session)

    def _is_stored(self, session: int, before: int) -> bool:
        home, environ = self.starter.home, self.starter.environ
        until = time.monotonic() + _STORED
        while True:
            taken = take_in(home, environ, patience=5, told=tell_queue(home, environ))
            if self._last_summary(session) > before:
                return True
            if not taken.more or time.monotonic() >= until:
                return False


def wait(home: Home, folder: str, tell: Tell) -> None:
    """Wait until nobody compacts a thread of the group: a client that does takes no messages."""
    with running.alone(home, _lock(folder), seconds=0) as taken:
        if taken:
            return
    tell(f"A thread of {folder} is being compacted; waiting until that is done.")
    with running.alone(home, _lock(folder), seconds=_LONGEST):
        pass


def _lock(folder: str) -> str:
    return f"compact-{folder}"

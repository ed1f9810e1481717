"""What sessions left behind whose client was killed: handed over at the next start of any session
or container of the group, since of such a session nobody may ever tell again.

A session that goes on elsewhere is noted, too. That some of it is handed over early does no harm.
"""

from __future__ import annotations

import posix
import time

from . import sessions
from .clients import CLIENTS
from .events import RECORDS
from .handover import LEFT, hand_over_left
from .increment import Budget, open_log
from .options import Options
from .request import Request
from .spool import Spool
from .telling import Teller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .sessions import Noted

MOST_BYTES = 32 << 20
"""Of transcripts, that one look hands over."""
_HOUR = 3600 * 10**9
_NEVER_WRITTEN = _HOUR
"""Nanoseconds after which a client will not write a transcript any more."""
_OVER = 24 * _HOUR
"""Nanoseconds without a prompt or a record after which a session needs no note any more."""
_GONE = 30 * 24 * _HOUR
"""The same where its transcript cannot be found, which may be in the HOME of another client."""


def look(options: Options, until: float, own: str = "") -> None:
    """Hand over what is new in the transcripts of sessions that did not end, but of the session
    `own`; until the time `until` on the monotonic clock, in seconds. Raises OSError; what went is
    not undone."""
    spool = Spool(options.spool)
    budget = Budget(MOST_BYTES, until)
    problem: OSError | None = None
    try:
        for noted in sessions.all_noted(spool):
            if budget.bytes <= 0 or budget.is_late():
                break
            if noted.session == own or noted.client not in CLIENTS:
                continue
            try:
                _look_at(options, noted, spool, budget)
            except OSError as error:
                problem = problem or error  # The others shall not suffer from it.
    finally:
        spool.close()
    if problem:
        raise problem


def _look_at(options: Options, noted: Noted, spool: Spool, budget: Budget) -> None:
    now = time.time_ns()
    log = open_log(noted.path)
    if log is None:
        _never_written(options, noted, spool, now - noted.at)
        return
    try:
        last = max(posix.fstat(log).st_mtime_ns, noted.at)
        teller = _teller(options, noted, spool, min(last, now))
        client = CLIENTS[noted.client]
        if hand_over_left(teller, client, noted.path, log, budget) and now - last > _OVER:
            sessions.forget(spool, noted.session)
    finally:
        posix.close(log)


def _never_written(options: Options, noted: Noted, spool: Spool, age: int) -> None:
    """There is no transcript: what the events said is all. In another client's HOME it may lie."""
    told = noted.client == options.client and age > _NEVER_WRITTEN
    if told:
        spool.put(_teller(options, noted, spool, noted.at).event(details=LEFT))
    if told or age > _GONE:
        sessions.forget(spool, noted.session)


def _teller(options: Options, noted: Noted, spool: Spool, at: int) -> Teller:
    """One that speaks for the session, of the time when something last happened in it."""
    own = Options({})
    own.spool, own.home, own.event = options.spool, options.home, RECORDS
    own.client, own.thread, own.task = noted.client, noted.thread, noted.task
    return Teller(own, Request({"session_id": noted.session}), spool, at)

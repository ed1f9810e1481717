"""What one event hands over: first the sub-agents' transcripts that grew, then the session's own.

The session's increment is the body of the event itself, a sub-agent's that of an event `records`.
"""

from __future__ import annotations

import posix
from _stat import S_ISREG

from . import cursor as cursors
from .events import RECORDS, SESSION_END, STOP, Event, Log
from .increment import Budget, Increment, open_log, read_increment, write_parts
from .spool import new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clients import Client
    from .cursor import Cursor
    from .increment import Say
    from .spool import Spool
    from .telling import Teller

MOST_BYTES = 32 << 20
"""Of transcripts, that one event hands over."""
MOST_LAST_BYTES = 8 << 20
"""The same at a session's end, where clients are in a hurry."""
MOST_INNER = 50
"""Sub-agents' transcripts that one event hands over."""
MOST_NAMES = 10_000
"""Names of the sub-agents' folder that are looked at."""

LEFT = {"left": "true"}
"""The details of records of a session of which nothing is heard."""

_SUFFIX = ".jsonl"
_SLACK = 2 * 10**9
"""Nanoseconds by which the times of files may be coarser than the clock."""


def hand_over(teller: Teller, client: Client, path: str, until: float) -> None:
    """Hand over the event of `teller` with what is new in the transcript at `path`, and before it
    what is new in those of the session's sub-agents. Raises OSError; what went is not undone."""
    ending = teller.options.event == SESSION_END
    budget = Budget(MOST_LAST_BYTES if ending else MOST_BYTES, until)
    log = open_log(path) if path else None
    if log is None:
        teller.spool.put(teller.event())
        if ending:
            _close(teller, whole=True)
        return
    try:
        name = cursors.name_of(teller.request.session, path)
        old = cursors.load(teller.spool, name)
        # At the end all of them are looked at.
        seen = 0 if ending or old is None else old.seen
        seen = _inner(teller, client, path, seen, budget)
        increment = read_increment(log, old, budget)
        if client.lags and teller.options.event == STOP:
            from .lag import with_answer

            said = teller.request.text("last_assistant_message")
            increment = with_answer(said, log, old, increment, budget)
        new = _write(teller, _main(teller), path, increment, budget)
        if new is None:
            teller.spool.put(teller.event())
        whole = _move(teller.spool, name, old, new, increment, seen)
        if ending:
            _close(teller, whole=whole)
    finally:
        posix.close(log)


def hand_over_left(teller: Teller, client: Client, path: str, log: int, budget: Budget) -> bool:
    """Hand over what is new in the transcript `log` at `path` and in those of the session's
    sub-agents, as records of a session of which nothing is heard; whether that was all.

    Raises OSError; what went is not undone.
    """
    name = cursors.name_of(teller.request.session, path)
    old = cursors.load(teller.spool, name)
    seen = _inner(teller, client, path, old.seen if old else 0, budget)
    increment = read_increment(log, old, budget)
    new = _write(teller, _left(teller), path, increment, budget)
    return _move(teller.spool, name, old, new, increment, seen)


def _move(
    spool: Spool, name: str, old: Cursor | None, new: Cursor | None, increment: Increment, seen: int
) -> bool:
    """Move the cursor behind what went; whether that was all."""
    new = new or increment.cursor(0)
    new.seen = seen
    if old is None or new.encode() != old.encode():
        cursors.save(spool, name, new)
    return not increment.more and new.offset == increment.offset + len(increment.data)


def _close(teller: Teller, *, whole: bool) -> None:
    """The session ended."""
    cursors.prune(teller.spool)
    if whole:
        from .sessions import forget

        forget(teller.spool, teller.request.session)


def _write(
    teller: Teller, say: Say, path: str, increment: Increment, budget: Budget
) -> Cursor | None:
    """Hand over the increment; the cursor after it. None when there is nothing in it."""
    if not increment.data:
        return None
    home = teller.options.home.rstrip("/")
    name = path[len(home) + 1 :] if home and path.startswith(f"{home}/") else path
    count = write_parts(teller.spool, say, name, increment, budget)
    budget.bytes -= count
    return increment.cursor(count)


def _main(teller: Teller) -> Say:
    id, at = new_id(), teller.now()

    def say(part: tuple[int, int], log: Log) -> Event:
        return teller.event(id=id, at=at, part=part, log=log)

    return say


def _left(teller: Teller) -> Say:
    id, at = new_id(), teller.now()

    def say(part: tuple[int, int], log: Log) -> Event:
        details = {} if log.more else LEFT
        return teller.event(RECORDS, details, id=id, at=at, part=part, log=log)

    return say


def _records(teller: Teller, agent: str) -> Say:
    id, at = new_id(), teller.now()

    def say(part: tuple[int, int], log: Log) -> Event:
        return teller.event(RECORDS, {}, id=id, at=at, part=part, agent=agent, log=log)

    return say


def _begin_of_inner(client: Client, path: str, session: str) -> str:
    """How the paths of the sub-agents' transcripts begin; "" when there are none."""
    if not client.inner_logs or not path.endswith(_SUFFIX):
        return ""
    if "/" in session or session in ("", ".", ".."):
        return ""
    folder, _, name = path.rpartition("/")
    place = client.inner_logs.replace("{log}", name[: -len(_SUFFIX)])
    return f"{folder}/{place.replace('{session}', session)}"


def _inner(teller: Teller, client: Client, path: str, seen: int, budget: Budget) -> int:
    """Hand over what is new in the transcripts of the session's sub-agents that changed after
    `seen`; up to when all of them are handed over now. At most half of the budget goes into
    that."""
    begin = _begin_of_inner(client, path, teller.request.session)
    if not begin:
        return seen
    folder, _, prefix = begin.rpartition("/")
    share = Budget(budget.bytes // 2, budget.half_time())
    carried = 0
    for changed, file in _grown(folder, prefix, seen):
        if carried == MOST_INNER or share.bytes <= 0 or share.is_late():
            break
        left = share.bytes
        whole = _one_inner(teller, f"{folder}/{file}", file[len(prefix) : -len(_SUFFIX)], share)
        if not whole:
            break
        carried += share.bytes < left
        seen = max(seen, changed - _SLACK)
    budget.bytes -= budget.bytes // 2 - share.bytes
    return seen


def _one_inner(teller: Teller, path: str, agent: str, budget: Budget) -> bool:
    """Hand over what is new in one sub-agent's transcript; whether that was all."""
    log = open_log(path)
    if log is None:
        return True
    try:
        name = cursors.name_of(teller.request.session, path)
        increment = read_increment(log, cursors.load(teller.spool, name), budget)
        left = budget.bytes
        new = _write(teller, _records(teller, agent), path, increment, budget)
        if new is not None:
            cursors.save(teller.spool, name, new)
        return not increment.more and left - budget.bytes == len(increment.data)
    finally:
        posix.close(log)


def _grown(folder: str, prefix: str, seen: int) -> list[tuple[int, str]]:
    """When they changed, and the names of the sub-agents' transcripts changed after `seen`, the
    one that changed first at the front."""
    found = []
    try:
        with posix.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number == MOST_NAMES:
                    break
                if not entry.name.startswith(prefix) or not entry.name.endswith(_SUFFIX):
                    continue
                status = entry.stat(follow_symlinks=False)
                if S_ISREG(status.st_mode) and status.st_mtime_ns > seen:
                    found.append((status.st_mtime_ns, entry.name))
    except (OSError, ValueError):
        pass
    return sorted(found)

"""A group's inbox as the host sees it: messages laid there, and taken away once delivered.

What lies in it is the container's to change. The queue is the truth; of the inbox it believes
only that a message was delivered, which is the group's own to say.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice

from pannier import owner, safefs
from pannier.paths import GroupPaths
from pannier.threads.queue import Queue, Waiting
from pannier_hook.inbox import file_name, read_name
from pannier_hook.messages import MESSAGE, frame

MOST_NAMES = 20_000
"""How many names of one folder are looked at."""
MOST_PLACED = 200
"""Messages that are laid into one inbox at once; the rest come with the next round."""
GRACE = 10.0
"""Seconds that a message may be missing: it may just be on its way from one folder to the other."""
KEPT_LONG = 7 * 86_400
"""Seconds that the text of a message which was too long for its client stays readable."""
MOST_PROMPT = 100_000
"""Bytes of a prompt made of messages: Linux takes 131,072 for one argument (MAX_ARG_STRLEN)."""


@dataclass(frozen=True)
class Settled:
    """What bringing a queue and an inbox together did, in numbers of messages."""

    placed: int = 0
    delivered: int = 0
    again: int = 0
    """Placed once more: their files had gone, undelivered."""


@dataclass(frozen=True)
class _Seen:
    """The names of an inbox."""

    new: Mapping[str, str]
    """First names of messages, and how their files are called now: one that is claimed has another
    name."""
    done: frozenset[str]
    litter: tuple[str, ...]
    """What lies in `new` and is no message's: left by a crash, or set aside by the hook."""
    crowded: bool
    """There is more than was looked at."""


def settle(queue: Queue, group: GroupPaths) -> Settled:
    """Lay what waits into the group's inbox; take out of the queue what was delivered.

    At most MOST_PLACED at once; safe to call by anybody at any time. Raises PannierError (also for
    a link in the place of a folder) and OSError.
    """
    with _folders(group) as (new, done):
        with queue.alone():
            seen = _look(new, done)
            rows = queue.waiting(group.folder)
            work = _Work(queue, group.folder, new, seen)
            for row in rows:
                work.do(row)
        # Only now: what the database does not know as delivered would be laid there again.
        known = {_name(row) for row in rows if row.message.id not in work.told}
        for name in seen.done - known:
            _unlink(name, done)
        strange = [now for name, now in seen.new.items() if name not in known]
        for name in (*strange, *seen.litter):
            _unlink(name, new)
    _forget_long(group)
    return Settled(work.placed, len(work.told), work.again)


def take_out(queue: Queue, group: GroupPaths, thread: str) -> list[Waiting] | None:
    """Take messages of a thread out of the inbox, to start a client with them as its prompt.

    In order, as many as one prompt holds; none that a hook has claimed. Until `put_back`, or until
    the queue says that they were delivered, they belong to this process; when it is gone, `settle`
    lays them into the inbox again. None: another process has some, so that a client is at work.
    """
    taken: list[Waiting] = []
    left = MOST_PROMPT
    with _folders(group) as (new, _), queue.alone():
        rows = queue.waiting(group.folder, thread)
        if any(row.state == "started" and not owner.is_gone(row.owner) for row in rows):
            return None
        for row in rows:
            if row.message.kind != MESSAGE:
                continue
            size = len(frame(row.message).encode()) + 1
            if taken and size > left:
                break
            if row.state == "placed":
                try:
                    os.unlink(_name(row), dir_fd=new)
                except FileNotFoundError:
                    continue
            left -= size
            queue.mark(row.number, "started", owner=owner.me())
            taken.append(row)
    return taken


def put_back(queue: Queue, group: GroupPaths, taken: list[Waiting]) -> None:
    """They were not delivered after all: they wait in the inbox again."""
    for row in taken:
        queue.mark(row.number, "waiting")
    settle(queue, group)


def prompt_of(taken: list[Waiting]) -> str:
    """The messages as the prompt of a client that is started with them.

    It begins with a line break: what begins with a dash, clients take for an option.
    """
    return "".join(f"\n{frame(row.message)}" for row in taken)


@dataclass
class _Work:
    """One settling, while nobody else changes the queue."""

    queue: Queue
    group: str
    new: int
    seen: _Seen
    told: set[str] = field(default_factory=set)
    """Ids that were delivered."""
    placed: int = 0
    again: int = 0

    def do(self, row: Waiting) -> None:
        name = _name(row)
        if row.state == "started":
            if owner.is_gone(row.owner):
                self.place(row)
        elif name in self.seen.done:
            self.queue.delivered(self.group, [row.message.id])
            self.told.add(row.message.id)
        elif name in self.seen.new:
            if row.state == "waiting" or row.missed:
                self.queue.mark(row.number, "placed")
        elif row.state == "waiting":
            self.place(row)
        elif not self.seen.crowded:
            self.miss(row)

    def place(self, row: Waiting) -> None:
        if self.placed >= MOST_PLACED:
            return
        with suppress(FileExistsError):
            safefs.write(self.new, _name(row), row.message.encode(), replace=False, mode=0o600)
        self.queue.mark(row.number, "placed")
        self.placed += 1

    def miss(self, row: Waiting) -> None:
        now = time.time_ns()
        if not row.missed:
            self.queue.mark(row.number, "placed", missed=now)
        elif now - row.missed > GRACE * 10**9:
            self.place(row)
            self.again += 1


def _name(row: Waiting) -> str:
    return file_name(row.number, row.message)


@contextmanager
def _folders(group: GroupPaths) -> Iterator[tuple[int, int]]:
    root, inbox = group.root, group.inbox.name
    with (
        safefs.open_directory(root, inbox, "new", create=True) as new,
        safefs.open_directory(root, inbox, "done", create=True) as done,
    ):
        yield new, done


def _look(new: int, done: int) -> _Seen:
    """In this order, and `new` twice: a name that is being changed can be missed by one look."""
    first, much = _names(new)
    finished, more = _names(done)
    second, _ = _names(new)
    known = {name: read_name(name) for name in first | second}
    return _Seen(
        new={one[0]: name for name, one in known.items() if one},
        done=frozenset(name for name in finished if read_name(name) == (name, 0)),
        litter=tuple(name for name, one in known.items() if not one and _is_ours(name)),
        crowded=much or more,
    )


def _is_ours(name: str) -> bool:
    return name.endswith((".pannier-new", ".odd"))


def _names(folder: int) -> tuple[set[str], bool]:
    with os.scandir(folder) as entries:
        names = {entry.name for entry in islice(entries, MOST_NAMES + 1)}
    return names, len(names) > MOST_NAMES


def _unlink(name: str, folder: int) -> None:
    """A folder that an agent put there stays: it is no message."""
    with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
        os.unlink(name, dir_fd=folder)


def _forget_long(group: GroupPaths) -> None:
    before = time.time() - KEPT_LONG
    with suppress(FileNotFoundError), safefs.open_directory(group.inbox, "long") as folder:
        for name in _names(folder)[0]:
            with suppress(FileNotFoundError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < before:
                    _unlink(name, folder)

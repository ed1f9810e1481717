"""Threads and messages as people and programs ask for them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pannier.errors import UsageError
from pannier.threads.excerpt import excerpt
from pannier.threads.rows import MessageRow, ThreadRow
from pannier.threads.store import Store
from pannier.threads.times import timestamp
from pannier_hook.textrules import clean


@dataclass(frozen=True)
class Overview:
    """A thread in numbers."""

    thread: ThreadRow
    succeeded: int
    failed: int
    """Turns that failed or were interrupted. One that goes on is neither."""
    sessions: int
    clients: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        thread = self.thread
        return {
            "thread": thread.ref,
            "key": thread.key,
            "turns": {"succeeded": self.succeeded, "failed": self.failed},
            "messages": thread.messages,
            "head": f"m{thread.head}" if thread.head else None,
            "created": timestamp(thread.created),
            "last": timestamp(thread.last),
            "sessions": self.sessions,
            "clients": list(self.clients),
        }


def overviews(store: Store, grp: str | None) -> tuple[Overview, ...]:
    """The threads of a group, else all."""
    return tuple(overview(store, thread) for thread in store.threads(grp))


def overview(store: Store, thread: ThreadRow) -> Overview:
    """A thread in numbers."""
    outcomes = [turn.outcome for turn in store.turns(thread.id) if turn.counts]
    sessions = store.sessions(thread.id)
    return Overview(
        thread,
        outcomes.count("succeeded"),
        outcomes.count("failed") + outcomes.count("interrupted"),
        len(sessions),
        tuple(sorted({session.client for session in sessions})),
    )


def find(store: Store, ref: str) -> ThreadRow:
    """The thread of this name or key. Raises UsageError, with the nearest names."""
    try:
        return store.find_thread(ref)
    except UsageError as error:
        known = {name: thread.ref for thread in store.threads() for name in _names(thread)}
        near = difflib.get_close_matches(ref, known, n=3, cutoff=0.5)
        refs = list(dict.fromkeys(known[name] for name in near))
        if not refs:
            raise
        raise UsageError(error.message, f"Did you mean {' or '.join(refs)}?") from None


def _names(thread: ThreadRow) -> Iterable[str]:
    return (thread.ref, thread.name, thread.key)


@dataclass(frozen=True)
class Said:
    """A message of a thread."""

    message: MessageRow
    current: bool = True
    """Whether the thread's head goes back to it, or it is a sub-agent's."""

    def as_data(self, *, masked: bool = True) -> dict[str, Any]:
        """For programs; without `masked` just as it was said."""
        row = asdict(self.message)
        for name in ("session", "thread", "position"):
            del row[name]
        row["id"] = f"m{self.message.id}"
        row["parent"] = f"m{self.message.parent}" if self.message.parent else None
        row["turn"] = f"t{self.message.turn}" if self.message.turn else None
        row["at"] = timestamp(self.message.at)
        row["current"] = self.current
        if not masked:
            return row
        row["text"] = excerpt(self.message.text).text
        return {name: clean(v) if isinstance(v, str) else v for name, v in row.items()}


def last_said(
    store: Store,
    thread: ThreadRow,
    *,
    everything: bool,
    limit: int,
    without: Collection[str] = (),
) -> tuple[Said, ...]:
    """The last `limit` messages of the thread's branch; of all branches with `everything`.

    Kinds of messages that are in `without` do not count.
    """
    asked = limit
    while True:
        said = _last(store, thread, everything, asked)
        wanted = tuple(one for one in said if one.message.kind not in without)
        if len(wanted) >= limit or len(said) < asked:
            return wanted[-limit:]
        asked *= 4


def _last(store: Store, thread: ThreadRow, everything: bool, most: int) -> tuple[Said, ...]:
    branch = store.latest(thread.id, branch=True, limit=most)
    if not everything:
        return tuple(Said(row) for row in branch)
    current = {row.id for row in branch}
    return tuple(
        Said(row, bool(row.inner) or row.id in current)
        for row in store.latest(thread.id, branch=False, limit=most)
    )


@dataclass(frozen=True)
class Hit:
    """A message that a search found."""

    thread: ThreadRow
    said: Said

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "thread": self.thread.ref,
            "thread_key": self.thread.key,
            **self.said.as_data(),
        }


def search(
    store: Store, query: str, grp: str | None, thread: ThreadRow | None, *, limit: int
) -> tuple[Hit, ...]:
    """Messages with all words of the query, the newest first."""
    threads = {row.id: row for row in store.threads(grp)}
    within = thread.id if thread is not None else None
    return tuple(
        Hit(
            threads[row.thread],
            Said(row, bool(row.inner) or store.in_branch(row.thread, row.id)),
        )
        for row in store.search(query, grp, thread=within, limit=limit)
        if row.thread in threads
    )

"""Going back in a thread: its head moves, and nothing is deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pannier.errors import UsageError
from pannier.paths import Home
from pannier.threads import inbox, look
from pannier.threads.excerpt import one_line
from pannier.threads.locking import writing
from pannier.threads.queue import open_queue, queue_file
from pannier.threads.rows import MessageRow, ThreadRow
from pannier.threads.store import Store, open_store, threads_file
from pannier_hook.messages import ROLLBACK

START = "start"
"""How people call the place before the first message."""
OBEYS = frozenset({"langchain"})
"""Clients whose own session goes back when the inbox asks for it."""
_PLACE = re.compile(r"([mt])(\d{1,18})")


@dataclass(frozen=True)
class RolledBack:
    """What a rollback did, or with `dry_run` would do."""

    thread: ThreadRow
    """As it was before."""
    to: MessageRow | None
    """None: to the start."""
    client: str
    """The one whose session spoke last; "" if there is none."""

    @property
    def goes_back(self) -> bool:
        """Whether the client's own session goes back as well."""
        return self.client in OBEYS and self.to is not None

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "thread": self.thread.ref,
            "key": self.thread.key,
            "from": f"m{self.thread.head}" if self.thread.head else None,
            "to": f"m{self.to.id}" if self.to else None,
            "text": one_line(self.to.text, 200) if self.to else "",
            "client": self.client,
            "client_goes_back": self.goes_back,
        }


def rollback(
    home: Home, environ: Mapping[str, str], ref: str, to: str, *, dry_run: bool = False
) -> RolledBack:
    """The thread goes on from `to`: a message `m12`, the end of a turn `t3`, or `start`.

    Raises UsageError for what is not in the thread and for a call that would lose its result;
    Busy when somebody else writes; PannierError.
    """
    if dry_run:
        with open_store(threads_file(home, environ)) as store:
            return _planned(store, ref, to)
    with writing(home, environ) as store:
        done = _planned(store, ref, to)
        store.move_head(done.thread.id, done.to.id if done.to else None)
    if done.to is not None and done.goes_back:
        _ask(home, environ, done.thread, done.to)
    return done


def _planned(store: Store, ref: str, to: str) -> RolledBack:
    thread = look.find(store, ref)
    message = None if to == START else _place(store, thread, to)
    sessions = store.sessions(thread.id)
    head = store.message(thread.head) if thread.head else None
    spoke = [s for s in sessions if head is not None and s.id == head.session] or sessions[-1:]
    return RolledBack(thread, message, spoke[0].client if spoke else "")


def _place(store: Store, thread: ThreadRow, to: str) -> MessageRow:
    """The message that `m12` or `t3` means."""
    match = _PLACE.fullmatch(to)
    if match is None:
        raise UsageError(
            f"{to!r} is no place in a thread",
            f"Name a message (m12), a turn (t3) or {START}: pannier threads show {thread.ref}",
        )
    kind, number = match[1], int(match[2])
    message = store.message(number) if kind == "m" else store.end_of(thread.id, number)
    if message is None or not _is_in(store, thread, message):
        raise UsageError(
            f"{to} is not in {thread.ref}", f"See what is: pannier threads show {thread.ref} --all"
        )
    if message.inner:
        raise UsageError(f"{to} is a sub-agent's", "Name a message of the main conversation.")
    end = store.end_of(thread.id, message.turn) if message.turn else None
    if end is not None and end.id != message.id:
        _whole(store, message)
    return message


def _is_in(store: Store, thread: ThreadRow, message: MessageRow) -> bool:
    return message.thread == thread.id or store.in_branch(thread.id, message.id)


def _whole(store: Store, message: MessageRow) -> None:
    """Raises UsageError when a call before the place has its result only after it."""
    answered: set[str] = set()
    for before in _back_in_turn(store, message):
        if before.kind == "result":
            answered.add(before.call)
        elif before.kind == "call" and before.call and before.call not in answered:
            raise UsageError(
                f"m{message.id} lies between a call and its result (m{before.id})",
                f"Name a later message, or the end of the turn: t{message.turn}",
            )


def _back_in_turn(store: Store, message: MessageRow) -> Iterator[MessageRow]:
    """The message and those before it, to the beginning of its turn."""
    here: MessageRow | None = message
    while here is not None and here.turn == message.turn:
        yield here
        here = store.message(here.parent) if here.parent else None


def _ask(home: Home, environ: Mapping[str, str], thread: ThreadRow, to: MessageRow) -> None:
    """The client shall go back as well, before its next turn."""
    with open_queue(queue_file(home, environ)) as queue:
        queue.put(
            thread.grp,
            "",
            thread=thread.name,
            source="pannier threads rollback",
            kind=ROLLBACK,
            checkpoint=to.key,
        )
        inbox.settle(queue, home.group(thread.grp))

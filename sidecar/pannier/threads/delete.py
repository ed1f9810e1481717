"""Erasing a thread: the one way in which anything that was said is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pannier.clients import CLIENTS
from pannier.clients.client import Traces
from pannier.errors import PannierError, UnsafePath, reason
from pannier.paths import GroupPaths, Home
from pannier.threads import conversations, look, shelf, spills, traces
from pannier.threads.locking import writing
from pannier.threads.rows import SessionRow, ThreadRow
from pannier.threads.spool import NEW, Spool
from pannier.threads.store import Store, open_store, threads_file
from pannier.threads.traces import Found
from pannier.threads.whereabouts import thread_of
from pannier_hook import events


@dataclass(frozen=True)
class Shared:
    """A session that also spoke in other threads: what its client keeps of it stays."""

    session: SessionRow
    threads: tuple[str, ...]
    files: tuple[str, ...]
    """Below the group's folder."""


@dataclass(frozen=True)
class Others:
    """What belongs to other threads."""

    files: Collection[str]
    """Below the group's folder."""
    sessions: Collection[str]


@dataclass(frozen=True)
class HandedOver:
    """What was handed over from the thread, and is not stored."""

    name: str
    client: str
    session: str


@dataclass(frozen=True)
class Plan:
    """What belongs to a thread."""

    thread: ThreadRow
    turns: int
    """With inner ones."""
    sessions: tuple[SessionRow, ...]
    pages: tuple[str, ...]
    """Files in `conversations/`."""
    found: Mapping[str, Found]
    """What clients keep of its sessions, by client."""
    shared: tuple[Shared, ...] = ()
    waiting: tuple[HandedOver, ...] = ()
    """Files in `spool/new/`."""
    spilled: str = ""
    """The folder with its large results, below the group's; "" when there is none."""

    @property
    def files(self) -> tuple[str, ...]:
        """What is removed or written anew, below the group's folder."""
        return (
            *(f"conversations/{name}" for name in self.pages),
            *(f"spool/{NEW}/{waiting.name}" for waiting in self.waiting),
            *(file for client, found in self.found.items() for file in _files(client, found)),
            *filter(None, [self.spilled]),
        )

    @property
    def untouched(self) -> tuple[str, ...]:
        """What may hold more of it, below the group's folder."""
        return tuple(
            "/".join(("client", client, *parts))
            for client, found in self.found.items()
            for parts in found.databases
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "thread": self.thread.ref,
            "key": self.thread.key,
            "messages": self.thread.messages,
            "turns": self.turns,
            "sessions": [f"{s.client}:{s.session}" for s in self.sessions],
            "files": list(self.files),
            "untouched": list(self.untouched),
            "shared": [
                {
                    "session": f"{one.session.client}:{one.session.session}",
                    "threads": list(one.threads),
                    "files": list(one.files),
                }
                for one in self.shared
            ],
        }


@dataclass(frozen=True)
class Deleted:
    """What was erased, and what could not be."""

    plan: Plan
    kept: tuple[str, ...]
    """Files that are still there, each with the reason."""


def plan(home: Home, environ: Mapping[str, str], ref: str) -> Plan:
    """What would be erased. Raises UsageError for an unknown thread, PannierError."""
    with open_store(threads_file(home, environ)) as store:
        return _planned(home, store, ref)


def delete(home: Home, environ: Mapping[str, str], ref: str) -> Deleted:
    """Erase a thread: its messages, the pages in `conversations/`, its large results in files, and
    what its clients keep.

    What the container hands over of these sessions in this thread later is dropped. Killed in
    between, it is done again: the database forgets last, so that until then the thread can be
    named. Raises UsageError for an unknown thread, Busy when somebody else writes, PannierError.
    """
    with writing(home, environ) as store:
        found = _planned(home, store, ref)
        paths = home.group(found.thread.grp)
        kept = [
            f"{file}: its session also spoke in {', '.join(shared.threads)}"
            for shared in found.shared
            for file in shared.files
        ]
        for client, of in found.found.items():
            kept += (f"client/{client}/{why}" for why in traces.remove(paths, client, of))
        kept += spills.remove(paths, found.thread.name)
        stays = conversations.forget(home, found.thread.grp, found.thread.key)
        kept += (f"conversations/{why}" for why in stays)
        store.erase(found.thread.id, [(w.client, w.session) for w in found.waiting if w.session])
        kept += _take_out(paths, found.waiting)
    return Deleted(found, tuple(kept))


def _planned(home: Home, store: Store, ref: str) -> Plan:
    thread = look.find(store, ref)
    sessions = store.sessions(thread.id)
    paths = home.group(thread.grp)
    elsewhere = {s.id: store.elsewhere(s.id, thread.id) for s in sessions}
    shared, stays = [], set[str]()
    for session in sessions:
        if elsewhere[session.id]:
            files = _files(session.client, _found(paths, store, session.client, [session]))
            shared.append(Shared(session, elsewhere[session.id], files))
            stays.update(files)
    found = {}
    for client in sorted({s.client for s in sessions}):
        own = [s for s in sessions if s.client == client and not elsewhere[s.id]]
        known = store.session_ids(thread.grp, client)
        others = Others(stays, frozenset(known) - {s.session for s in own})
        found[client] = _without(_found(paths, store, client, own), client, others)
    return Plan(
        thread,
        len(store.turns(thread.id)),
        sessions,
        shelf.names(home, thread.grp, thread.key),
        found,
        tuple(shared),
        tuple(_waiting(paths, thread)),
        spills.find(paths, thread.name),
    )


def _found(paths: GroupPaths, store: Store, client: str, sessions: Sequence[SessionRow]) -> Found:
    known = CLIENTS[client].traces if client in CLIENTS else Traces()
    logs = [log for session in sessions for log in store.logs(session.id)]
    return traces.find(paths, client, known, [s.session for s in sessions], logs)


def _files(client: str, found: Found) -> tuple[str, ...]:
    """Below the group's folder."""
    parts = (*found.whole, *(listed for listed, _ in found.listed))
    return tuple("/".join(("client", client, *names)) for names in parts)


def _without(found: Found, client: str, others: Others) -> Found:
    """Which files are a session's transcripts, a container said: another's may be among them."""
    left = tuple(
        parts
        for parts in found.whole
        if "/".join(("client", client, *parts)) not in others.files
        and (_named(parts, found.sessions) or not _named(parts, others.sessions))
    )
    return replace(found, whole=left)


def _named(parts: traces.Parts, sessions: Iterable[str]) -> bool:
    """Whether a file or a folder on the way is called by one of the sessions."""
    names = [part.removesuffix(".jsonl") for part in parts]
    return any(session and name.endswith(session) for session in sessions for name in names)


# ------------------------------------------------------------------------------------- the spool


def _waiting(paths: GroupPaths, thread: ThreadRow) -> Iterator[HandedOver]:
    """What was handed over, and there was no time yet to take in."""
    try:
        with Spool(paths) as spool:
            for name in spool.names()[0]:
                try:
                    event = events.decode(spool.read(name))
                except (OSError, ValueError, RecursionError, PannierError):
                    continue
                if thread_of(event) == thread.name and event.kind not in _NOTHING_SAID:
                    yield HandedOver(name, event.client, event.session)
    except (OSError, UnsafePath):
        return  # Nothing of it can be taken in, either.


_NOTHING_SAID = (events.ERROR, events.DELIVERED)


def _take_out(paths: GroupPaths, waiting: Sequence[HandedOver]) -> Iterator[str]:
    """Remove it. Gives what stays, each with the reason."""
    for file in waiting:
        try:
            with Spool(paths) as spool:
                spool.remove([file.name])
        except UnsafePath as error:
            yield f"spool/{NEW}/{file.name}: {error.message}"
        except OSError as error:
            yield f"spool/{NEW}/{file.name}: {reason(error)}"

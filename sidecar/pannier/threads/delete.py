"""Erasing a thread: the one way in which anything that was said is forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pannier.clients import CLIENTS
from pannier.clients.client import Traces
from pannier.paths import Home
from pannier.threads import conversations, look, shelf, traces
from pannier.threads.locking import writing
from pannier.threads.rows import SessionRow, ThreadRow
from pannier.threads.store import Store, open_store, threads_file
from pannier.threads.traces import Found


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

    @property
    def files(self) -> tuple[str, ...]:
        """What is removed or written anew, below the group's folder."""
        return (
            *(f"conversations/{name}" for name in self.pages),
            *(
                "/".join(("client", client, *parts))
                for client, found in self.found.items()
                for parts in (*found.whole, *(listed for listed, _ in found.listed))
            ),
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
    """Erase a thread: its messages, the pages in `conversations/`, and what its clients keep.

    What the container hands over of these sessions later is dropped. Killed in between, it is
    done again: the database forgets last, so that until then the thread can be named.
    Raises UsageError for an unknown thread, Busy when somebody else writes, PannierError.
    """
    with writing(home, environ) as store:
        found = _planned(home, store, ref)
        paths = home.group(found.thread.grp)
        kept: list[str] = []
        for client, of in found.found.items():
            for reason in traces.remove(paths, client, of):
                kept.append(f"client/{client}/{reason}")
        if paths.root.is_dir():
            conversations.forget(home, found.thread.grp, found.thread.key)
        store.erase(found.thread.id)
    return Deleted(found, tuple(kept))


def _planned(home: Home, store: Store, ref: str) -> Plan:
    thread = look.find(store, ref)
    sessions = store.sessions(thread.id)
    paths = home.group(thread.grp)
    found = {
        client: traces.find(
            paths,
            client,
            CLIENTS[client].traces if client in CLIENTS else Traces(),
            [s.session for s in sessions if s.client == client],
            [log for s in sessions if s.client == client for log in store.logs(s.id)],
        )
        for client in sorted({s.client for s in sessions})
    }
    pages = shelf.names(home, thread.grp, thread.key)
    return Plan(thread, len(store.turns(thread.id)), sessions, pages, found)

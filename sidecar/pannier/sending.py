"""Sending a message to an agent: queued, and laid into its inbox at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pannier import groups, running
from pannier.errors import PannierError, described
from pannier.paths import Home
from pannier.threads import inbox
from pannier.threads.queue import Queue, Waiting, new_message, open_queue, queue_file


@dataclass(frozen=True)
class Letter:
    """What somebody sends."""

    folder: str
    text: str
    thread: str = running.DEFAULT_THREAD
    sender: str = ""
    source: str = ""


@dataclass(frozen=True)
class Sent:
    """What became of it."""

    row: Waiting
    problem: str = ""
    """Why it is not in the inbox yet; it is queued all the same."""


def check(home: Home, letter: Letter) -> None:
    """Raises UsageError for what cannot be sent."""
    running.check_thread(letter.thread)
    groups.get(home, letter.folder)
    new_message(letter.text, at=0, thread=letter.thread, sender=letter.sender, source=letter.source)


def send(home: Home, environ: Mapping[str, str], letter: Letter) -> Sent:
    """Queue it and lay it into the group's inbox; no daemon is needed.

    Raises UsageError, or PannierError when the queue is full or cannot be written.
    """
    check(home, letter)
    with open_queue(queue_file(home, environ)) as queue:
        row = queue.put(
            letter.folder,
            letter.text,
            thread=letter.thread,
            sender=letter.sender,
            source=letter.source,
        )
        return Sent(row, settle(home, queue, letter.folder))


def settle(home: Home, queue: Queue, folder: str) -> str:
    """Bring a group's inbox and queue together. Returns what hinders it, "" if nothing does."""
    group = home.group(folder)
    if not group.settings.exists():
        return f"there is no {group.settings}"
    try:
        inbox.settle(queue, group)
    except (PannierError, OSError) as error:
        return described(error)
    return ""

"""Sending a message to an agent: queued, laid into its inbox, or told by starting its client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pannier import groups, launch, running
from pannier.clients import Client
from pannier.engine import Container, Engine
from pannier.engine.terminal import Ends
from pannier.errors import PannierError, UsageError, described
from pannier.launch import Building, Tell, Wish
from pannier.paths import Home
from pannier.threads import inbox
from pannier.threads.intake import take_in
from pannier.threads.queue import (
    Queue,
    Waiting,
    new_message,
    open_queue,
    queue_file,
    tell_queue,
)
from pannier.threads.store import open_store, threads_file

# A session id is a claim of the container: none that a client would take for an option.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_NO_ENDS = Ends(tty=False, stdin=False)


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
    except PannierError as error:
        return error.message
    except OSError as error:
        return described(error)
    return ""


@dataclass(frozen=True)
class Start:
    """How the client would be started with what waits. `inside`: in this container."""

    client: Client
    session: str
    """The one that goes on; "" for a new one."""
    inside: Container | None

    def command(self, prompt: str) -> tuple[str, ...]:
        if self.session and self.client.resume is not None:
            return self.client.resume(prompt, self.session)
        return self.client.headless(prompt)


def decide_start(
    engine: Engine, home: Home, environ: Mapping[str, str], letter: Letter, *, anew: bool = False
) -> Start | None:
    """How to start the thread's client without a person; None if it is at work already.

    It goes on with the thread's latest session, where the client can and one is known; `anew`
    begins one instead. A container that idles is used. Raises UsageError for a client that pannier
    cannot start so.
    """
    group = groups.get(home, letter.folder)
    client = groups.client_of(group, None)
    if not client.headless("x"):
        raise UsageError(
            f"pannier knows no way to start {client.title} without a person",
            f"The message can wait for its next turn: pannier send {letter.folder} …",
        )
    idle = None
    for container in engine.containers(str(home.root), letter.folder):
        if container.state != "running" or container.client != client.name:
            continue
        if running.is_up(container):
            if running.is_at_work(engine, container, letter.thread):
                return None
            if not engine.at_gate(container.id):
                idle = container
        elif container.thread == letter.thread:
            return None
    session = "" if anew else latest_session(home, environ, letter, client)
    return Start(client, session, idle)


def latest_session(home: Home, environ: Mapping[str, str], letter: Letter, client: Client) -> str:
    """The session of the client in which the thread last spoke; "" if none is known."""
    if client.resume is None:
        return ""
    with suppress(PannierError):
        take_in(home, environ, told=tell_queue(home, environ))
    with open_store(threads_file(home, environ)) as store:
        try:
            thread = store.find_thread(f"{letter.folder}/{letter.thread}")
        except UsageError:
            return ""
        spoken = [
            one
            for one in store.sessions(thread.id)
            if one.client == client.name and one.last_message and _SESSION.fullmatch(one.session)
        ]
    return max(spoken, key=lambda one: one.last_message or 0).session if spoken else ""


def start(
    engine: Engine,
    home: Home,
    environ: Mapping[str, str],
    letter: Letter,
    how: Start,
    tell: Tell,
    building: Building,
) -> int:
    """Start the client with what waits for the thread as its prompt. Returns its own status.

    With status 0 the messages were delivered; otherwise they wait again. Without anything to tell,
    because a hook was quicker, nothing is started.
    """
    group = home.group(letter.folder)
    path = queue_file(home, environ)
    with open_queue(path) as queue:
        taken = inbox.take_out(queue, group, letter.thread)
    if not taken:
        return 0
    status = 1
    try:
        command = how.command(inbox.prompt_of(taken))
        status = _run(engine, home, environ, letter, how, command, tell, building)
    finally:
        _conclude(path, home, letter.folder, taken, delivered=status == 0)
    return status


def _conclude(
    path: Path, home: Home, folder: str, taken: list[Waiting], *, delivered: bool
) -> None:
    with open_queue(path) as queue:
        if delivered:
            queue.delivered(folder, [row.message.id for row in taken])
        else:
            inbox.put_back(queue, home.group(folder), taken)


def _run(
    engine: Engine,
    home: Home,
    environ: Mapping[str, str],
    letter: Letter,
    how: Start,
    command: tuple[str, ...],
    tell: Tell,
    building: Building,
) -> int:
    if how.inside is not None:
        program = running.decide_exec(
            engine,
            home,
            letter.folder,
            client=how.client.name,
            thread=letter.thread,
            cwd=None,
            entrypoint=command[0],
            args=command[1:],
        )
        return running.exec_in(engine, home, program, _NO_ENDS)
    wish = Wish(letter.folder, thread=letter.thread, entrypoint=command[0], args=tuple(command[1:]))
    plan = launch.decide(home, wish, environ)
    return launch.run(engine, home, plan, environ, tell, building, _NO_ENDS)

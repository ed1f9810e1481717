"""Starting a thread's client without a person, with the messages that wait as its prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pannier import groups, launch, running
from pannier.clients import Client
from pannier.engine import Container, Engine
from pannier.engine.terminal import Ends
from pannier.errors import PannierError, UsageError
from pannier.launch import Building, Tell, Wish
from pannier.outdated import warn
from pannier.paths import Home
from pannier.threads import inbox
from pannier.threads.intake import take_in
from pannier.threads.queue import Waiting, open_queue, queue_file, tell_queue
from pannier.threads.store import open_store, threads_file

# A session id is a claim of the container: none that a client would take for an option.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True)
class Start:
    """How the client would be started."""

    client: Client
    session: str
    """The one that goes on; "" for a new one."""
    inside: Container | None
    """The container that idles and is used; None: one of its own."""

    def command(self, prompt: str) -> tuple[str, ...]:
        if self.session and self.client.resume is not None:
            return self.client.resume(prompt, self.session)
        return self.client.headless(prompt)


@dataclass(frozen=True)
class Starter:
    """Starts the client of one thread."""

    engine: Engine
    home: Home
    environ: Mapping[str, str]
    folder: str
    thread: str = running.DEFAULT_THREAD

    def decide(self, *, anew: bool = False) -> Start | None:
        """How to start the client; None if it is at work already. Changes nothing.

        It goes on with the thread's latest session, where the client can and one is known; `anew`
        begins one instead. A container that idles is used. Raises UsageError for a client that
        pannier cannot start so.
        """
        client = groups.client_of(groups.get(self.home, self.folder), None)
        if not client.headless("x"):
            raise UsageError(
                f"pannier knows no way to start {client.title} without a person",
                f"The message can wait for its next turn: pannier send {self.folder} …",
            )
        idle = None
        for container in self.engine.containers(str(self.home.root), self.folder):
            if container.state != "running" or container.client != client.name:
                continue
            if running.is_up(container):
                if running.is_at_work(self.engine, container, self.thread):
                    return None
                if not self.engine.at_gate(container.id):
                    idle = container
            elif container.thread == self.thread:
                return None
        return Start(client, "" if anew else self.latest_session(client), idle)

    def latest_session(self, client: Client) -> str:
        """The session of the client in which the thread last spoke; "" if none is known."""
        if client.resume is None:
            return ""
        with suppress(PannierError):
            take_in(self.home, self.environ, told=tell_queue(self.home, self.environ))
        with open_store(threads_file(self.home, self.environ)) as store:
            try:
                thread = store.find_thread(f"{self.folder}/{self.thread}")
            except UsageError:
                return ""
            spoken = [
                one
                for one in store.sessions(thread.id)
                if one.client == client.name
                and one.last_message
                and _SESSION.fullmatch(one.session)
            ]
        return max(spoken, key=lambda one: one.last_message or 0).session if spoken else ""

    def run(self, how: Start, tell: Tell, building: Building) -> int | None:
        """Start the client with what waits, and again with what came meanwhile. Returns its own
        status; None if another process started it already: it receives the messages.

        With status 0 the messages were delivered; otherwise, also when this process was told to
        end meanwhile (128 + N after a signal N), they wait again. Where a hook was
        quicker, there is nothing to tell, and nothing is started.
        """
        status: int | None = None
        next_: Start | None = how
        while next_ is not None:
            with open_queue(queue_file(self.home, self.environ)) as queue:
                taken = inbox.take_out(queue, self.home.group(self.folder), self.thread)
            if taken is None:
                return status
            if not taken:
                return status or 0
            status = self._tell(next_, taken, tell, building)
            if status != 0:
                return status
            next_ = self.decide()
        return status

    def _tell(self, how: Start, taken: list[Waiting], tell: Tell, building: Building) -> int:
        signals: list[int] = []
        ends = Ends(tty=False, stdin=False, heard=signals.append)
        status = None
        try:
            status = self._start(how, how.command(inbox.prompt_of(taken)), tell, building, ends)
            # Gemini CLI ends with 0 also when it was told to end in the middle of its turn.
            status = status or (128 + signals[0] if signals else 0)
            return status
        finally:
            with open_queue(queue_file(self.home, self.environ)) as queue:
                if status == 0:
                    queue.delivered(self.folder, [row.message.id for row in taken])
                else:
                    inbox.put_back(queue, self.home.group(self.folder), taken)

    def _start(
        self, how: Start, command: tuple[str, ...], tell: Tell, building: Building, ends: Ends
    ) -> int:
        if how.inside is None:
            wish = Wish(self.folder, thread=self.thread, entrypoint=command[0], args=command[1:])
            plan = launch.decide(self.home, wish, self.environ)
            return launch.run(self.engine, self.home, plan, self.environ, tell, building, ends)
        warn(self.engine, self.home, how.inside, groups.get(self.home, self.folder), tell)
        program = running.decide_exec(
            self.engine,
            self.home,
            self.folder,
            client=how.client.name,
            thread=self.thread,
            cwd=None,
            entrypoint=command[0],
            args=command[1:],
        )
        return running.exec_in(self.engine, self.home, program, ends)

"""Starting a thread's client without a person: where, in which session, and the run itself."""

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
from pannier.threads.intake import take_in
from pannier.threads.queue import tell_queue
from pannier.threads.rows import SessionRow
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

    @property
    def where(self) -> str:
        """In words."""
        return f"in {self.inside.name}" if self.inside else "in a container of its own"


@dataclass(frozen=True)
class Starter:
    """Starts the client of one thread."""

    engine: Engine
    home: Home
    environ: Mapping[str, str]
    folder: str
    thread: str = running.DEFAULT_THREAD

    def place(self, client: Client, session: str, *, alone: bool = False) -> Start | None:
        """Where the client would go on with a session; None if it is at work on the thread, or
        somebody has it open. Changes nothing. A container that idles is used.

        `alone`: None also if another client is at work on the thread.
        """
        idle = None
        for container in self.engine.containers(str(self.home.root), self.folder):
            mine = container.client == client.name
            if container.state != "running" or not (mine or alone):
                continue
            if self._is_at_work(container):
                return None
            if mine and running.is_up(container) and not self.engine.at_gate(container.id):
                idle = container
        return Start(client, session, idle)

    def _is_at_work(self, container: Container) -> bool:
        if running.is_up(container):
            return running.is_at_work(self.engine, container, self.thread)
        return container.thread == self.thread

    def spoken(self) -> list[SessionRow]:
        """The sessions in which the thread spoke, the latest last; without those that no client
        could be told to go on with."""
        with suppress(PannierError):
            take_in(self.home, self.environ, told=tell_queue(self.home, self.environ))
        with open_store(threads_file(self.home, self.environ)) as store:
            try:
                thread = store.find_thread(f"{self.folder}/{self.thread}")
            except UsageError:
                return []
            found = [
                one
                for one in store.sessions(thread.id)
                if one.last_message and _SESSION.fullmatch(one.session)
            ]
        return sorted(found, key=lambda one: one.last_message or 0)

    def run(
        self,
        start: Start,
        command: tuple[str, ...],
        tell: Tell,
        building: Building,
        ends: Ends | None = None,
    ) -> int:
        """Run it with this command, which nobody types at. Returns its status."""
        ends = ends or Ends(tty=False, stdin=False)
        if start.inside is None:
            wish = Wish(
                self.folder,
                client=start.client.name,
                thread=self.thread,
                entrypoint=command[0],
                args=command[1:],
            )
            plan = launch.decide(self.home, wish, self.environ)
            return launch.run(self.engine, self.home, plan, self.environ, tell, building, ends)
        warn(self.engine, self.home, start.inside, groups.get(self.home, self.folder), tell)
        program = running.decide_exec(
            self.engine,
            self.home,
            self.folder,
            client=start.client.name,
            thread=self.thread,
            cwd=None,
            entrypoint=command[0],
            args=command[1:],
        )
        return running.exec_in(self.engine, self.home, program, ends)

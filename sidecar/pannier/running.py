"""A group's containers once they are there: found, entered, stopped."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from pannier import clients, groups, owner
from pannier.engine import Container, Engine, terminal
from pannier.engine.terminal import Ends
from pannier.errors import EngineError, UsageError
from pannier.paths import Home
from pannier.safefs import lock
from pannier.sandbox.recording import Recorder
from pannier.shown import brief

DEFAULT_THREAD = "main"
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}")


def check_thread(name: str) -> None:
    """Raises UsageError if this cannot be a thread's name."""
    if not _THREAD.fullmatch(name):
        raise UsageError(
            f"{brief(name, 60)!r} cannot name a thread",
            "Use letters, digits and . _ : @ + -, beginning with a letter or digit.",
        )


@dataclass(frozen=True)
class Program:
    """What `exec` runs, and where."""

    container: Container
    argv: tuple[str, ...]
    workdir: str
    thread: str
    mark: str
    """In its environment, and so in that of its children: by it they are found and ended."""


def decide_exec(
    engine: Engine,
    home: Home,
    folder: str,
    *,
    client: str | None,
    thread: str,
    cwd: str | None,
    entrypoint: str | None,
    args: tuple[str, ...],
) -> Program:
    """The client, or another program, in the group's container.

    Raises UsageError, or EngineError if no container of the group is up.
    """
    check_thread(thread)
    group = groups.get(home, folder)
    container = choose_up(
        [c for c in engine.containers(str(home.root), folder) if is_up(c)],
        folder,
        client=client,
        usual=group.settings.client,
    )
    if engine.at_gate(container.id):
        raise EngineError(
            f"{container.name} was never let go: its start was interrupted, or is under way",
            f"If it does not go on: pannier stop {folder}",
        )
    program = (entrypoint,) if entrypoint else clients.get(container.client).program
    if not program:
        raise UsageError(
            f"{container.name} runs {clients.get(container.client).title}",
            "Name the program with --entrypoint.",
        )
    workdir = workdir_of(group, cwd)
    return Program(container, (*program, *args), str(workdir), thread, secrets.token_hex(8))


def workdir_of(group: groups.Group, cwd: str | None) -> PurePosixPath:
    """Absolute path in the container. Raises UsageError for one with `..`."""
    workdir = PurePosixPath(group.settings.workdir, cwd or "")
    if ".." in workdir.parts:
        raise UsageError(f"the working directory {workdir} must not hold '..'")
    return workdir


def exec_in(engine: Engine, home: Home, program: Program, ends: Ends | None = None) -> int:
    """Run it in this terminal. Returns its status. A signal goes to it and its children."""
    ends = ends or Ends.here()
    command = terminal.exec_attached(
        program.container.id,
        program.argv,
        ends,
        environment={"PANNIER_THREAD": program.thread, _MARK: program.mark},
        workdir=program.workdir,
    )

    def forward(number: int) -> None:
        with suppress(EngineError):
            signal = ["sh", "-c", _SIGNAL_ALL, "sh", f"{_MARK}={program.mark}", str(number)]
            engine.exec(program.container.id, signal)

    recorder = Recorder(home, engine.environ)
    with recorder.visit(program.container.id, "exec", program.thread, tty=ends.tty) as visit:
        status = terminal.foreground(
            command, engine.environ, ends, begin=visit.begins, forward=forward
        )
        return visit.ends(status)


def is_at_work(engine: Engine, container: Container, thread: str) -> bool:
    """Whether something that `exec` started for this thread runs in the container."""
    found, _ = engine.exec(
        container.id, ["sh", "-c", _AT_WORK, "sh", f"{_MARK}=", f"PANNIER_THREAD={thread}"]
    )
    return found == 0


_MARK = "PANNIER_EXEC"
# The engine hands no signal on to what `exec` started.
_SIGNAL_ALL = """
for process in /proc/[0-9]*; do
    if tr '\\0' '\\n' < "$process/environ" 2>/dev/null | grep -qxF "$1"; then
        kill -"$2" "${process#/proc/}"
    fi
done
"""
_AT_WORK = """
for process in /proc/[0-9]*; do
    environment=$(tr '\\0' '\\n' < "$process/environ" 2>/dev/null)
    case "$environment" in
        *"$1"*) printf '%s\\n' "$environment" | grep -qxF "$2" && exit 0 ;;
    esac
done
exit 1
"""


@contextmanager
def one_start(home: Home, folder: str, client: str, *, seconds: float = 60) -> Iterator[None]:
    """Nobody else looks whether this client of the group is up, and starts it, meanwhile.

    Raises EngineError if another pannier goes on with that.
    """
    with alone(home, f"up-{folder}-{client}", seconds=seconds) as taken:
        if not taken:
            raise EngineError(
                f"another pannier has been starting {folder} for {seconds:g} s",
                "Look at: pannier ps",
            )
        yield


@contextmanager
def alone(home: Home, name: str, *, seconds: float) -> Iterator[bool]:
    """Whether this process has the lock of this name, after so many seconds at most.

    It lies in `state/`, which no container can reach.
    """
    with lock.alone(home.state, name, seconds=seconds) as taken:
        yield taken


def is_up(container: Container) -> bool:
    """Whether it idles for `exec`."""
    return container.role == "up" and container.state == "running"


def choose_up(found: list[Container], folder: str, *, client: str | None, usual: str) -> Container:
    """The container that `exec` means. Pure.

    The one of `client`; without that the only one there is, else the one of the group's usual
    client. Raises EngineError.
    """
    wanted = [c for c in found if client in (None, c.client)]
    if len(wanted) > 1 and client is None:
        wanted = [c for c in wanted if c.client == usual] or wanted
    if not wanted:
        of = f" of {client}" if client else ""
        to = f" --client {client}" if client else ""
        raise EngineError(
            f"group {folder} has no container{of} that is up", f"Start it: pannier up {folder}{to}"
        )
    if len(wanted) > 1:
        names = ", ".join(f"{c.name} ({c.client})" for c in wanted)
        apart = len({c.client for c in wanted}) > 1
        way = "Name the client with --client, or stop them" if apart else "Stop them"
        raise EngineError(
            f"group {folder} has several containers that are up: {names}",
            f"{way}: pannier stop {folder}",
        )
    return wanted[0]


def left_behind(engine: Engine, container: Container) -> bool:
    """Whether nobody looks after this container any more.

    One that is up looks after itself, once it was let go.
    """
    if not owner.is_gone(container.owner):
        return False
    if container.role != "up" or container.state == "created":
        return True
    if container.state in ("running", "restarting", "paused"):
        return engine.at_gate(container.id)
    return True


def report_left_behind(
    engine: Engine, home: Home, folder: str, tell: Callable[[str], None]
) -> None:
    """Say which containers of a group an earlier start left."""
    for container in engine.containers(str(home.root), folder):
        if left_behind(engine, container):
            tell(
                f"{container.name} ({container.state}) is left from an earlier start; "
                f"remove it with: pannier stop {folder}"
            )


def stop(
    engine: Engine, home: Home, folder: str, *, grace: int = 10, dry_run: bool = False
) -> list[Container]:
    """Stop and remove every container of a group, also what a crash left. Returns them."""
    found = engine.containers(str(home.root), home.group(folder).folder)
    if not found:
        groups.get(home, folder)  # A name that is no group's is a mistake, not a success.
    recorder, since = Recorder(home, engine.environ), time.time_ns()
    for container in found if not dry_run else []:
        engine.stop(container.id, grace=grace)
        recorder.ended(engine, container.id, since)
    return found

"""A group's containers once they are there: found, entered, stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pannier import clients, groups, owner
from pannier.engine import Container, Engine, terminal
from pannier.engine.terminal import Ends
from pannier.errors import EngineError, UsageError
from pannier.paths import Home

DEFAULT_THREAD = "main"
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}")


def check_thread(name: str) -> None:
    """Raises UsageError if this cannot be a thread's name."""
    if not _THREAD.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a thread",
            "Use letters, digits and . _ : @ + -, beginning with a letter or digit.",
        )


@dataclass(frozen=True)
class Program:
    """What `exec` runs, and where."""

    container: Container
    argv: tuple[str, ...]
    workdir: str
    thread: str


def decide_exec(
    engine: Engine,
    home: Home,
    folder: str,
    *,
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
    container = running_up(engine, home, group.folder)
    program = (entrypoint,) if entrypoint else clients.get(container.client).program
    workdir = PurePosixPath(group.settings.workdir, cwd or "")
    return Program(container, (*program, *args), str(workdir), thread)


def exec_in(program: Program, environ: Mapping[str, str]) -> int:
    """Run it in this terminal. Returns its status."""
    ends = Ends.here()
    command = terminal.exec_attached(
        program.container.id,
        program.argv,
        ends,
        environment={"PANNIER_THREAD": program.thread},
        workdir=program.workdir,
    )
    return terminal.foreground(command, environ, ends)


def running_up(engine: Engine, home: Home, folder: str) -> Container:
    """The idling container of a group.

    Raises EngineError if there is none.
    """
    for container in engine.containers(str(home.root), folder):
        if container.role == "up" and container.state == "running":
            return container
    raise EngineError(
        f"group {folder} has no container that is up", f"Start it: pannier up {folder}"
    )


def left_behind(container: Container) -> bool:
    """Whether nobody looks after this container any more."""
    if container.role == "up":
        return container.state not in ("running", "restarting", "paused")
    return owner.is_gone(container.owner)


def report_left_behind(
    engine: Engine, home: Home, folder: str, tell: Callable[[str], None]
) -> None:
    for container in engine.containers(str(home.root), folder):
        if left_behind(container):
            tell(
                f"{container.name} ({container.state}) is left from an earlier start; "
                f"remove it with: pannier stop {folder}"
            )


def stop(
    engine: Engine, home: Home, folder: str, *, grace: int = 10, dry_run: bool = False
) -> list[Container]:
    """Stop and remove every container of a group, also what a crash left. Returns them."""
    home.group(folder)
    found = engine.containers(str(home.root), folder)
    for container in found if not dry_run else []:
        engine.stop(container.id, grace=grace)
    return found

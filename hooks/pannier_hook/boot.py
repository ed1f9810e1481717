"""The entrypoint of an agent's image: prepares memory and HOME, then becomes the client.

Nothing here keeps the client from starting; what went wrong goes to the spool. The gate alone
does: when the sidecar asked for it, the client begins after the sidecar's signal and not before.
"""

from __future__ import annotations

import os
import signal
import time

from . import home
from .scaffold import scaffold
from .sessions import FOLDER
from .spool import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .options import Options
    from .scaffold import ScaffoldReport

AT_GATE = "pannier-gate"
"""The name that the process bears while it waits at the gate; `look` finds it by that."""

LEFTOVERS = 0.5
"""Seconds that go into what killed sessions left behind."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def boot(options: Options, words: Sequence[str], mask: set[int]) -> int:
    """Prepare, wait at the gate, become the command. Returns only when there is none to become.

    SIGUSR1 is blocked when this is called; `mask` is the signal mask that the command gets.
    """
    try:
        options.read(words)
    except ValueError as problem:
        _say(str(problem))
        return 2
    for step in (_scaffold, _register, _skeleton):
        _attempt(options, step)
    if os.environ.get("PANNIER_GATE") == "1":
        _wait_at_gate(options)
    # Not before: until then, nobody knows that the folders are the group's own.
    _attempt(options, _leftovers)
    return _become(options.command, mask)


def scaffold_root(options: Options) -> str:
    """Make what is missing of the memory below the root; a line for each file. Raises OSError."""
    done = _scaffold_memory(options.root)
    lines = [f"created memory/{path}" for path in done.created]
    lines += [f"kept memory/{path}" for path in done.kept]
    lines += [f"left alone memory/{odd.path}: {odd.reason}" for odd in done.odd]
    return "".join(f"{line}\n" for line in lines)


def _attempt(options: Options, step: Callable[[Options], None]) -> None:
    try:
        step(options)
    except Exception as problem:
        report(options, problem)


def _scaffold(options: Options) -> None:
    for odd in _scaffold_memory(options.root).odd:
        report(options, f"{options.root}/memory/{odd.path}: {odd.reason}")


def _scaffold_memory(root: str) -> ScaffoldReport:
    base = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            os.mkdir("memory", 0o777, dir_fd=base)
        except OSError:
            pass
        memory = os.open("memory", _FOLDER, dir_fd=base)
    finally:
        os.close(base)
    try:
        return scaffold(memory)
    finally:
        os.close(memory)


def _register(options: Options) -> None:
    home.register_user(options.home)


def _skeleton(options: Options) -> None:
    if options.home:
        for line in home.copy_skeleton(options.home):
            report(options, line)


def _leftovers(options: Options) -> None:
    """Of sessions that ended with the container before this one."""
    if not os.path.isdir(f"{options.spool}/{FOLDER}"):
        return
    from .leftovers import look

    look(options, time.monotonic() + LEFTOVERS)


def _wait_at_gate(options: Options) -> None:
    """Wait for SIGUSR1, for as long as it takes: who never sends it stops the container."""
    try:
        with open("/proc/self/comm", "w", encoding="ascii") as name:
            name.write(AT_GATE)
    except OSError as problem:
        report(options, problem)
    signal.sigwait({signal.SIGUSR1})


def _become(command: Sequence[str], mask: set[int]) -> int:
    if not command:
        _say("no command after --: nothing to start")
        return 2
    # Python ignores these two; a program expects to begin without that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        os.execvp(command[0], list(command))
    except FileNotFoundError:
        _say(f"no such command: {command[0]}")
        return 127
    except OSError as problem:
        _say(f"{command[0]} cannot be run: {problem.strerror}")
        return 126


def _say(text: str) -> None:
    os.write(2, f"pannier-hook boot: {text}\n".encode("utf-8", "replace"))

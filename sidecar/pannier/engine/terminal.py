"""The terminal: what docker's own command does better than the SDK.

`docker start -ai` and `docker exec -it` put the terminal into raw mode and follow its size.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from pannier.errors import EngineError, Interrupted

# Docker's own keys to detach begin with Ctrl-P, which shells and editors need. Nobody types this.
DETACH_KEYS = "ctrl-@,ctrl-_,ctrl-@,ctrl-_"

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Ends:
    """What a person has at the two ends of a command."""

    tty: bool
    """Both are a terminal: the program gets one."""
    stdin: bool
    """Something can be read. A terminal that only stands at the input, as in
    `pannier run scout -- -p hello | less`, is not handed on: the program would wait for it."""
    heard: Callable[[int], None] = lambda _number: None
    """Told of each signal that is handed on to the program."""

    @classmethod
    def here(cls) -> Ends:
        terminals = (os.isatty(0), os.isatty(1))
        return cls(tty=all(terminals), stdin=all(terminals) or not terminals[0])


def start_attached(container: str, ends: Ends) -> list[str]:
    """The command line that starts a created container in this terminal."""
    stdin = ["--interactive"] if ends.stdin else []
    return ["docker", "start", "--attach", *stdin, "--detach-keys", DETACH_KEYS, container]


def exec_attached(
    container: str, argv: Sequence[str], ends: Ends, *, environment: Mapping[str, str], workdir: str
) -> list[str]:
    """The command line that runs `argv` in a running container in this terminal."""
    options = ["--detach-keys", DETACH_KEYS, "--workdir", workdir]
    options += ["--interactive"] if ends.stdin else []
    options += ["--tty"] if ends.tty else []
    for name, value in environment.items():
        options += ["--env", f"{name}={value}"]
    return ["docker", "exec", *options, container, *argv]


def foreground(
    argv: Sequence[str],
    environ: Mapping[str, str],
    ends: Ends,
    *,
    before: Callable[[], None] = lambda: None,
    begin: Callable[[], None] = lambda: None,
    forward: Callable[[int], None] | None = None,
) -> int:
    """Run docker's command in the foreground. Returns its status, 128 + N after a signal N.

    Once the command runs, `before` is called, then `begin`, which lets the program go; if one of
    them raises, the command is ended and the error goes on. A signal until then raises
    Interrupted; from `begin` on it goes to `forward`, or to docker's command if there is none:
    the program may have begun before `begin` is done. (Docker's own command gives up on SIGTERM
    and SIGINT where it should hand them on, so it is kept away from what the terminal sends.)
    """
    begun = False
    earlier = {number: signal.getsignal(number) for number in _ENDING}

    def received(number: int, _frame: FrameType | None) -> None:
        if not begun:
            raise Interrupted(number)
        ends.heard(number)
        if forward is not None:
            forward(number)
        else:
            process.send_signal(number)

    for number in _ENDING:
        signal.signal(number, received)
    try:
        # A process that reads the terminal must stay in its foreground group.
        process = _docker(argv, environ, own_group=not ends.tty)
        try:
            before()
            begun = True
            begin()
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _docker(
    argv: Sequence[str], environ: Mapping[str, str], *, own_group: bool
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(argv, env=dict(environ), process_group=0 if own_group else None)
    except FileNotFoundError as error:
        raise EngineError(
            "the command docker is not on the PATH", "pannier attaches your terminal with it."
        ) from error

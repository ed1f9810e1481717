"""The terminal: what docker's own command does better than the SDK.

`docker start -ai` and `docker exec -it` put the terminal into raw mode, follow its size and hand
signals on.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from pannier.errors import EngineError

# Docker's own keys to detach begin with Ctrl-P, which shells and editors need. Nobody types this.
DETACH_KEYS = "ctrl-@,ctrl-_,ctrl-@,ctrl-_"

_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def start_attached(container: str) -> list[str]:
    """The command line that starts a created container in this terminal."""
    return ["docker", "start", "-a", "-i", "--detach-keys", DETACH_KEYS, container]


def exec_attached(
    container: str, argv: Sequence[str], *, tty: bool, environment: Mapping[str, str], workdir: str
) -> list[str]:
    """The command line that runs `argv` in a running container in this terminal."""
    options = ["-i", *(["-t"] if tty else []), "--detach-keys", DETACH_KEYS, "-w", workdir]
    for name, value in environment.items():
        options += ["-e", f"{name}={value}"]
    return ["docker", "exec", *options, container, *argv]


def foreground(
    argv: Sequence[str], environ: Mapping[str, str], *, started: Callable[[], None] | None = None
) -> int:
    """Run docker's command in the foreground. Returns its status, 128 + N after a signal N.

    Ctrl-C reaches the command by the terminal, so it is ignored here; other signals that end a
    process are handed on. `started` is called once the command runs; if it raises, the command is
    ended and the error goes on.
    """
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, *_HANDED_ON)}
    try:
        process = subprocess.Popen(argv, env=dict(environ))
    except FileNotFoundError as error:
        raise EngineError(
            "the command docker is not on the PATH", "pannier attaches your terminal with it."
        ) from error

    def hand_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in _HANDED_ON:
            signal.signal(number, hand_on)
        if started is not None:
            started()
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def is_terminal() -> bool:
    """Whether a person sits at both ends."""
    return os.isatty(0) and os.isatty(1)

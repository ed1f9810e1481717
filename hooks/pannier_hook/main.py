"""pannier-hook EVENT --client CLIENT [--part I/N] [--source SOURCE] [--root DIR] [--spool DIR]

Events: session-start, user-prompt, post-tool, stop, pre-compact, post-compact, session-end and
permission-request, called by a client with its JSON on standard input; scaffold, which makes what
is missing of a memory's first files. They never exit other than 0.
Also boot [-- COMMAND …], the entrypoint of an agent's image; look PATH …, what it sees; and
command PID NOTE, which keeps in a file what that process prints, if that is long.

An agent of your own: --client custom prints the memory as plain text. Without JSON that names a
source on standard input, say it: --source startup for a fresh context, --source resume else.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs half a start of Python
import posix

from .options import Options, environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .clients import Client

DEADLINE = 1.8
"""Seconds after which an event gives up, whatever it waits for."""
LAST_DEADLINE = 0.8
"""The same at a session's end: clients do not wait long for that."""
_GRACE = 0.15


def main(words: Sequence[str]) -> int:
    """Do what the command line `words` ask; the exit status."""
    options = Options(environment())
    if words[:1] == ["boot"]:
        # Before anything else, so that an early signal waits for the gate instead of killing.
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGUSR1})
        from .boot import boot

        return boot(options, words, mask)
    if words[:1] == ["look"]:
        from .look import look

        return look(words[1:])
    if words[:1] == ["command"]:
        from .command import command

        return command(options, words)
    if not words or words[0] in ("--help", "--version"):
        return _about(words)
    if options.silent:
        return 0
    _signal.signal(_signal.SIGALRM, _too_late)
    last = words[0] == "session-end"
    _signal.setitimer(_signal.ITIMER_REAL, LAST_DEADLINE if last else DEADLINE)
    try:
        options.read(words)
        _act(options)
    except Exception as problem:
        _report(options, problem)
    return 0


def _act(options: Options) -> None:
    if options.event == "scaffold":
        from .boot import scaffold_root

        _print(scaffold_root(options))
        return
    if options.event == "permission-request":
        from .permission import permission_request

        _print(permission_request(options))
        return
    if options.event == "post-tool":
        from .posttool import post_tool

        post_tool(options, _client(options), _print, _report)
        return
    from .exchange import EVENTS, exchange

    if options.event not in EVENTS:
        raise ValueError(f"no such event: {options.event[:80]!r}")
    exchange(options, _client(options), _print, _report)


def _client(options: Options) -> Client:
    from .clients import CLIENTS

    client = CLIENTS.get(options.client)
    if client is None:
        raise ValueError(f"no such client: {options.client[:80]!r}; there are {', '.join(CLIENTS)}")
    return client


def _print(text: str) -> None:
    data = memoryview(text.encode("utf-8"))
    while data:
        data = data[posix.write(1, data) :]


def _report(options: Options, problem: Exception) -> None:
    """One line for a person who looks, and an event for the sidecar."""
    try:
        from .spool import report

        report(options, problem)
    except Exception:
        pass
    try:
        words = str(problem) or type(problem).__name__
        posix.write(2, f"pannier-hook {options.event}: {words}\n".encode("utf-8", "replace"))
    except OSError:
        pass


def _too_late(_number: int, _frame: object) -> None:
    _signal.signal(_signal.SIGALRM, lambda *_: posix._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, _GRACE)
    raise TimeoutError("gave up: the time was up")


def _about(words: Sequence[str]) -> int:
    from . import VERSION

    _print(f"{VERSION}\n" if words[:1] == ["--version"] else f"{__doc__}")
    return 0

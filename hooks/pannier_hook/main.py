"""pannier-hook EVENT --client CLIENT [--part I/N] [--source SOURCE] [--root DIR] [--spool DIR]

Events: session-start, user-prompt and permission-request, called by a client with its JSON on
standard input; scaffold, which makes what is missing of a memory's first files. They never exit
other than 0.
Also boot [-- COMMAND …], the entrypoint of an agent's image, and look PATH …, what it sees.

An agent of your own: --client custom prints the memory as plain text. Without JSON that names a
source on standard input, say it: --source startup for a fresh context, --source resume else.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs half a start of Python
import posix

from .options import Options, environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEADLINE = 1.8
"""Seconds after which an event gives up, whatever it waits for."""
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
    if not words or words[0] in ("--help", "--version"):
        return _about(words)
    _signal.signal(_signal.SIGALRM, _too_late)
    _signal.setitimer(_signal.ITIMER_REAL, DEADLINE)
    try:
        options.read(words)
        text = _event(options)(options)
        if text:
            _print(text)
    except Exception as problem:
        _report(options, problem)
    return 0


def _event(options: Options) -> Callable[[Options], str]:
    if options.event == "scaffold":
        from .boot import scaffold_root

        return scaffold_root
    if options.event == "permission-request":
        from .permission import permission_request

        return permission_request
    if options.event not in ("session-start", "user-prompt"):
        raise ValueError(f"no such event: {options.event[:80]!r}")
    from . import context
    from .clients import CLIENTS

    client = CLIENTS.get(options.client)
    if client is None:
        raise ValueError(f"no such client: {options.client[:80]!r}; there are {', '.join(CLIENTS)}")
    act = context.session_start if options.event == "session-start" else context.user_prompt
    return lambda given: act(given, client)


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
    raise TimeoutError(f"gave up after {DEADLINE} s")


def _about(words: Sequence[str]) -> int:
    from . import VERSION

    _print(f"{VERSION}\n" if words[:1] == ["--version"] else f"{__doc__}")
    return 0

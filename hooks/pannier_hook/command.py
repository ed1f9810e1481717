"""A command of the agent's whose output is kept in a file when it is long.

For a client that gives its hooks only a part of what a command printed (Codex). The command runs as
it would without: same folder, same input, same status. What it prints is passed on; once it is too
much, all of it goes into a file of the group, and in its place stands what a model needs of it. Of
a command that goes on and on, such as a server, what it prints is passed on as well.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import posix
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .options import Options
    from .tools import SpillSettings

SHOWN = 40_000
"""Bytes. Codex shows its model 10,000 tokens of an output, which it counts as four bytes each: what
it would leave out is kept, also where the threshold is higher."""
PATIENCE = 1.0
"""Seconds after which output is passed on as it comes: somebody may be waiting for it."""
QUIET = 8.0
"""Seconds for which nothing is passed on of an output that goes into a file. Codex shows its model
what there is after 10, unless the model says otherwise, and later whenever it asks again."""
MOST = 256 << 20
"""Bytes of one output that are kept. What follows is thrown away."""
TOOL = "Bash"
"""What Codex calls its tool for commands in its hooks."""

_TEXT = b"PANNIER_COMMAND"
_CAUGHT_UP = 2_000
"""Bytes that are passed on of what was not, once an output is."""
_CHUNK = 1 << 16
_LOOK = 200
"""Milliseconds between looks whether the command has ended, while another process of its holds the
pipe open."""
_GRACE = 0.5
"""Seconds for what the ended command left in the pipe, should others go on writing to it."""
_SIGNALS = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)
_IGNORED = (_signal.SIGPIPE, _signal.SIGXFSZ)
"""Signals that Python ignores; a program expects to begin without that."""


def command(options: Options, words: Sequence[str]) -> int:
    """Run what stands behind `--`; its status, as a shell tells it. Whatever goes wrong with
    keeping its output, it runs.

    A text in the variable `PANNIER_COMMAND` becomes its third word: as a shell's, it is seen by
    nobody who looks for a process by its words.
    """
    limit = 0
    try:
        options.read(words)
        limit = _limit(options)
    except ValueError as problem:
        _complain(options, problem)
    text = posix.environ.pop(_TEXT, None)
    if text is not None:
        told = options.command
        options.command = (*told[:2], text.decode("utf-8", "surrogateescape"), *told[2:])
    if not options.command:
        return 2
    if not limit:
        _become(options.command)
    output = Output(options.command)
    try:
        _pass_on(options, output, limit)
    except BrokenPipeError:
        pass  # Nobody listens any more, as it would be without us.
    return output.status()


class Output:
    """A running command, and what it prints: standard output and standard error together."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.began = time.monotonic()
        self._pipe, theirs = posix.pipe()
        self._pid = posix.posix_spawn(
            argv[0],
            _raw(argv),
            posix.environ,
            file_actions=[
                (posix.POSIX_SPAWN_DUP2, theirs, 1),
                (posix.POSIX_SPAWN_DUP2, theirs, 2),
            ],
            setsigdef=_IGNORED,
        )
        posix.close(theirs)
        self.over = False
        self._status: int | None = None
        self._ended = 0.0
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)
        self._poll.register(1, 0)
        for number in _SIGNALS:
            _signal.signal(number, self._hand_on)

    def chunks(self, until: float | None = None) -> Iterator[bytes]:
        """What it prints, as it comes; to its end, or to the time `until`. Processes that it left
        behind are not waited for. Raises BrokenPipeError when nobody listens any more."""
        while until is None or time.monotonic() < until:
            left = _LOOK if until is None else min(_LOOK, 1_000 * (until - time.monotonic()))
            found = self._poll.poll(max(0, left))
            if any(file == 1 for file, _ in found):
                raise BrokenPipeError
            if found:
                chunk = posix.read(self._pipe, _CHUNK)
                if chunk:
                    yield chunk
                late = self._has_ended() and time.monotonic() - self._ended > _GRACE
                self.over = late or not chunk
            else:
                self.over = self._has_ended()
            if self.over:
                return

    def status(self) -> int:
        """Wait for its end. A signal that ended it ends this process as well."""
        posix.close(self._pipe)
        if self._status is None:
            self._status = posix.waitpid(self._pid, 0)[1]
        code = posix.waitstatus_to_exitcode(self._status)
        if code < 0:
            if -code != _signal.SIGKILL:
                _signal.signal(-code, _signal.SIG_DFL)
            posix.kill(posix.getpid(), -code)
        return code if code >= 0 else 128 - code

    def _has_ended(self) -> bool:
        if self._status is None:
            pid, status = posix.waitpid(self._pid, posix.WNOHANG)
            if pid:
                self._status, self._ended = status, time.monotonic()
        return self._status is not None

    def _hand_on(self, number: int, _frame: object) -> None:
        if self._status is None:
            posix.kill(self._pid, number)


def _pass_on(options: Options, output: Output, limit: int) -> None:
    """Print what the command prints, or what stands for it."""
    held, shown = bytearray(), 0
    for chunk in output.chunks(output.began + PATIENCE):
        held += chunk
        if len(held) > limit:
            break
    else:
        _write(held)
        shown = len(held)
        for chunk in output.chunks():
            held += chunk
            if len(held) > limit:
                break
            _write(chunk)
            shown = len(held)
        else:
            return
    _keep(options, output, held, shown)


def _keep(options: Options, output: Output, held: bytearray, shown: int) -> None:
    """Put `held`, of which `shown` bytes are printed, and all that comes into a file."""
    from .spill import keep, note
    from .spill import shown as said_of

    rest = _Rest(output, bytes(held), shown)
    try:
        kept = keep(options, _spill(options), TOOL, rest.chunks())
    except BrokenPipeError:
        raise
    except OSError as problem:
        _complain(options, problem)
        if not rest.loud:
            _write(held[shown:])
            if rest.size > len(held):
                _write(f"\n[{rest.size - len(held)} bytes are missing here: {problem}]\n".encode())
        for chunk in output.chunks():
            _write(chunk)
        return
    after = ""
    if rest.size > MOST:
        after = f"[The command printed {rest.size} bytes; the first {kept.size} are kept.]"
    text = f"\n{note(kept)}\n{after}" if rest.loud else said_of(kept, after=after)
    _write((text if text.endswith("\n") else f"{text}\n").encode("utf-8", "replace"))


class _Rest:
    """Output on its way into a file. `size`: how much of it came, kept or not; `loud`: it is passed
    on as well."""

    def __init__(self, output: Output, held: bytes, shown: int) -> None:
        self._output = output
        self._held = held
        self._shown = shown
        self.size = 0
        self.loud = False

    def chunks(self) -> Iterator[bytes]:
        quiet = self._output.began + QUIET
        if self._shown and time.monotonic() < quiet:
            _write(b"\n[More than that: from here on the output goes into a file.]\n")
        yield self._counted(self._held)
        for chunk in self._output.chunks(quiet):
            yield self._counted(chunk)
        if self._output.over:
            return
        self.loud = True
        self._catch_up()
        for chunk in self._output.chunks():
            _write(chunk)
            yield self._counted(chunk)

    def _counted(self, chunk: bytes) -> bytes:
        room = max(0, MOST - self.size)
        self.size += len(chunk)
        return chunk[:room]

    def _catch_up(self) -> None:
        """Pass on of what was not, and go on from there."""
        held = self._held[self._shown :]
        left = self.size - self._shown - len(held[:_CAUGHT_UP])
        _write(held[:_CAUGHT_UP])
        if left:
            _write(
                f"\n[{left} bytes are left out here. The command goes on; when it ends, all of its "
                "output will be in a file.]\n".encode()
            )


def _limit(options: Options) -> int:
    """Bytes that are passed on; 0 where nothing is ever kept."""
    if not options.context:
        return SHOWN
    from .settings import spill_of
    from .tools import threshold

    spill = spill_of(options.context)
    return min(SHOWN, threshold(spill, TOOL)) if spill.enabled else 0


def _spill(options: Options) -> SpillSettings:
    from .settings import spill_of

    return spill_of(options.context)


def _become(argv: Sequence[str]) -> None:
    for number in _IGNORED:
        _signal.signal(number, _signal.SIG_DFL)
    posix.execve(argv[0], _raw(argv), posix.environ)


def _raw(argv: Sequence[str]) -> list[bytes]:
    return [word.encode("utf-8", "surrogateescape") for word in argv]


def _write(data: bytes | bytearray) -> None:
    left = memoryview(data)
    while left:
        left = left[posix.write(1, left) :]


def _complain(options: Options, problem: Exception) -> None:
    """To the sidecar: what stands on standard error is the command's."""
    from .spool import report

    report(options, problem)

"""A command of the agent's of which all that it prints is kept in a file when that is long.

For a client that gives its hooks only a part of what a command printed (Codex). This process
becomes the command, so its number, group, session, status and signals are its own. What it prints
goes through a reader, which passes each byte on at once and says nothing of its own: the hook of
the client's event does, by what the reader leaves in a note (`commandcalls`).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import posix
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

    from .options import Options
    from .tools import SpillSettings

SHOWN = 40_000
"""Bytes. Codex shows its model 10,000 tokens of an output, which it counts as four bytes each: what
it would leave out is kept, also where the threshold is higher."""
HELD = 1 << 20
"""Bytes that are held in memory until the output is over: nothing is made, or waited for, while a
command of the usual length runs."""
MOST = 256 << 20
"""Bytes of one output that are kept."""
TOOL = "Bash"
"""What Codex calls its tool for commands in its hooks."""

_TEXT = b"PANNIER_COMMAND"
_CALL = b"CODEX_TOOL_CALL_ID"
_CHUNK = 1 << 16
"""A pipe holds no more."""
_LEFT_ALONE = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)
_IGNORED = (_signal.SIGPIPE, _signal.SIGXFSZ)
"""Signals that Python ignores; a program expects to begin without that."""


def command(options: Options, words: Sequence[str]) -> int:
    """Become what stands behind `--`. Whatever goes wrong with keeping its output, it runs. The
    status is of a call without a command; raises OSError when there is no such program.

    A text in the variable `PANNIER_COMMAND` becomes its third word: so nobody who looks for a
    process by its words finds the reader.
    """
    limit = 0
    try:
        options.read(words)
        limit = _limit(options)
    except ValueError as problem:
        _complain(options, problem)
    call = posix.environ.get(_CALL, b"").decode("utf-8", "surrogateescape")
    text = posix.environ.pop(_TEXT, None)
    if text is not None:
        told = options.command
        options.command = (*told[:2], text.decode("utf-8", "surrogateescape"), *told[2:])
    if not options.command:
        return 2
    if limit:
        try:
            _read_along(options, call, limit)
        except OSError as problem:
            _complain(options, problem)
    return _become(options.command)


def _read_along(options: Options, call: str, limit: int) -> None:
    """Put a pipe in the place of standard output and standard error, and a reader behind it that
    is nobody's child here. Raises OSError; then all is as before."""
    ours, theirs = posix.pipe()
    try:
        me = _watched()
        child = posix.fork()
        if not child:
            status = 1
            try:
                posix.setsid()
                if not posix.fork():
                    posix.close(theirs)
                    _read(options, call, limit, ours, me)
                status = 0
            finally:
                posix._exit(status)
        if posix.waitpid(child, 0)[1]:
            raise OSError("nobody can be made to keep what a command prints")
        posix.dup2(theirs, 1)
        posix.dup2(theirs, 2)
    finally:
        posix.close(ours)
        posix.close(theirs)


def _become(words: Sequence[str]) -> NoReturn:
    for number in _IGNORED:
        _signal.signal(number, _signal.SIG_DFL)
    posix.environ.pop(b"_", None)  # It names the hook.
    argv = [word.encode("utf-8", "surrogateescape") for word in words]
    posix.execve(argv[0], argv, posix.environ)


def _watched() -> int | None:
    """A descriptor that tells when this process has ended, where the system has such."""
    try:
        return posix.pidfd_open(posix.getpid())
    except (AttributeError, OSError):
        return None


def _read(options: Options, call: str, limit: int, pipe: int, process: int | None) -> None:
    for number in _LEFT_ALONE:
        _signal.signal(number, _signal.SIG_IGN)
    nothing = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(nothing, 0)
    posix.dup2(nothing, 2)
    try:
        # Who ends all programs of a kind does not mean this one.
        name = posix.open("/proc/self/comm", posix.O_WRONLY)
        posix.write(name, b"pannier-hook")
        posix.close(name)
    except OSError:
        pass
    output = Output(pipe, process)
    held = bytearray()
    try:
        for chunk in output.chunks():
            held += chunk
            if len(held) > HELD:
                break
        if len(held) > limit:
            _keep(options, call, output, bytes(held))
    except BrokenPipeError:
        return  # Nobody listens any more: the command is to see that as well.
    except Exception as problem:
        _complain(options, problem)
    held.clear()
    output.pass_on_all()


class Output:
    """What a command prints; whatever is taken of it has been passed on."""

    __slots__ = ("_over", "_pipe", "_poll", "_process", "size")

    def __init__(self, pipe: int, process: int | None) -> None:
        self._pipe = pipe
        self._process = process
        self._over = False
        self.size = 0
        """Bytes that `chunks` gave."""
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)
        self._poll.register(1, 0)
        if process is not None:
            self._poll.register(process, select.POLLIN)

    def chunks(self) -> Iterator[bytes]:
        """What the command prints, as it comes, to the command's end. Raises BrokenPipeError when
        nobody listens any more."""
        late = 0
        while not self._over:
            ready = {file for file, _ in self._poll.poll()}
            if 1 in ready:
                raise BrokenPipeError
            ended = self._process in ready
            if self._pipe not in ready or late > _CHUNK:
                self._over = True  # What others of its processes print later is not the command's.
                return
            chunk = self._pass_on()
            self._over = not chunk
            self.size += len(chunk)
            late += len(chunk) if ended else 0
            if chunk:
                yield chunk

    def pass_on_all(self) -> None:
        """To the end, which is when the last process has closed it. Raises as `chunks`."""
        if self._process is not None:
            self._poll.unregister(self._process)
        while True:
            if any(file == 1 for file, _ in self._poll.poll()):
                raise BrokenPipeError
            if not self._pass_on():
                return

    def _pass_on(self) -> bytes:
        chunk = posix.read(self._pipe, _CHUNK)
        left = memoryview(chunk)
        while left:
            left = left[posix.write(1, left) :]
        return chunk


def _keep(options: Options, call: str, output: Output, held: bytes) -> None:
    """Keep `held` and what follows. It is done before the client sees the end of the output."""
    from .commandcalls import Note
    from .spill import keep

    note = Note(options, call)
    try:
        kept = keep(options, _spill(options), TOOL, _bounded(held, output))
    except BaseException:
        note.drop()
        raise
    note.write(kept, output.size)


def _bounded(held: bytes, output: Output) -> Iterator[bytes]:
    room = MOST
    for chunks in ((held,), output.chunks()):
        for chunk in chunks:
            yield chunk[:room]
            room = max(0, room - len(chunk))


def _limit(options: Options) -> int:
    """Bytes beyond which an output is kept; 0 where nothing ever is."""
    if not options.context:
        return SHOWN
    from .tools import threshold

    spill = _spill(options)
    return min(SHOWN, threshold(spill, TOOL)) if spill.enabled else 0


def _spill(options: Options) -> SpillSettings:
    from .settings import spill_of

    return spill_of(options.context)


def _complain(options: Options, problem: Exception) -> None:
    """To the sidecar: what stands on standard error is the command's."""
    from .spool import report

    report(options, problem)

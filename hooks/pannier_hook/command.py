"""Keeps in a file what a command of the agent's prints, when that is long.

For a client that gives its hooks only a part of it (Codex), or may not have all of it itself
(OpenCode). The command's own shell asks for a
reader and puts the reader's pipe in the place of its output, so it stays what it is: its number,
group, session, children and status are its own. The reader passes each byte on at once and says
nothing: the hook of the client's event does, by what the reader leaves in a note (`commandcalls`).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import posix
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .options import Options
    from .tools import SpillSettings

HELD = 1 << 20
"""Bytes that are held in memory until the output is over: nothing is made, or waited for, while a
command of the usual length runs."""
MOST = 256 << 20
"""Bytes of one output that are kept."""

OUTPUT = 9
"""The descriptor of the command's output. At 1 the reader tells the name of its pipe."""

_CHUNK = 1 << 16
"""A pipe holds no more."""
_LEFT_ALONE = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)


def command(options: Options, words: Sequence[str]) -> int:
    """Make a reader for the process whose number stands in `words`, and print the name of its pipe.
    The note's name follows the number. Status 1 when there is none: then the command's output stays
    where it is."""
    try:
        options.read(words)
        process, note = options.rest
        tool, limit = _tool_and_limit(options)
        if limit:
            _make_reader(options, int(process), Keeping(tool, limit, note))
        return 0 if limit else 1
    except (OSError, ValueError) as problem:
        _complain(options, problem)
        return 1


class Keeping:
    """What is kept: more than `limit` bytes of the output of `tool`; where, says `note`. Frozen by
    custom."""

    __slots__ = ("limit", "note", "tool")

    def __init__(self, tool: str, limit: int, note: str) -> None:
        self.tool = tool
        self.limit = limit
        self.note = note


def _make_reader(options: Options, command: int, keeping: Keeping) -> None:
    """It is in a session of its own, and nobody's child once this process has ended. Raises
    OSError."""
    posix.fstat(OUTPUT)  # Nothing fails any more once the command has the pipe.
    process = posix.pidfd_open(command)
    pipe, theirs = posix.pipe()
    if posix.fork():
        return
    try:
        posix.setsid()
        _hide()
        posix.write(1, f"/proc/{posix.getpid()}/fd/{theirs}\n".encode())
        posix.dup2(OUTPUT, 1)
        posix.close(OUTPUT)
        _read(options, keeping, Output(pipe, theirs, process))
    finally:
        posix._exit(0)


def _hide() -> None:
    """Be in nobody's way, and hold nothing that is not needed."""
    for number in _LEFT_ALONE:
        _signal.signal(number, _signal.SIG_IGN)
    try:
        # Who ends all programs of a kind does not mean this one.
        name = posix.open("/proc/self/comm", posix.O_WRONLY)
        posix.write(name, b"pannier-hook")
        posix.close(name)
    except OSError:
        pass
    nothing = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(nothing, 0)
    posix.dup2(nothing, 2)
    posix.close(nothing)


def _read(options: Options, keeping: Keeping, output: Output) -> None:
    held = bytearray()
    try:
        for chunk in output.chunks():
            held += chunk
            if len(held) > HELD:
                break
        if len(held) > keeping.limit:
            _keep(options, keeping, output, bytes(held))
    except BrokenPipeError:
        return  # Nobody listens any more: the command is to see that as well.
    except Exception as problem:
        _complain(options, problem)
    held.clear()
    output.pass_on_all()


class Output:
    """What a command prints; whatever is taken of it has been passed on."""

    __slots__ = ("_over", "_pipe", "_poll", "_process", "_theirs", "size")

    def __init__(self, pipe: int, theirs: int, process: int) -> None:
        """`pipe` is read; `theirs`, its other end, stays open until the command has it as well."""
        self._pipe = pipe
        self._theirs = theirs
        self._process = process
        self._over = False
        self.size = 0
        """Bytes that `chunks` gave."""
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)
        self._poll.register(1, 0)
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
            self._let_go()
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
        self._poll.unregister(self._process)
        while True:
            if any(file == 1 for file, _ in self._poll.poll()):
                raise BrokenPipeError
            if not self._pass_on():
                return

    def _let_go(self) -> None:
        """The command has begun to print, or it has ended."""
        if self._theirs >= 0:
            posix.close(self._theirs)
            self._theirs = -1

    def _pass_on(self) -> bytes:
        chunk = posix.read(self._pipe, _CHUNK)
        left = memoryview(chunk)
        while left:
            left = left[posix.write(1, left) :]
        return chunk


def _keep(options: Options, keeping: Keeping, output: Output, held: bytes) -> None:
    """Keep `held` and what follows. It is done before the client sees the end of the output."""
    from .commandcalls import Note
    from .spill import keep

    note = Note(options, keeping.note)
    try:
        kept = keep(options, _spill(options), keeping.tool, _bounded(held, output))
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


def _tool_and_limit(options: Options) -> tuple[str, int]:
    """The client's tool for commands, and the bytes beyond which an output is kept; 0 where nothing
    ever is. What the client would not show is kept also where the threshold is higher."""
    from .clients import CLIENTS

    client = CLIENTS.get(options.client)
    if client is None or not client.commands:
        raise ValueError(f"no client whose commands have a reader: {options.client[:80]!r}")
    if not options.context:
        return client.commands, client.shows
    from .tools import threshold

    spill = _spill(options)
    least = min(client.shows, threshold(spill, client.commands)) if spill.enabled else 0
    return client.commands, least


def _spill(options: Options) -> SpillSettings:
    from .settings import spill_of

    return spill_of(options.context)


def _complain(options: Options, problem: Exception) -> None:
    """To the sidecar: what stands on standard error is the command's."""
    from .spool import report

    report(options, problem)

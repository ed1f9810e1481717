"""What the reader of a command's output leaves for the hook of the client's event that follows:
where the output is kept. A file `files/.pannier/calls/<id of the call>`, which the hook removes.
"""

from __future__ import annotations

import posix
import time

from .folders import open_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Options
    from .spillnote import Kept

_PLACE = (".pannier", "calls")
"""Beside `spill.SPILL`, which is not imported: a client waits for the hook at each command."""
WAIT = 0.5
"""Seconds for which the hook waits for an output that is about to be kept."""

_STEP = 0.01
_OLD = 3600
"""Seconds after which nobody comes for a note any more: the turn was broken off."""
_MOST = 100
"""Notes that are looked at for that."""
_LONGEST = 1 << 14
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC


class Note:
    """The note of one call, which is there from now on, and empty until the output is kept. Raises
    OSError and, for a call without an id, ValueError."""

    __slots__ = ("_file", "_folder", "_name")

    def __init__(self, options: Options, call: str) -> None:
        if not _is_name(call):
            raise ValueError(f"no name for a note of a command: {call[:80]!r}")
        self._name = call
        self._folder = _opened(options, make=True)
        self._file = posix.open(call, _NEW, 0o600, dir_fd=self._folder)
        _remove_old(self._folder)

    def write(self, kept: Kept, size: int) -> None:
        """All of it is in `kept`, or its beginning where the command printed more: `size` bytes."""
        text = f"{size} {kept.size} {kept.lines} {kept.path}\n"
        posix.write(self._file, text.encode("utf-8", "surrogateescape"))

    def drop(self) -> None:
        """It could not be kept."""
        posix.unlink(self._name, dir_fd=self._folder)


def waits(options: Options) -> bool:
    """Whether there is any note."""
    try:
        folder = _opened(options, make=False)
    except OSError:
        return False
    try:
        return bool(posix.listdir(folder))
    finally:
        posix.close(folder)


def take(options: Options, call: str) -> tuple[Kept, int] | None:
    """What was kept of the call's output, and how many bytes there were in all; None if nothing
    was. The note is gone then. Raises OSError and ValueError for a note that is not understood."""
    if not _is_name(call):
        return None
    try:
        folder = _opened(options, make=False)
    except OSError:
        return None
    try:
        text = _written(folder, call)
        posix.unlink(call, dir_fd=folder)
    except FileNotFoundError:
        return None
    finally:
        posix.close(folder)
    size, kept, lines, path = text.rstrip("\n").split(" ", 3)
    return _kept(path, int(kept), int(lines)), int(size)


def _written(folder: int, name: str) -> str:
    until = time.monotonic() + WAIT
    while True:
        file = posix.open(name, _READ, dir_fd=folder)
        try:
            text = posix.read(file, _LONGEST)
        finally:
            posix.close(file)
        if text.endswith(b"\n"):
            return text.decode("utf-8", "surrogateescape")
        if time.monotonic() > until:
            raise TimeoutError("keeping a command's output takes too long: its model is not told")
        time.sleep(_STEP)


def _kept(path: str, size: int, lines: int) -> Kept:
    from .spillnote import ENDS, Kept, ends_of

    file = posix.open(path, _READ)
    try:
        first, last = posix.pread(file, ENDS, 0), posix.pread(file, ENDS, max(0, size - ENDS))
    finally:
        posix.close(file)
    return Kept(path, size, lines, *ends_of(first, last, size))


def _opened(options: Options, *, make: bool) -> int:
    return open_below(f"{options.root.rstrip('/')}/files", _PLACE, make=make)


def _is_name(call: str) -> bool:
    return 0 < len(call) <= 128 and _PLAIN.issuperset(call)


def _remove_old(folder: int) -> None:
    now = time.time()
    for name in posix.listdir(folder)[:_MOST]:
        try:
            if now - posix.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _OLD:
                posix.unlink(name, dir_fd=folder)
        except OSError:
            continue

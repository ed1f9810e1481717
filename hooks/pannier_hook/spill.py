"""Results of tools that are too large for a context, kept in files of the group:
`files/.pannier/spill/<thread>/<time>-<tool>-<random>.txt`.

Everything there can be removed or replaced by the agent; nothing is followed out of it.
"""

from __future__ import annotations

import posix
import time

from .folders import open_below
from .spillnote import ENDS, Kept, ends_of, shown, spilled_in
from .spool import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .options import Options
    from .tools import SpillSettings

__all__ = [
    "Kept",
    "keep",
    "kept_paths",
    "shown",
    "spilled_in",
]

FOLDER = ".pannier"
SPILL = "spill"
SUFFIX = ".txt"
DRAFT = ".part"
"""What follows the name of a file that is still being written."""

_LONGEST_SLUG = 40
_RANDOM = 8
_DIGITS = frozenset("0123456789abcdef")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC


def keep(options: Options, settings: SpillSettings, tool: str, chunks: Iterable[bytes]) -> Kept:
    """Keep the result of `tool`, UTF-8 that comes in `chunks`, in a file of the thread's, and
    remove old ones. It is a new file, unless one holds all of it: so what is read of one is not
    kept again. Raises OSError, and whatever `chunks` raise; then no new file is left.

    The file is not flushed to the disk: an agent would wait for it.
    """
    names = (FOLDER, SPILL, folder_of(options.thread))
    files = f"{options.root.rstrip('/')}/files"
    folder = open_below(files, names, make=True)
    try:
        _hide(files)
        name, measure = _write(folder, new_name(tool), chunks)
    finally:
        posix.close(folder)
    from .spilltidy import tidy

    tidy(files, settings, time.time())
    head, tail = ends_of(measure.first, measure.last, measure.size)
    return Kept("/".join((files, *names, name)), measure.size, measure.lines, head, tail)


def kept_paths(options: Options, most: int) -> list[str]:
    """Where the latest results of the thread are kept, at most `most`, the latest last."""
    at = "/".join((f"{options.root.rstrip('/')}/files", FOLDER, SPILL, folder_of(options.thread)))
    try:
        names = posix.listdir(at)
    except OSError:
        return []
    # Names begin with a time.
    return [f"{at}/{name}" for name in sorted(filter(is_name, names))[-most:]]


def new_name(tool: str) -> str:
    """A file's name that nobody else has: it tells when it was made and by which tool."""
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{at}-{slug(tool) or 'tool'}-{posix.urandom(_RANDOM).hex()}{SUFFIX}"


def is_name(name: str) -> bool:
    """Whether `new_name` can have made this."""
    stem = name.removesuffix(SUFFIX)
    random = stem[-2 * _RANDOM :]
    return (
        stem != name
        and len(random) == 2 * _RANDOM
        and _DIGITS.issuperset(random)
        and stem[8:9] == "T"
        and stem[15:17] == "Z-"
        and f"{stem[:8]}{stem[9:15]}".isdigit()
        and stem[17:].count("-") >= 1
    )


def folder_of(thread: str) -> str:
    """The name of the thread's folder: the thread's own, if that can be a folder's, else one that
    no other thread has."""
    plain = slug(thread)
    if plain and plain == thread:
        return plain
    from _blake2 import blake2b

    mark = blake2b(thread.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain or 'thread'}.{mark}"


def slug(text: str) -> str:
    """A text as a part of a file's name: bounded, and of the plainest characters."""
    plain = "".join(c if c in _PLAIN else "-" for c in text[:_LONGEST_SLUG].lower())
    return plain.strip("-")


class _Measure:
    """What of a result is shown and said: its size, its lines, its two ends."""

    __slots__ = ("_breaks", "first", "last", "size")

    def __init__(self) -> None:
        self.size = 0
        self._breaks = 0
        self.first = b""
        self.last = b""

    def add(self, chunk: bytes) -> None:
        """The next bytes of it."""
        self.size += len(chunk)
        self._breaks += chunk.count(b"\n")
        if len(self.first) < ENDS:
            self.first += chunk[: ENDS - len(self.first)]
        self.last = chunk[-ENDS:] if len(chunk) >= ENDS else (self.last + chunk)[-ENDS:]

    @property
    def lines(self) -> int:
        """With one that does not end, if there is such."""
        return self._breaks + bool(self.last and not self.last.endswith(b"\n"))


def _write(folder: int, name: str, chunks: Iterable[bytes]) -> tuple[str, _Measure]:
    """Write a file that is there whole, or not at all; the name of the one that has it."""
    measure, draft = _Measure(), f"{name}{DRAFT}"
    file = posix.open(draft, _NEW, 0o600, dir_fd=folder)
    done = False
    try:
        for chunk in chunks:
            write_all(file, chunk)
            measure.add(chunk)
        from .spilltwin import twin

        if same := twin(folder, draft, measure.size):
            return same, measure
        posix.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        done = True
    finally:
        posix.close(file)
        if not done:
            posix.unlink(draft, dir_fd=folder)
    return name, measure


def _hide(files: str) -> None:
    """From git, should the files be a repository. Nothing depends on it."""
    try:
        folder = open_below(files, (FOLDER,), make=False)
        try:
            file = posix.open(".gitignore", _NEW, 0o644, dir_fd=folder)
            try:
                write_all(file, b"*\n")
            finally:
                posix.close(file)
        finally:
            posix.close(folder)
    except OSError:
        pass

"""Handing events to the sidecar, in Maildir order: written in `tmp`, then renamed into `new`.

A reader that sees a file in `new` sees it whole. Names sort by time and carry randomness.
"""

from __future__ import annotations

import posix
import time

from .events import ERROR, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Options

_BASE = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC
_FOLDER = _BASE | posix.O_NOFOLLOW
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC


def report(options: Options, problem: Exception | str) -> None:
    """Hand over that `problem` was met. Without a spool that can be written, nothing happens."""
    event = Event(
        ERROR,
        id=new_id(),
        at=time.time_ns(),
        client=options.client,
        thread=options.thread,
        task=options.task,
        details={"event": options.event, "text": str(problem) or type(problem).__name__},
    )
    try:
        put(options.spool, event)
    except OSError:
        pass


def put(spool: str, event: Event) -> str:
    """Hand `event` over through the folder `spool`; the name of its file. Raises OSError."""
    opened = Spool(spool)
    try:
        opened.put(event)
    finally:
        opened.close()
    return event.name


def new_id() -> str:
    """An event's id. Of two containers both writers can be process 1: only chance tells them."""
    return posix.urandom(8).hex()


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all of `data`, however often a disk takes only some. Raises OSError."""
    left = memoryview(data)
    while left:
        left = left[posix.write(file, left) :]


class Spool:
    """The spool at `path`; its folders are made and opened as they are needed. Methods raise
    OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._opened: dict[str, int] = {}

    def close(self) -> None:
        """Afterwards it opens anew."""
        while self._opened:
            posix.close(self._opened.popitem()[1])

    def folder(self, name: str) -> int:
        """A descriptor of the spool's folder `name`, which is no link; closed by `close`."""
        if name not in self._opened:
            if "" not in self._opened:
                self._opened[""] = posix.open(self.path, _BASE)
            base = self._opened[""]
            try:
                self._opened[name] = posix.open(name, _FOLDER, dir_fd=base)
            except FileNotFoundError:
                try:
                    posix.mkdir(name, 0o755, dir_fd=base)
                except FileExistsError:
                    pass
                self._opened[name] = posix.open(name, _FOLDER, dir_fd=base)
        return self._opened[name]

    def put(self, event: Event, *, durable: bool = True) -> None:
        """Hand `event` over. `durable`: flushed to the disk before anybody sees it."""
        draft = self.draft(event.name)
        try:
            draft.write(event.encode())
            if durable:
                draft.flush()
            draft.publish("new")
        finally:
            draft.close()

    def draft(self, name: str) -> Draft:
        """A new file that is to get the name `name`."""
        return Draft(self, name)


class Draft:
    """A file in `tmp` that becomes one of another folder, or nothing. Methods raise OSError."""

    def __init__(self, spool: Spool, name: str) -> None:
        self._spool = spool
        self._name = name
        self._waits = True
        self._file = posix.open(name, _NEW, 0o644, dir_fd=spool.folder("tmp"))

    def write(self, data: bytes | memoryview) -> None:
        """Add `data` at the end."""
        write_all(self._file, data)

    def rewrite(self, data: bytes, size: int) -> None:
        """Replace the first bytes by `data`, and shorten the file to `size` bytes."""
        left, at = memoryview(data), 0
        while left:
            done = posix.pwrite(self._file, left, at)
            left, at = left[done:], at + done
        posix.ftruncate(self._file, size)

    def flush(self) -> None:
        """Wait until the disk has it."""
        posix.fsync(self._file)

    def publish(self, folder: str, name: str = "") -> None:
        """Move the file, as it is, to `folder`; an older one of that name is replaced."""
        target = self._spool.folder(folder)
        tmp = self._spool.folder("tmp")
        posix.rename(self._name, name or self._name, src_dir_fd=tmp, dst_dir_fd=target)
        self._waits = False

    def close(self) -> None:
        """A file that was not published is gone."""
        posix.close(self._file)
        if self._waits:
            self._waits = False
            try:
                posix.unlink(self._name, dir_fd=self._spool.folder("tmp"))
            except OSError:
                pass

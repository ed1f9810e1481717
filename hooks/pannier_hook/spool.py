"""Handing events to the sidecar, in Maildir order: written in `tmp`, then renamed into `new`.

A reader that sees a file in `new` sees it whole. Names sort by time and carry randomness.
"""

from __future__ import annotations

import os
import time

from .events import ERROR, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Options

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def report(options: Options, problem: Exception | str) -> None:
    """Hand over that `problem` was met. Without a spool that can be written, nothing happens."""
    words = str(problem) or type(problem).__name__
    event = Event(
        ERROR,
        id=os.urandom(8).hex(),
        at=time.time_ns(),
        client=options.client,
        thread=options.thread,
        task=options.task,
        details={"event": options.event, "text": words},
    )
    try:
        put(options.spool, event)
    except OSError:
        pass


def put(spool: str, event: Event) -> str:
    """Hand `event` over through the folder `spool`; the name of its file. Raises OSError."""
    name = event.name
    base = os.open(spool, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    opened = [base]
    try:
        for folder in ("tmp", "new"):
            opened.append(_folder(folder, base))
        _, tmp, new = opened
        _write(name, tmp, event.encode())
        try:
            os.rename(name, name, src_dir_fd=tmp, dst_dir_fd=new)
        except OSError:
            os.unlink(name, dir_fd=tmp)
            raise
        os.fsync(new)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return name


def _folder(name: str, base: int) -> int:
    try:
        os.mkdir(name, 0o755, dir_fd=base)
    except FileExistsError:
        pass
    return os.open(name, _FOLDER, dir_fd=base)


def _write(name: str, folder: int, data: bytes) -> None:
    descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)

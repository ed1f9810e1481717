"""Events that no spool took, kept in the person's HOME until one does.

Only for clients without a readable transcript: of the others nothing is lost that a later hand-over
does not bring. They are kept as event files, in `~/.local/state/pannier/held`, within bounds.
"""

from __future__ import annotations

import posix

from .events import FILE_LIMIT, Event
from .folders import open_below
from .reading import read_up_to
from .spool import Spool, write_all

MOST = 500
"""Events that are kept."""
MOST_BYTES = 32 << 20
"""What all of them may take."""
MOST_RELEASED = 50
"""Events that one later event brings along."""

_PATH = (".local", "state", "pannier", "held")
_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC


def keep(home: str, event: Event) -> None:
    """Keep `event` below `home`. Raises OSError where that is full or cannot be written."""
    folder = _open(home, make=True)
    try:
        data = event.encode()
        names = posix.listdir(folder)
        size = sum(posix.stat(n, dir_fd=folder, follow_symlinks=False).st_size for n in names)
        if len(names) >= MOST or size + len(data) > MOST_BYTES:
            raise OSError(f"{len(names)} events wait for a spool already: one more is not kept")
        file = posix.open(event.name, _NEW, 0o600, dir_fd=folder)
        try:
            write_all(file, data)
        except OSError:
            posix.unlink(event.name, dir_fd=folder)
            raise
        finally:
            posix.close(file)
    finally:
        posix.close(folder)


def release(home: str, spool: Spool) -> None:
    """Hand over what is kept below `home`, the oldest first. Raises OSError of the spool's."""
    try:
        folder = _open(home, make=False)
    except OSError:
        return
    try:
        for name in sorted(posix.listdir(folder))[:MOST_RELEASED]:
            data = _read(name, folder)
            if data:
                draft = spool.draft(name)
                try:
                    draft.write(data)
                    draft.flush()
                    draft.publish("new")
                finally:
                    draft.close()
            try:
                posix.unlink(name, dir_fd=folder)
            except OSError:
                continue
    finally:
        posix.close(folder)


def _read(name: str, folder: int) -> bytes:
    try:
        file = posix.open(name, _READ, dir_fd=folder)
    except OSError:
        return b""
    try:
        data = read_up_to(file, FILE_LIMIT)
        return data if len(data) <= FILE_LIMIT else b""
    except OSError:
        return b""
    finally:
        posix.close(file)


def _open(home: str, *, make: bool) -> int:
    if not home:
        raise FileNotFoundError("there is no HOME to keep events in")
    return open_below(home, _PATH, make=make)

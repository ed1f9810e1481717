"""Removes kept results that are old, or too many: a little at each new one."""

from __future__ import annotations

import posix

from .folders import open_below
from .settings import size_in_bytes
from .spill import DRAFT, FOLDER, SPILL, is_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .tools import SpillSettings

MOST_FOLDERS = 500
"""Threads that are looked at."""
MOST_FILES = 5_000
"""Files that are looked at, in all of them."""

_DAY = 24 * 3600
_DRAFT_AGE = _DAY
"""Seconds after which nobody writes a file any more that is not whole."""
_NEW_AGE = 3600
"""Seconds for which a file stays, however much there is."""


class Old:
    """A file of the thread's folder `folder`: its name, bytes, and seconds since 1970 of its last
    change. Frozen by custom."""

    __slots__ = ("at", "folder", "name", "size")

    def __init__(self, folder: str, name: str, size: int, at: float) -> None:
        self.folder = folder
        self.name = name
        self.size = size
        self.at = at


def tidy(files: str, settings: SpillSettings, now: float) -> None:
    """Remove what is superfluous below the folder `files`. What cannot be removed stays."""
    try:
        spill = open_below(files, (FOLDER, SPILL), make=False)
    except OSError:
        return
    try:
        keep_bytes = size_in_bytes(settings.keep_size)
        for old in superfluous(_listed(spill), now, settings.keep_days, keep_bytes):
            _remove(spill, old)
    except (OSError, ValueError):
        pass
    finally:
        posix.close(spill)


def superfluous(files: Iterable[Old], now: float, days: int, most: int) -> list[Old]:
    """Which of `files` go: those older than `days`, and of the others the oldest, until they have
    at most `most` bytes. One that is new stays in any case: a model was just told of it. Pure."""
    gone, size = [], 0
    for old in sorted(files, key=lambda old: -old.at):
        age = now - old.at
        if old.name.endswith(DRAFT):
            too_old = age > _DRAFT_AGE
        else:
            size += old.size
            too_old = age > days * _DAY or (size > most and age > _NEW_AGE)
        if too_old:
            gone.append(old)
    return gone


def _listed(spill: int) -> list[Old]:
    found: list[Old] = []
    with posix.scandir(spill) as folders:
        for number, folder in enumerate(folders):
            if number == MOST_FOLDERS:
                break
            if folder.is_dir(follow_symlinks=False):
                found += _files(spill, folder.name, MOST_FILES - len(found))
    return found


def _files(spill: int, folder: str, most: int) -> Iterator[Old]:
    """Files that are ours by their names: what the agent puts there is its own."""
    try:
        opened = _open(spill, folder)
    except OSError:
        return  # What cannot be read keeps nobody from the next one.
    try:
        with posix.scandir(opened) as files:
            for number, file in enumerate(files):
                if number == most:
                    break
                if is_name(file.name.removesuffix(DRAFT)):
                    status = file.stat(follow_symlinks=False)
                    yield Old(folder, file.name, status.st_size, status.st_mtime)
    finally:
        posix.close(opened)


def _remove(spill: int, old: Old) -> None:
    """What cannot be removed, such as a folder with the name of a file, is left for the others'
    sake."""
    try:
        folder = _open(spill, old.folder)
    except OSError:
        return
    try:
        posix.unlink(old.name, dir_fd=folder)
    except OSError:
        pass
    finally:
        posix.close(folder)


def _open(spill: int, folder: str) -> int:
    flags = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
    return posix.open(folder, flags, dir_fd=spill)

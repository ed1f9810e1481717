"""A group's `agent-memory/`, from the host: read, replaced file by file, never followed out of it.

A person edits there, and an agent reads. Whoever writes holds the group's lock (`store.locks`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from pannier import safefs
from pannier.errors import ChangedMeanwhile, PannierError, described
from pannier.learning.files.memoryfile import decode
from pannier.paths import Home

MEMORY = "MEMORY.md"
SUMMARY = "summary.md"
SESSIONS = "session_summaries"
_LIMIT = 64 << 20
_LITTER = re.compile(r"\.[0-9a-f]{16}\.pannier-new")
"""As safefs calls a file until it is whole."""
_OF_THREAD = re.compile(r".*-(?P<key>[0-9a-f]{8})\.md", re.DOTALL)


class Folder:
    """The folder, open. Every method raises PannierError."""

    def __init__(self, home: Home, grp: str, root: int) -> None:
        self.path = home.group(grp).learned
        self._root = root

    def read(self, name: str) -> bytes | None:
        """What the file holds; None where there is none."""
        with _in_words():
            return safefs.read(self._root, name, limit=_LIMIT, missing=None)

    def text(self, name: str) -> str:
        """The same as text; "" where there is none. It must be UTF-8."""
        return decode(self.read(name) or b"", str(self.path / name))

    def changed(self, name: str) -> int:
        """When the file was changed last, in nanoseconds since 1970; 0 where there is none."""
        with _in_words(), suppress(FileNotFoundError), safefs.open_file(self._root, name) as file:
            return os.fstat(file).st_mtime_ns
        return 0

    def replace(self, name: str, text: str, before: bytes | None) -> None:
        """Write the file, whole or not at all; "" removes it. Nothing happens to one that holds
        that already.

        Raises ChangedMeanwhile when it does not hold any more what it held `before`.
        """
        now, data = self.read(name), text.encode() or None
        if now == data:
            return
        if now != before:
            raise ChangedMeanwhile(f"{self.path / name} was changed by somebody else")
        with _in_words():
            if data is None:
                _remove(self._root, name)
            elif before is None:
                safefs.write(self._root, name, data, replace=False)
            else:
                safefs.write(self._root, name, data, expected=before)

    def sweep(self) -> None:
        """Remove what a killed writer had half written: whoever calls this is the only one."""
        with _in_words(), suppress(FileNotFoundError):
            _sweep(self._root)
            with safefs.open_directory(self._root, SESSIONS) as there:
                _sweep(there)

    def sessions(self) -> dict[str, tuple[str, ...]]:
        """The names of files with summaries of threads, by the thread's key."""
        found: dict[str, tuple[str, ...]] = {}
        with suppress(FileNotFoundError), safefs.open_directory(self._root, SESSIONS) as there:
            for key, name in _of_threads(there):
                found[key] = (*found.get(key, ()), name)
        return found

    def put_session(self, name: str, text: str) -> None:
        """Write a file with the summary of a thread, unless it holds that already."""
        data = text.encode()
        with _in_words(), safefs.open_directory(self._root, SESSIONS, create=True) as there:
            if safefs.read(there, name, limit=_LIMIT, missing=None) != data:
                safefs.write(there, name, data)

    def remove_session(self, key: str) -> None:
        """Remove the summary of the thread with this key."""
        for name in self.sessions().get(key, ()):
            with _in_words(), safefs.open_directory(self._root, SESSIONS) as there:
                _remove(there, name)


@contextmanager
def opened(home: Home, grp: str, *, create: bool = False) -> Iterator[Folder | None]:
    """The group's folder; None where there is none and it is not made. Raises PannierError."""
    paths = home.group(grp)
    with ExitStack() as stack:
        root = None
        with _in_words(), suppress(FileNotFoundError):
            root = stack.enter_context(
                safefs.open_directory(home.groups, paths.folder, paths.learned.name, create=create)
            )
        yield None if root is None else Folder(home, grp, root)


def memory_text(home: Home, grp: str) -> str:
    """What MEMORY.md says; "" where there is none. Raises PannierError."""
    with opened(home, grp) as folder:
        return "" if folder is None else folder.text(MEMORY)


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PannierError(described(error)) from error


def _of_threads(folder: int) -> Iterator[tuple[str, str]]:
    for name in sorted(os.listdir(folder)):
        if match := _OF_THREAD.fullmatch(name):
            yield match["key"], name


def _sweep(folder: int) -> None:
    for name in os.listdir(folder):
        if _LITTER.fullmatch(name):
            _remove(folder, name)


def _remove(root: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=root)

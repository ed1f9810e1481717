"""Marks of sessions: the context is fresh and has not been given the memory yet; or it was given.

A mark is a file, named by a digest of the session's id, in the client's state folder, or below
/tmp when that cannot be written. Taking a mark removes it: it counts once. The one that the memory
was given stays and holds the size that the transcript had.
"""

from __future__ import annotations

import posix
from _blake2 import blake2b

from .folders import open_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SIZE = 20  # bytes of a size in digits
_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC


FRESH = "fresh"
"""The context has not been given the memory yet."""
EARLY = "early"
"""It was given the memory before its start was told."""


class Marks:
    """The marks of one client for the person at `home`; its state lies in `home`/`state`."""

    def __init__(self, home: str, state: str, fallback: str = "/tmp") -> None:
        self._home = home
        self._state = state
        self._fallback = fallback

    def leave(self, session: str, kind: str = FRESH) -> None:
        """Mark `session`. Raises OSError when no place can be written."""
        if not session:
            raise ValueError("the client named no session")
        self._make(_name(kind, session), b"")

    def take(self, session: str, kind: str = FRESH) -> bool:
        """Whether `session` was marked; it no longer is. Of two takers one is told so."""
        taken = False
        for folder in self._folders(make=False):
            try:
                posix.unlink(_name(kind, session), dir_fd=folder)
                taken = True
            except OSError:
                continue
        return taken

    def give(self, session: str, size: int) -> None:
        """Remember that `session` was given the memory when its transcript had `size` bytes.

        Raises OSError when no place can be written.
        """
        self._make(_name("given", session), b"%*d" % (_SIZE, size))

    def given(self, session: str) -> int | None:
        """The size that the transcript of `session` had when it was last given the memory."""
        for folder in self._folders(make=False):
            try:
                mark = posix.open(_name("given", session), _READ, dir_fd=folder)
            except OSError:
                continue
            try:
                return int(posix.read(mark, _SIZE))
            except (OSError, ValueError):
                continue
            finally:
                posix.close(mark)
        return None

    def _make(self, name: str, content: bytes) -> None:
        problem: OSError | None = None
        for folder in self._folders(make=True):
            try:
                mark = posix.open(name, _NEW, 0o600, dir_fd=folder)
                try:
                    posix.write(mark, content)
                finally:
                    posix.close(mark)
                return
            except OSError as caught:
                problem = caught
        raise problem or OSError("no folder for the mark of a session can be written")

    def _folders(self, *, make: bool) -> Iterator[int]:
        """Descriptors of the folders for marks, the better one first; closed after use."""
        places: list[tuple[str, tuple[str, ...]]] = []
        if self._home and self._state:
            places.append((self._home, (self._state, "pannier")))
        places.append((self._fallback, (f"pannier-{posix.geteuid()}",)))
        for base, names in places:
            try:
                folder = _open(base, names, make)
            except OSError:
                continue
            try:
                yield folder
            finally:
                posix.close(folder)


def _open(base: str, names: tuple[str, ...], make: bool) -> int:
    folder = open_below(base, names, make=make)
    status = posix.fstat(folder)
    if status.st_uid != posix.geteuid() or status.st_mode & 0o022:
        posix.close(folder)
        raise PermissionError(f"{base}/{'/'.join(names)} belongs to somebody else")
    return folder


def _name(kind: str, session: str) -> str:
    data = session.encode("utf-8", "surrogatepass")
    return f"{kind}-{blake2b(data, digest_size=16).hexdigest()}"

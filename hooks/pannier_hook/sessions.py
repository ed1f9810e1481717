"""The sessions that go on: noted at each prompt, forgotten when they ended and all was handed over.

So a session of which nobody hears again, because its client was killed, is known: where its
transcript lies, and whose it is. A note is a small file in the spool's folder `sessions`.
"""

from __future__ import annotations

import posix
from _stat import S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .spool import Spool

FOLDER = "sessions"
MOST = 1_000
"""Notes that are looked at."""

_FORMAT = "1"
_LONGEST = 16_384
_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY


class Noted:
    """A session that was noted. Frozen by custom. `at`: when, in nanoseconds since 1970."""

    __slots__ = ("at", "client", "path", "session", "task", "thread")

    def __init__(
        self, client: str, session: str, thread: str, path: str, *, task: bool, at: int = 0
    ) -> None:
        self.client = client
        self.session = session
        self.thread = thread
        self.path = path
        self.task = task
        self.at = at

    def encode(self) -> bytes:
        """The content of the note. Raises ValueError where that would not be read again."""
        words = (_FORMAT, self.client, self.session, self.thread, str(int(self.task)), self.path)
        text = "\n".join((*words, ""))
        data = text.encode("utf-8")
        if text.count("\n") != len(words) or len(data) > _LONGEST:
            raise ValueError("its names have more than one line, or are too long")
        return data


def decode(data: bytes, at: int) -> Noted:
    """Raises ValueError for what is no note."""
    words = data.decode("utf-8").split("\n")
    if len(words) != 7 or words[0] != _FORMAT or words[4] not in ("0", "1") or words[6]:
        raise ValueError("not a note of a session")
    return Noted(words[1], words[2], words[3], words[5], task=words[4] == "1", at=at)


def note(spool: Spool, noted: Noted) -> None:
    """Note that the session goes on. Raises OSError. Not flushed: what a crash of the machine
    loses of the notes, a resumed session still hands over."""
    if not (_is_plain(noted.session) and noted.path):
        return
    try:
        data = noted.encode()
    except ValueError:
        return
    draft = spool.draft(f"{noted.session}-{posix.urandom(8).hex()}")
    try:
        draft.write(data)
        draft.publish(FOLDER, noted.session)
    finally:
        draft.close()


def forget(spool: Spool, session: str) -> None:
    """It ended. Raises OSError when there is no spool."""
    if _is_plain(session):
        try:
            posix.unlink(session, dir_fd=spool.folder(FOLDER))
        except FileNotFoundError:
            pass


def all_noted(spool: Spool) -> list[Noted]:
    """The sessions that are noted, the one that was noted first at the front; what is no note is
    left out. Raises OSError when there is no spool."""
    folder = spool.folder(FOLDER)
    found = []
    for name in posix.listdir(folder)[:MOST]:
        try:
            found.append(_read(folder, name))
        except (OSError, ValueError):
            continue
    return sorted(found, key=lambda noted: noted.at)


def _read(folder: int, name: str) -> Noted:
    file = posix.open(name, _READ, dir_fd=folder)
    try:
        status = posix.fstat(file)
        if not S_ISREG(status.st_mode):
            raise ValueError("not a file")
        noted = decode(posix.read(file, _LONGEST + 1), status.st_mtime_ns)
    finally:
        posix.close(file)
    if noted.session != name:
        raise ValueError("a note of another session")
    return noted


def _is_plain(session: str) -> bool:
    """Whether a file can be named so. The ids of clients that keep transcripts are UUIDs."""
    return len(session) <= 200 and session.isascii() and session.replace("-", "").isalnum()

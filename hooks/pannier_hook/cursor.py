"""How much of a transcript was handed over already.

A cursor is a small file in the spool's folder `cursors`, one for each session and transcript. It
holds the offset of what comes next, the transcript's inode, and a digest of its first and its last
bytes before that offset. A transcript that was replaced, rewritten or shortened does not fit it,
and begins anew: a record that is handed over twice is stored once.

To compare every byte before the offset would cost more with each turn; a client that changes only
the middle of a long transcript in its place is not noticed.
"""

from __future__ import annotations

import posix
from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .spool import Spool

WINDOW = 4096
"""Bytes of a transcript's beginning, and of its end, that the digest covers."""

MOST_KEPT = 2_000
"""Cursors; when there are more, the half that was not used for longest goes."""

_FOLDER = "cursors"
_FORMAT = "1"
_LONGEST = 200
_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY


class Cursor:
    """Frozen by custom. `seen`: transcripts beside this one that were last changed before it,
    in nanoseconds since 1970, are handed over."""

    __slots__ = ("digest", "inode", "offset", "seen")

    def __init__(self, offset: int, inode: int, digest: str, seen: int = 0) -> None:
        self.offset = offset
        self.inode = inode
        self.digest = digest
        self.seen = seen

    def encode(self) -> bytes:
        """The content of the cursor's file."""
        return f"{_FORMAT} {self.offset} {self.inode} {self.digest} {self.seen}\n".encode("ascii")


def decode(data: bytes) -> Cursor:
    """Raises ValueError for what is no cursor."""
    words = data.decode("ascii").split(" ")
    if len(data) > _LONGEST or not data.endswith(b"\n") or len(words) != 5 or words[0] != _FORMAT:
        raise ValueError("not a cursor")
    offset, inode, seen = (int(word) for word in (*words[1:3], words[4]))
    if min(offset, inode, seen) < 0:
        raise ValueError("not a cursor")
    return Cursor(offset, inode, words[3], seen)


def digest(head: bytes, tail: bytes) -> str:
    """Of a transcript's first and last bytes before an offset, at most `WINDOW` of each."""
    return blake2b(head + tail, digest_size=16).hexdigest()


def name_of(session: str, path: str) -> str:
    """Of the cursor's file."""
    key = f"{session}\0{path}".encode("utf-8", "surrogatepass")
    return blake2b(key, digest_size=16).hexdigest()


def load(spool: Spool, name: str) -> Cursor | None:
    """The cursor of that name, None without one that can be read. Raises OSError when there is no
    spool."""
    folder = spool.folder(_FOLDER)
    try:
        file = posix.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    try:
        return decode(posix.read(file, _LONGEST + 1))
    except (OSError, ValueError):
        return None
    finally:
        posix.close(file)


def save(spool: Spool, name: str, cursor: Cursor) -> None:
    """Raises OSError. Not flushed: a cursor that a crash loses only hands over again."""
    draft = spool.draft(f"{name}-{posix.urandom(8).hex()}")
    try:
        draft.write(cursor.encode())
        draft.publish(_FOLDER, name)
    finally:
        draft.close()


def prune(spool: Spool) -> None:
    """Remove the cursors that were not used for longest when there are too many. Raises OSError."""
    folder = spool.folder(_FOLDER)
    names = posix.listdir(folder)
    if len(names) <= MOST_KEPT:
        return
    used = []
    for name in names:
        try:
            used.append((posix.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns, name))
        except OSError:
            continue
    for _, name in sorted(used)[: len(names) - MOST_KEPT // 2]:
        try:
            posix.unlink(name, dir_fd=folder)
        except OSError:
            continue

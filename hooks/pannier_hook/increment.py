"""What is new in a transcript: the lines after the cursor, read, and written as bodies of events.

The lines are not looked into. The last one is left when it has no newline yet: the client is still
writing it. How much goes with one event is bounded, in bytes and in time; the rest goes with the
next one. The cursor moves after all parts are in `new`, so whatever fails hands over again.
"""

from __future__ import annotations

import posix
import time
from _stat import S_ISREG

from .cursor import WINDOW, Cursor, digest
from .events import FILE_LIMIT, MOST_PARTS, Event, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .spool import Draft, Spool

    Say = Callable[[tuple[int, int], Log], Event]
    """The event with this part's number and log, without a body."""

_READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
_CHUNK = 1 << 20
_FLUSHED = 2 << 20
"""Bytes that are written between two looks at the clock, so that a slow disk is noticed."""


class Budget:
    """What one event may still spend: bytes of transcripts, and time until `until` on the
    monotonic clock, in seconds."""

    __slots__ = ("bytes", "until")

    def __init__(self, bytes: int, until: float) -> None:
        self.bytes = bytes
        self.until = until

    def is_late(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.until

    def half_time(self) -> float:
        """When half of the time that is left has passed."""
        now = time.monotonic()
        return now + (self.until - now) / 2


class Increment:
    """What is new in a transcript. `more`: something whole is left for the next event. `before`
    are the first and the last bytes before `offset`, at most a cursor's window of each."""

    __slots__ = ("before", "data", "inode", "more", "offset")

    def __init__(
        self, data: bytes, offset: int, inode: int, *, more: bool, before: tuple[bytes, bytes]
    ) -> None:
        self.data = data
        self.offset = offset
        self.inode = inode
        self.more = more
        self.before = before

    def cursor(self, count: int, seen: int = 0) -> Cursor:
        """The cursor after the first `count` bytes."""
        head, tail = self.before
        done = self.data[:count]
        # Of a transcript that is shorter than the window, the head is all that there was.
        head = (head + done[:WINDOW])[:WINDOW] if self.offset < WINDOW else head
        tail = (tail + done[-WINDOW:])[-WINDOW:]
        return Cursor(self.offset + count, self.inode, digest(head, tail), seen)


def open_log(path: str) -> int | None:
    """A descriptor of the transcript at `path`; None when it is no regular file that can be read.

    The client names it, and the agent can put anything there: no link is followed at the end, and
    a pipe is not waited for.
    """
    try:
        file = posix.open(path, _READ)
    except (OSError, ValueError):
        return None
    if S_ISREG(posix.fstat(file).st_mode):
        return file
    posix.close(file)
    return None


def last_lines(path: str, limit: int) -> list[bytes]:
    """The lines that are whole in the last `limit` bytes of the transcript at `path`; none where
    it cannot be read."""
    file = open_log(path)
    if file is None:
        return []
    try:
        size = posix.fstat(file).st_size
        start = max(0, size - limit)
        lines = posix.pread(file, size - start, start).split(b"\n")
    except OSError:
        return []
    finally:
        posix.close(file)
    return lines[1:] if start else lines


def read_increment(file: int, cursor: Cursor | None, budget: Budget) -> Increment:
    """What is new in the transcript `file` after `cursor`. Raises OSError."""
    status = posix.fstat(file)
    offset = 0
    before = (b"", b"")
    if cursor and cursor.inode == status.st_ino and 0 < cursor.offset <= status.st_size:
        window = min(WINDOW, cursor.offset)
        found = posix.pread(file, window, 0), posix.pread(file, window, cursor.offset - window)
        if digest(*found) == cursor.digest:
            offset, before = cursor.offset, found
    data, ended = _read(file, offset, budget)
    end = data.rfind(b"\n") + 1
    if not end and not ended:
        end = len(data)  # A line that is longer than all that one event may carry.
    return Increment(data[:end], offset, status.st_ino, more=not ended, before=before)


def cut(data: bytes, room: int) -> list[tuple[int, int]]:
    """Where the parts of `data` begin and end, each of at most `room` bytes: at a line's end, but
    for a line that is longer than that."""
    parts = []
    begin = 0
    while begin < len(data):
        end = len(data)
        if end - begin > room:
            end = data.rfind(b"\n", begin, begin + room) + 1 or begin + room
        parts.append((begin, end))
        begin = end
    return parts


def write_parts(spool: Spool, say: Say, name: str, new: Increment, budget: Budget) -> int:
    """Hand over `new` of the log `name` in numbered parts; how many bytes of it went.

    When the time is up, what was written by then goes. Raises OSError, and then nothing counts.
    """
    longest = (MOST_PARTS, MOST_PARTS), Log(name, new.offset + len(new.data), more=False)
    bounds = cut(new.data, FILE_LIMIT - len(say(*longest).header()))
    written: list[_Part] = []
    try:
        for number, (begin, end) in enumerate(bounds, 1):
            log = Log(name, new.offset + begin, more=new.more)
            event = say((number, len(bounds)), log)
            written.append(_Part(spool.draft(event.name), event.header(), begin))
            written[-1].write(new.data[begin:end], budget)
            if written[-1].end < end or budget.is_late():
                break
        if written[-1].end < len(new.data):
            for number, part in enumerate(written, 1):
                log = Log(name, new.offset + part.begin, more=True)
                part.write_header(say((number, len(written)), log).header())
        for part in written:
            part.draft.flush()
        for part in written:
            part.draft.publish("new")
    finally:
        for part in written:
            part.draft.close()
    return written[-1].end


class _Part:
    """One part while it is written: the bytes from `begin` to `end` of the increment."""

    __slots__ = ("begin", "draft", "end", "header")

    def __init__(self, draft: Draft, header: bytes, begin: int) -> None:
        self.draft = draft
        self.header = header
        self.begin = begin
        self.end = begin

    def write(self, body: bytes, budget: Budget) -> None:
        """Write header and body: all of it, or whole lines if possible as long as there is time."""
        self.draft.write(self.header)
        done = 0
        while done < len(body):
            if done:
                self.draft.flush()
                if budget.is_late():
                    done = body.rfind(b"\n", 0, done) + 1 or done
                    self.draft.rewrite(self.header, len(self.header) + done)
                    break
            piece = body[done : done + _FLUSHED]
            self.draft.write(piece)
            done += len(piece)
        self.end = self.begin + done

    def write_header(self, header: bytes) -> None:
        """Write another header that is no longer than the first; spaces fill its line."""
        padded = header[:-1].ljust(len(self.header) - 1) + b"\n"
        self.draft.rewrite(padded, len(padded) + self.end - self.begin)


def _read(file: int, offset: int, budget: Budget) -> tuple[bytes, bool]:
    """The bytes from `offset` on that the budget allows, and whether that is all."""
    pieces: list[bytes] = []
    size = 0
    while size < budget.bytes and not (pieces and budget.is_late()):
        piece = posix.pread(file, min(_CHUNK, budget.bytes - size), offset + size)
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), not posix.pread(file, 1, offset + size)

"""The inbox: messages that the sidecar left for this group, taken once, and ticked off.

A message is the file `new/<number, 12 digits>-<id>-<mark of the thread>.json`. Who takes it
renames it first: `new/<the same>.<time, 20 digits>.claimed`. Of two that try, one succeeds. Once
the client was told, it is moved to `done/`, where the sidecar finds it. What was claimed and not
done is delivered again, but only at a prompt: at a turn's end, where the agent goes on with it, a
message is delivered once at most, so that no fault makes an agent go on for ever.
"""

from __future__ import annotations

import posix
import time
from _stat import S_ISREG
from itertools import islice

from .messages import (
    FILE_LIMIT,
    MESSAGE,
    ROLLBACK,
    Message,
    Piece,
    decode,
    frame,
    is_id,
    split_messages,
    thread_mark,
)
from .reading import read_up_to
from .spool import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .options import Options

__all__ = [
    "MESSAGE",
    "ROLLBACK",
    "Claim",
    "Inbox",
    "Message",
    "Piece",
    "Taken",
    "decode",
    "done",
    "file_name",
    "frame",
    "read_name",
    "split_messages",
    "take",
    "thread_mark",
]

MOST = 32
"""Messages of one delivery."""
MOST_TEXT = 100_000
"""Code points of one delivery. The first message goes whole whatever its length, unless the
client's own limit is shorter."""
STALE = 10.0
"""Seconds after which a claim counts as left behind: a hook is done within two."""
MOST_NAMES = 10_000
"""How many names of the folder are looked at."""

_STOP = "stop"
_CUT = "the whole text of {size:,} characters is in the file {path}"
_LOST = "of {size:,} characters, and the rest cannot be written to a file ({why})"

_FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
_FILE = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC


class Claim:
    """A message that is ours to deliver, and the names of its file: when it was sent, and now."""

    __slots__ = ("held", "message", "name")

    def __init__(self, message: Message, name: str, held: str) -> None:
        self.message = message
        self.name = name
        self.held = held


class Taken:
    """What to tell the agent, and what is `done` once it was told. Falsy when there is nothing."""

    __slots__ = ("claims", "inbox", "text")

    def __init__(self, inbox: Inbox, text: str, claims: Sequence[Claim]) -> None:
        self.inbox = inbox
        self.text = text
        self.claims = tuple(claims)

    def __bool__(self) -> bool:
        return bool(self.claims)

    @property
    def ids(self) -> tuple[str, ...]:
        """The messages' ids, in order."""
        return tuple(claim.message.id for claim in self.claims)


def take(options: Options, *, limit: int | None = None, unit: str = "") -> Taken:
    """The messages that wait for the thread of `options`, as one text of at most `limit`.

    `limit` is in the client's `unit` (see `clients`), None for any length. What does not fit any
    more waits for the next time. At a `stop`, only what was never claimed before; nothing for a
    background task. Never raises: whatever is wrong with an inbox, the turn goes on.
    """
    inbox = Inbox(options.inbox, options.thread)
    if options.task:
        return Taken(inbox, "", ())
    texts: list[str] = []
    claims: list[Claim] = []
    room = None
    try:
        for claim in inbox.claims(MESSAGE, again=options.event != _STOP):
            room = room or _Room(limit, unit)
            shown = room.fit(inbox, claim.message, first=not texts)
            if not shown:
                inbox.give_back(claim)
                break
            texts.append(shown)
            claims.append(claim)
            if len(claims) == MOST:
                break
    except (OSError, ValueError):
        pass
    return Taken(inbox, "\n".join(texts), claims)


def done(taken: Taken) -> None:
    """The agent was told: the messages are not delivered again. Call it after printing."""
    for claim in taken.claims:
        taken.inbox.done(claim)


def file_name(number: int, message: Message) -> str:
    """The name of the message's file; `number` gives the order."""
    return f"{number:012d}-{message.id}-{thread_mark(message.thread)}.json"


def read_name(name: str) -> tuple[str, int] | None:
    """The first name of a file in the inbox, and when it was claimed (0: it was not, in
    nanoseconds since 1970); None for what is no message's."""
    stem, dot, end = name.partition(".")
    number, _, rest = stem.partition("-")
    id, _, mark = rest.partition("-")
    if not (len(number) == 12 and number.isdigit() and is_id(id) and len(mark) == 8):
        return None
    if dot and end == "json":
        return name, 0
    at, _, claimed = end.partition(".")
    if claimed == "claimed" and len(at) == 20 and at.isdigit() and at.isascii():
        return f"{stem}.json", int(at)
    return None


class Inbox:
    """The inbox at `path`, as one thread sees it."""

    def __init__(self, path: str, thread: str) -> None:
        self.path = path
        self.thread = thread

    def claims(self, kind: str, *, again: bool = True) -> Iterator[Claim]:
        """Claim what waits, one after the other, oldest first. Raises OSError.

        Who stops asking has claimed no more. `again`: also what somebody claimed long ago and did
        not deliver. What is not a message is renamed and passed over.
        """
        try:
            new = posix.open(f"{self.path}/new", _FOLDER)
        except FileNotFoundError:
            return
        try:
            mark = f"-{thread_mark(self.thread)}.json"
            for name, held in self._waiting(new, again):
                if not name.endswith(mark):
                    continue
                claimed = f"{name[:-5]}.{time.time_ns():020d}.claimed"
                try:
                    posix.rename(held, claimed, src_dir_fd=new, dst_dir_fd=new)
                except FileNotFoundError:
                    continue  # Somebody else was quicker.
                try:
                    message = decode(_read(new, claimed))
                except (OSError, ValueError):
                    posix.rename(claimed, f"{name}.odd", src_dir_fd=new, dst_dir_fd=new)
                    continue
                claim = Claim(message, name, claimed)
                if message.kind == kind and message.thread == self.thread:
                    yield claim
                else:
                    self.give_back(claim)
        finally:
            posix.close(new)

    def give_back(self, claim: Claim) -> None:
        """It was not delivered, and waits again. Raises OSError."""
        self._rename(claim.held, "new", claim.name)

    def done(self, claim: Claim) -> None:
        """It was delivered. What hinders this lets it be delivered again, at a later prompt."""
        try:
            try:
                posix.mkdir(f"{self.path}/done", 0o700)
            except FileExistsError:
                pass
            self._rename(claim.held, "done", claim.name)
        except OSError:
            pass

    def keep(self, message: Message) -> str:
        """Put the whole text where the agent can read it; the path. Raises OSError."""
        try:
            posix.mkdir(f"{self.path}/long", 0o700)
        except FileExistsError:
            pass
        path = f"{self.path}/long/{message.id}.txt"
        try:
            file = posix.open(path, _NEW, 0o600)
        except FileExistsError:
            return path
        try:
            write_all(file, message.text.encode("utf-8"))
        finally:
            posix.close(file)
        return path

    def _waiting(self, new: int, again: bool) -> list[tuple[str, str]]:
        """First and present name of what may be claimed, in order."""
        found: dict[str, str] = {}
        stale = time.time_ns() - int(STALE * 10**9)
        fresh_claims = set()
        with posix.scandir(new) as entries:
            for entry in islice(entries, MOST_NAMES):
                known = read_name(entry.name)
                if known is None:
                    continue
                name, claimed = known
                if claimed and not (again and claimed < stale):
                    fresh_claims.add(name)
                else:
                    found[name] = entry.name
        return sorted(item for item in found.items() if item[0] not in fresh_claims)

    def _rename(self, held: str, folder: str, name: str) -> None:
        source = posix.open(f"{self.path}/new", _FOLDER)
        try:
            target = posix.open(f"{self.path}/{folder}", _FOLDER)
            try:
                posix.rename(held, name, src_dir_fd=source, dst_dir_fd=target)
            finally:
                posix.close(target)
        finally:
            posix.close(source)


class _Room:
    """What one delivery may still carry."""

    def __init__(self, limit: int | None, unit: str) -> None:
        from .framing import Frame

        self._limit = limit
        self._left = MOST_TEXT
        self._measure = Frame("", "", limit=limit, unit=unit)

    def fit(self, inbox: Inbox, message: Message, *, first: bool) -> str:
        """The message in its frame, "" if it has to wait. The first one is cut instead."""
        whole = frame(message)
        measured = self._measure.measure(whole) + 1
        if self._limit is None or measured <= self._limit:
            if len(whole) > self._left and not first:
                return ""
            self._left -= len(whole)
            if self._limit is not None:
                self._limit -= measured
            return whole
        if not first:
            return ""
        try:
            note = _CUT.format(size=len(message.text), path=inbox.keep(message))
        except OSError as problem:
            note = _LOST.format(size=len(message.text), why=problem.strerror)
        room = self._limit - self._measure.measure(frame(message, "", note))
        self._limit = 0
        return frame(message, message.text[: self._measure.fit(message.text, 0, room)], note)


def _read(folder: int, name: str) -> bytes:
    file = posix.open(name, _FILE, dir_fd=folder)
    try:
        if not S_ISREG(posix.fstat(file).st_mode):
            raise ValueError("not a regular file")
        return read_up_to(file, FILE_LIMIT)
    finally:
        posix.close(file)

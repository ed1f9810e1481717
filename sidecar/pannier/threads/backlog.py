"""What waits in one group's spool, while it is taken into the database."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pannier import clients
from pannier.clients.transcript import Message, Reading
from pannier.errors import PannierError, UnsafePath, described, reason
from pannier.paths import GroupPaths
from pannier.threads.parts import Chunk, are_one, chunks, is_whole, name_of
from pannier.threads.spool import MOST_REJECTED, Spool
from pannier.threads.writer import WritableStore
from pannier_hook import events
from pannier_hook.events import Event
from pannier_hook.messages import split_messages

GRACE = 10.0
"""Seconds that the missing part of an event is waited for."""
SLICE = 0.25
"""Seconds after which it is another group's turn."""
_MOST_BYTES = 64 << 20
"""Of the parts that are put together; a hook hands over at most half of that at once."""
_LONGEST_REASON = 300
_LATER = "of a later hook"

TellQueue = Callable[[str, Sequence[str]], None]
"""Given a group, and ids of the queue's messages that were put before its agent."""


@dataclass
class TakenIn:
    """What taking in brought."""

    events: int = 0
    messages: int = 0
    """That were not known before."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Files that could not be read, by group."""
    more: bool = False
    """Something waits that could have been taken in, had there been more time."""
    groups: set[str] = field(default_factory=set)
    """In which something was said."""
    problems: dict[str, str] = field(default_factory=dict)
    """Groups in whose spool something stands in the way, and what."""


@dataclass
class _AtHand:
    """An event that is being stored."""

    name: str
    files: list[str]
    steps: Iterator[Chunk]


class Backlog:
    """The files of one group's spool that wait, in order."""

    def __init__(self, group: GroupPaths, names: Sequence[str], taken: TakenIn) -> None:
        self.group = group
        self.names = deque(names)
        self.taken = taken
        self._next: tuple[str, Event] | None = None
        self._at_hand: _AtHand | None = None

    @property
    def is_done(self) -> bool:
        return not (self.names or self._next or self._at_hand)

    def give_up(self, why: str) -> None:
        """Nothing more of this group for now."""
        self.names.clear()
        self._next = self._at_hand = None
        self.taken.problems[self.group.folder] = why

    def go_on(self, spool: Spool, store: WritableStore, told: TellQueue) -> None:
        """Take in some of it.

        Raises PannierError when the database cannot be written; OSError and UnsafePath when the
        spool cannot be used.
        """
        turn = _Turn(spool, store)
        spool.open()
        with store.transaction():
            until = time.monotonic() + SLICE
            while not self.is_done and time.monotonic() < until:
                self._step(turn)
        if turn.told:
            told(self.group.folder, tuple(turn.told))
        spool.remove(turn.done)
        spool.bound()

    def _step(self, turn: _Turn) -> None:
        if self._at_hand is None:
            self._at_hand = self._gather(turn)
        at_hand = self._at_hand
        if at_hand is None:
            return
        try:
            last = self._store(at_hand, turn)
        except PannierError:
            raise  # The database cannot be written.
        except Exception as error:  # Of what a container wrote, nothing may stop the others.
            self._at_hand = None
            for name in at_hand.files:
                self._reject(turn.spool, name, f"what it says cannot be stored: {_in_words(error)}")
            return
        if last:
            self._at_hand = None
            turn.done += at_hand.files
            self.taken.events += 1

    def _store(self, at_hand: _AtHand, turn: _Turn) -> bool:
        """Store the next records of the event. Whether these were the last."""
        store, grp = turn.store, self.group.folder
        chunk = next(at_hand.steps, None)
        if chunk is None:
            return True
        reading = _read(chunk, store, grp)
        applied = store.apply(grp, chunk.event, reading)
        store.note(grp, at_hand.name, chunk.records, done=chunk.last)
        self.taken.messages += applied.stored
        if applied.stored:
            self.taken.groups.add(grp)
        turn.told += _ids(reading)
        return chunk.last

    def _gather(self, turn: _Turn) -> _AtHand | None:
        """The next event to be stored, with all its parts."""
        first = self._take(turn)
        if first is None:
            return None
        files, parts = [first[0]], [first[1]]
        size = len(first[1].body)
        while len(parts) < first[1].part[1] and size < _MOST_BYTES:
            other = self._take(turn)
            if other is None:
                if self.names:
                    continue
                break
            if not are_one(parts, other[1]):
                self._next = other
                break
            files.append(other[0])
            parts.append(other[1])
            size += len(other[1].body)
        if not is_whole(parts) and size < _MOST_BYTES and self._is_young(files[-1], turn.spool):
            # What comes after it waits, too: in a session, order matters.
            self.names.clear()
            self._next = None
            return None
        name = name_of(parts)
        records, done = turn.store.noted(self.group.folder, name)
        return _AtHand(name, files, iter(()) if done else chunks(parts, records))

    def _is_young(self, name: str, spool: Spool) -> bool:
        try:
            # Less than nothing: the clock was set back, and would be waited for.
            return -1 < spool.age(name) < GRACE
        except OSError:
            return False

    def _take(self, turn: _Turn) -> tuple[str, Event] | None:
        """The next file that holds an event to be stored. What it meets before that is dealt with:
        None then, or at the end."""
        if self._next is not None:
            taken, self._next = self._next, None
            return taken
        if not self.names:
            return None
        name = self.names.popleft()
        try:
            event = events.decode(turn.spool.read(name))
        except FileNotFoundError:
            return None
        except events.UnknownFormat as error:
            self._reject(turn.spool, name, f"{_LATER}: {_in_words(error)}")
        except UnsafePath as error:
            # Without its path: it lies elsewhere in a moment, under another name.
            _, path, what = error.message.rpartition(f"{name} ")
            self._reject(turn.spool, name, f"it {what}" if path else what)
        except OSError as error:
            self._reject(turn.spool, name, reason(error))
        except (ValueError, RecursionError) as error:
            self._reject(turn.spool, name, _in_words(error))
        else:
            return self._sort(name, event, turn)
        return None

    def _sort(self, name: str, event: Event, turn: _Turn) -> tuple[str, Event] | None:
        if event.kind == events.ERROR:
            self._put_away(lambda: turn.spool.report(name))
        elif event.kind == events.DELIVERED:
            turn.told += event.details.get("messages", "").split()
            turn.done.append(name)
        else:
            return name, event
        self.taken.events += 1
        return None

    def _reject(self, spool: Spool, name: str, reason: str) -> None:
        rejected = self.taken.rejected
        rejected[self.group.folder] += 1
        if rejected[self.group.folder] > MOST_REJECTED and not reason.startswith(_LATER):
            self._put_away(lambda: spool.drop(name))
        else:
            self._put_away(lambda: spool.reject(name, reason))

    def _put_away(self, move: Callable[[], None]) -> None:
        """What cannot be moved away stays where it is, and is no hindrance to what comes after."""
        try:
            move()
        except FileNotFoundError:
            pass
        except (OSError, UnsafePath) as error:
            self.taken.problems[self.group.folder] = _in_words(error)


class _Turn:
    """What one turn of a group works with, and has done."""

    def __init__(self, spool: Spool, store: WritableStore) -> None:
        self.spool = spool
        self.store = store
        self.done: list[str] = []
        """Files to be removed once all is stored."""
        self.told: list[str] = []
        """Ids of the queue's messages that were put before the agent."""


def _read(chunk: Chunk, store: WritableStore, grp: str) -> Reading:
    event = chunk.event
    client = clients.CLIENTS.get(event.client)
    if client is None:
        raise ValueError(f"its client {event.client!r} is not known")
    state = store.state(grp, event.client, event.session)
    return client.read(event, chunk.lines, state)


def _ids(reading: Reading) -> list[str]:
    """The queue's messages among what was said."""
    said = (e for e in reading.entries if isinstance(e, Message) and e.kind == "message")
    return [piece.id for message in said for piece in split_messages(message.text) if piece.id]


def _in_words(error: Exception) -> str:
    """One line of bounded length."""
    if isinstance(error, (PannierError, OSError)):
        words = described(error)
    elif isinstance(error, UnicodeDecodeError):
        words = reason(error)
    elif isinstance(error, ValueError) and str(error):
        words = str(error)
    elif isinstance(error, RecursionError):
        words = "it is nested too deeply"
    else:  # A fault of ours: what helps to mend it.
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return " ".join(words.split())[:_LONGEST_REASON]

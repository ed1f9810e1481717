"""Who serves a home, and how it goes: a lock, and a small file that `pannier status` reads.

Both lie in `state/`, which is never mounted into an agent's container. The lock is the kernel's
(flock(2)), so that it ends with the process however that ends, and is seen from a container as from
the host. The file is rewritten when its content changes; its modification time is the last round.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field

from pydantic import TypeAdapter, ValidationError

from pannier import __version__, owner, safefs
from pannier.errors import PannierError
from pannier.paths import Home
from pannier.safefs.beneath import like_folder
from pannier.safefs.lock import is_held, take

FILE = "serve.json"
LOCK = "serve.lock"

# Whoever asks for the state holds the lock for a moment, shared.
_LOCK_PATIENCE = 0.25  # seconds


@dataclass(frozen=True)
class GroupHealth:
    """A group, as the last round saw it."""

    folder: str
    state: str
    """up, waiting, idle, broken or gone."""
    container: str = ""
    waits: str = ""
    """What it waits for, or what is wrong with it."""
    not_before: str = ""
    """When the next try is due."""


@dataclass(frozen=True)
class Report:
    """What the daemon writes about itself. Times are RFC 3339, in UTC."""

    owner: str
    since: str
    every: float
    """Seconds between rounds."""
    version: str = __version__
    engine: str = ""
    """Its version; empty if it does not answer."""
    no_engine: str = ""
    groups: tuple[GroupHealth, ...] = ()
    ended: str = ""
    """When it ended, if it did so in order."""


@dataclass(frozen=True)
class Health:
    """What somebody else finds out about the daemon of a home."""

    running: bool
    report: Report | None = None
    """Its own, or that of the last one; None if there was none."""
    last_round: float = 0.0
    """Seconds since the epoch."""
    troubles: tuple[str, ...] = field(default=())
    """Why it is not healthy."""


class Place:
    """The place of the one daemon, while it is taken."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._written = b""

    def write(self, report: Report) -> None:
        """Tell of a round. Raises OSError or UnsafePath."""
        data = (json.dumps(asdict(report), indent=2) + "\n").encode()
        if data == self._written:
            with suppress(FileNotFoundError):
                os.utime(self.home.state / FILE, follow_symlinks=False)
                return
        safefs.write(self.home.state, FILE, data)
        self._written = data


@contextmanager
def take_place(home: Home) -> Iterator[Place]:
    """Become the daemon of this home.

    Raises PannierError if there is one, naming it.
    """
    try:
        safefs.make_directory(home.root, home.state.name)
        lock = _open_lock(home)
    except OSError as error:
        raise PannierError(f"{home.state} cannot be used: {error.strerror}") from error
    try:
        if not take(lock, seconds=_LOCK_PATIENCE):
            raise PannierError(f"{_who(home)} serves {home.root} already", "See: pannier status")
        yield Place(home)
    finally:
        os.close(lock)


def _open_lock(home: Home) -> int:
    with safefs.open_directory(home.state) as folder:
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(LOCK, flags, 0o644, dir_fd=folder)
        like_folder(lock, folder)
        return lock


def _who(home: Home) -> str:
    report, _ = _read(home)
    if report is None or report.ended:
        return "another daemon"
    host, pid, *_ = [*report.owner.split(":"), "", ""]
    return f"process {pid} on {host} (since {report.since})"


def health(home: Home, now: float) -> Health:
    """Look at the daemon of a home from outside. `now` in seconds since the epoch."""
    report, last_round = _read(home)
    running = is_served(home)
    return Health(running, report, last_round, tuple(_troubles(running, report, last_round, now)))


def is_served(home: Home) -> bool:
    """Whether there is a daemon just now."""
    try:
        lock = os.open(home.state / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise PannierError(f"{home.state / LOCK} cannot be read: {error.strerror}") from error
    try:
        return is_held(lock)
    finally:
        os.close(lock)


def _read(home: Home) -> tuple[Report | None, float]:
    try:
        data = safefs.read(home.state, FILE)
        at = (home.state / FILE).stat().st_mtime
    except FileNotFoundError:
        return None, 0.0
    except OSError as error:
        raise PannierError(f"{home.state / FILE} cannot be read: {error.strerror}") from error
    try:
        return TypeAdapter(Report).validate_json(data), at
    except ValidationError:  # written by another version
        return None, at


def _troubles(running: bool, report: Report | None, last_round: float, now: float) -> Iterator[str]:
    if not running:
        if report is None:
            yield "no daemon has served this home yet"
        elif report.ended:
            yield f"the daemon ended at {report.ended}"
        else:
            yield "the daemon was killed, or its machine went down"
        return
    if report is None:
        yield "the daemon has not finished its first round"
        return
    if now - last_round > 60 + 2 * report.every:
        yield f"the last round is {now - last_round:.0f} s ago"
    if report.no_engine:
        yield report.no_engine


def new_report(since: str, every: float) -> Report:
    """That of this very process."""
    return Report(owner.me(), since, every)

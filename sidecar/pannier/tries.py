"""What was tried of idle compaction: a small file in `state/`, so that a daemon that was ended in
the middle, or every few minutes, does not begin again and again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from pannier import safefs
from pannier.errors import PannierError, reason
from pannier.paths import Home

FILE = "compaction.json"
MOST_TRIES = 3
"""In one pause of a thread."""
_LIMIT = 64 << 20


@dataclass(frozen=True)
class Tried:
    """What was tried in a pause of a thread."""

    group: str
    thread: str
    said: int
    """The pause: after this message."""
    count: int
    """How often it was begun."""
    at: float
    """When it was last, in seconds since 1970."""
    done: bool = False
    why: str = ""
    """Why it failed; "" also of one that nobody has seen end."""

    def __str__(self) -> str:
        """For people: what failed, and what becomes of it."""
        then = "left until something is said there" if self.given_up else "to be tried again"
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"{self.group}/{self.thread} could not be compacted ({times}; {then}): {self.why}"

    @property
    def given_up(self) -> bool:
        return not self.done and self.count >= MOST_TRIES


_TRIES = TypeAdapter(dict[str, Tried])


def read_tries(home: Home) -> dict[str, Tried]:
    """By the thread's key. Raises PannierError for a file that is none of ours."""
    path = home.state / FILE
    try:
        data = safefs.read(home.state, FILE, limit=_LIMIT, missing=b"{}")
        return _TRIES.validate_json(data)
    except ValidationError as error:
        raise PannierError(
            f"{path} cannot be read: it is not as pannier writes it",
            "Remove it: then idle threads may be compacted once more.",
        ) from error
    except OSError as error:
        raise PannierError(f"{path} cannot be read: {reason(error)}") from error


def write_tries(home: Home, tries: Mapping[str, Tried]) -> None:
    """Whole or not at all. Raises PannierError."""
    data = json.dumps({key: asdict(one) for key, one in tries.items()}, indent=1).encode()
    try:
        safefs.write(home.state, FILE, data + b"\n")
    except OSError as error:
        raise PannierError(f"{home.state / FILE} cannot be written: {reason(error)}") from error


def failures(tries: Mapping[str, Tried]) -> list[Tried]:
    """Those that a person should know of, by thread."""
    found = [one for one in tries.values() if one.why]
    return sorted(found, key=lambda one: (one.group, one.thread))

"""What a client keeps of a session below its HOME: found, and removed.

HOME is the agent's to write: every name is opened beneath it, no link is followed, and what a
session or a transcript is called was claimed by a container.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from pannier import safefs
from pannier.clients.client import Traces
from pannier.errors import ChangedMeanwhile, PannierError, UnsafePath, reason
from pannier.paths import GroupPaths

MOST_NAMES = 20_000
"""Names of one folder that are looked at."""
_LIST_LIMIT = 64 << 20
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{7,199}")

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What lies below the HOME of a client, as the names that lead to it."""

    sessions: tuple[str, ...] = ()
    whole: tuple[Parts, ...] = ()
    """Files and folders of the sessions alone."""
    listed: tuple[tuple[Parts, str], ...] = ()
    """Files with entries of the sessions, each with the member that names one."""
    databases: tuple[Parts, ...] = ()
    """What may hold more of them, and is not opened."""


def find(
    paths: GroupPaths, client: str, traces: Traces, sessions: Sequence[str], logs: Sequence[str]
) -> Found:
    """What the client keeps of these sessions. `logs` are paths of their transcripts.

    An id that is none is passed over: it was claimed, and may be short or hold a wildcard.
    """
    ids = [session for session in sessions if _SESSION.fullmatch(session)]
    try:
        with safefs.open_directory(paths.root, paths.clients.name, client) as home:
            whole = dict.fromkeys(
                found
                for id in ids
                for pattern in traces.files(id)
                for found in _match(home, pattern)
            )
            whole |= dict.fromkeys(
                found
                for log in logs
                for found in _log(home, log)
                if not any(found[:n] in whole for n in range(1, len(found)))
            )
            whole |= dict.fromkeys(
                found
                for pattern in traces.current
                for found in _match(home, pattern)
                if _read(home, found).strip().decode("utf-8", "replace") in ids
            )
            listed = [
                (found, member)
                for pattern, member in traces.entries.items()
                for found in _match(home, pattern)
                if _without(_read(home, found), member, ids) is not None
            ]
            databases = [found for pattern in traces.databases for found in _match(home, pattern)]
    except (FileNotFoundError, UnsafePath):
        return Found()
    return Found(tuple(ids), tuple(whole), tuple(listed), tuple(databases))


def remove(paths: GroupPaths, client: str, found: Found) -> tuple[str, ...]:
    """Remove what was found. Returns what stays, each with the reason."""
    kept: list[str] = []
    if not (found.whole or found.listed):
        return ()
    with (
        _telling(kept, (".",)),
        safefs.open_directory(paths.root, paths.clients.name, client) as home,
    ):
        for parts in found.whole:
            with _telling(kept, parts):
                kept += (f"{'/'.join(parts)}/{reason}" for reason in _remove(home, parts))
        for parts, member in found.listed:
            with _telling(kept, parts):
                _strike(home, parts, member, found.sessions)
    return tuple(kept)


@contextmanager
def _telling(kept: list[str], parts: Parts) -> Iterator[None]:
    """What goes wrong within is told, and the next one follows. What is gone is as good."""
    try:
        yield
    except FileNotFoundError:
        pass
    except PannierError as error:
        kept.append(f"{'/'.join(parts)}: {error.message}")
    except OSError as error:
        kept.append(f"{'/'.join(parts)}: {reason(error)}")


def _remove(home: int, parts: Parts) -> tuple[str, ...]:
    with safefs.open_directory(home, *parts[:-1]) as folder:
        if stat.S_ISDIR(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            return safefs.remove_tree(folder, parts[-1])
        os.unlink(parts[-1], dir_fd=folder)
    return ()


def _strike(home: int, parts: Parts, member: str, sessions: Sequence[str]) -> None:
    """Write the file anew without the entries of the sessions."""
    with safefs.open_directory(home, *parts[:-1]) as folder:
        for last in (False, False, True):
            old = safefs.read(folder, parts[-1], limit=_LIST_LIMIT)
            new = _without(old, member, sessions)
            if new is None:
                return
            try:
                safefs.write(folder, parts[-1], new, expected=old)
                return
            except ChangedMeanwhile:  # a running client added something
                if last:
                    raise


# ------------------------------------------------------------------------------------------ finding


def _match(home: int, pattern: str) -> Iterator[Parts]:
    yield from _below(home, (), tuple(pattern.split("/")))


def _below(home: int, before: Parts, pattern: Parts) -> Iterator[Parts]:
    name, *rest = pattern
    for found in _names(home, before, name):
        here = (*before, found)
        if rest:
            yield from _below(home, here, tuple(rest))
        else:
            yield here


def _names(home: int, folder: Parts, pattern: str) -> tuple[str, ...]:
    """The names in a folder that match; none if it is no folder."""
    try:
        with safefs.open_directory(home, *folder) as here:
            if not any(sign in pattern for sign in "*?["):
                os.stat(pattern, dir_fd=here, follow_symlinks=False)
                return (pattern,)
            with os.scandir(here) as entries:
                names = [entry.name for entry in islice(entries, MOST_NAMES)]
    except (OSError, UnsafePath):
        return ()
    return tuple(sorted(name for name in names if fnmatchcase(name, pattern)))


def _log(home: int, log: str) -> Iterator[Parts]:
    """A transcript that is a file below HOME. Not any file: its name is a claim."""
    if log.endswith(".jsonl") and not log.startswith("/"):
        with suppress(OSError, UnsafePath), safefs.open_file(home, *log.split("/")):
            yield tuple(log.split("/"))


def _read(home: int, parts: Parts) -> bytes:
    """b"" for what cannot be read: then nothing of a session is in it that could be struck."""
    try:
        return safefs.read(home, *parts, limit=_LIST_LIMIT)
    except (OSError, UnsafePath):
        return b""


# --------------------------------------------------------------------------------- lists of entries


def _without(data: bytes, member: str, sessions: Sequence[str]) -> bytes | None:
    """A list of entries without those of the sessions; None when none is in it. Pure."""
    if not any(id.encode() in data for id in sessions):
        return None
    if data.lstrip().startswith(b"["):
        return _without_items(data, member, sessions)
    lines = data.splitlines(keepends=True)
    left = [line for line in lines if not _names_one(line, member, sessions)]
    return b"".join(left) if len(left) < len(lines) else None


def _without_items(data: bytes, member: str, sessions: Sequence[str]) -> bytes | None:
    entries = _json(data)
    if not isinstance(entries, list):
        return None
    left = [one for one in entries if not _is_of(one, member, sessions)]
    if len(left) == len(entries):
        return None
    return json.dumps(left, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _names_one(line: bytes, member: str, sessions: Sequence[str]) -> bool:
    named = any(id.encode() in line for id in sessions)
    return named and _is_of(_json(line), member, sessions)


def _is_of(entry: Any, member: str, sessions: Sequence[str]) -> bool:
    return isinstance(entry, dict) and entry.get(member) in sessions


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None

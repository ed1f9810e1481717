"""The pages in `conversations/`: their names, which are kept, and how far each thread is told."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

from pannier import safefs
from pannier.errors import UnsafePath
from pannier.paths import Home
from pannier.settings import Conversations

_NAME = re.compile(r"\d{4}-\d\d-\d\d-.+-(?P<key>[0-9a-f]{8})(?:-(?P<part>\d{1,5}))?\.md")
_LITTER = re.compile(r"\.[0-9a-f]{16}\.pannier-new")
"""As safefs calls a file until it is whole."""
_LITTER_AGE = 3_600
"""Seconds after which nobody is writing it any more."""
_STATE = "conversations"
"""The folder in the home's state where it is remembered how far each thread is told."""
_STATE_LIMIT = 64 << 20


@dataclass(frozen=True)
class Told:
    """How far the pages of a thread are."""

    part: int = 0
    """The last one; 0 before the first."""
    upto: int = 0
    """The last message that was looked at."""
    main: int = 0
    """The last one of the main conversation among them."""


def opened(home: Home, folder: str, *, create: bool = True) -> AbstractContextManager[int]:
    """A descriptor of the group's `conversations/`, which is made when it is missing."""
    paths = home.group(folder)
    parts = (paths.folder, paths.conversations.name)
    return safefs.open_directory(paths.root.parent, *parts, create=create)


def pages(root: int) -> dict[str, dict[int, str]]:
    """The names of pages, by the thread's key and the part."""
    found: dict[str, dict[int, str]] = {}
    for name in os.listdir(root):
        match = _NAME.fullmatch(name)
        if match:
            found.setdefault(match["key"], {})[int(match["part"] or 1)] = name
    return found


def of_thread(root: int, key: str) -> tuple[str, ...]:
    """The names of a thread's pages, by part."""
    return tuple(name for _, name in sorted(pages(root).get(key, {}).items()))


def names(home: Home, folder: str, key: str) -> tuple[str, ...]:
    """The same of a group; none where there is no such folder."""
    try:
        with opened(home, folder, create=False) as root:
            return of_thread(root, key)
    except (FileNotFoundError, UnsafePath):
        return ()


def remove(root: int, name: str) -> None:
    """Remove a page. What only has its name, and is no file, stays."""
    try:
        if stat.S_ISREG(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=root)
    except FileNotFoundError:
        pass


# -------------------------------------------------------------------------------- which are kept


@dataclass(frozen=True)
class File:
    """A page, as far as it matters to how long it is kept."""

    name: str
    changed: float
    """Seconds since 1970."""


def superfluous(files: Iterable[File], keep: Conversations, now: float) -> tuple[str, ...]:
    """Which of these pages are kept no longer. Pure."""
    newest = sorted(files, key=lambda f: (f.changed, f.name), reverse=True)
    oldest = now - keep.keep_days * 86_400 if keep.keep_days is not None else None
    return tuple(
        file.name
        for rank, file in enumerate(newest)
        if (keep.keep is not None and rank >= keep.keep)
        or (oldest is not None and file.changed < oldest)
    )


def prune(root: int, keep: Conversations, now: float) -> tuple[str, ...]:
    """Remove the pages that are kept no longer; returns their names.

    What a killed process had half written goes as well.
    """
    files, litter = [], []
    with os.scandir(root) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False):
                continue
            changed = entry.stat(follow_symlinks=False).st_mtime
            if _NAME.fullmatch(entry.name):
                files.append(File(entry.name, changed))
            elif _LITTER.fullmatch(entry.name) and changed < now - _LITTER_AGE:
                litter.append(entry.name)
    removed = superfluous(files, keep, now)
    for name in (*removed, *litter):
        remove(root, name)
    return removed


# ------------------------------------------------------------------------------- what is remembered


def remembered(home: Home, folder: str) -> dict[str, Told]:
    """How far each thread is told, by its key.

    What cannot be read is as if it were not there: the pages themselves say it, too.
    """
    try:
        data = safefs.read(home.state, _STATE, f"{folder}.json", limit=_STATE_LIMIT, missing=b"{}")
        told = json.loads(data)
        return {key: Told(**{n: int(v) for n, v in of.items()}) for key, of in told.items()}
    except (FileNotFoundError, UnsafePath, ValueError, TypeError, AttributeError):
        return {}


def remember(home: Home, folder: str, told: Mapping[str, Told]) -> None:
    """Keep it beside the other state of the home."""
    home.state.mkdir(mode=0o700, exist_ok=True)
    data = json.dumps({key: asdict(value) for key, value in told.items()}).encode()
    with safefs.open_directory(home.state, _STATE, create=True) as root:
        safefs.write(root, f"{folder}.json", data)

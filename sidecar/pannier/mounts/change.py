"""`pannier mounts allow` and `deny`: changes of the allowlist, validated and whole."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from pannier import safefs
from pannier.errors import PannierError, UsageError
from pannier.mounts import edit, facts
from pannier.mounts.allowlist import Entry, expand, parse_allowlist
from pannier.mounts.places import Place
from pannier.mounts.rules import never
from pannier.paths import Home, allowlist_file

_PATIENCE = 5.0  # seconds


@dataclass(frozen=True)
class Grant:
    """What `allow` adds. Nothing that an entry grants already is taken away."""

    path: Path
    """Absolute."""
    rw: bool = False
    groups: tuple[str, ...] = ()
    excepted: tuple[str, ...] = ()
    description: str | None = None
    git: bool = False
    no_scan: bool = False


@dataclass(frozen=True)
class Change:
    """What was done to the allowlist, or would be."""

    file: Path
    entry: Entry
    changed: bool
    notes: tuple[str, ...] = ()


def allow(
    grant: Grant, home: Home | None, environ: Mapping[str, str], *, dry_run: bool = False
) -> Change:
    """Add an entry for a folder, or add to the one there is.

    Raises UsageError for what can never be mounted, SettingsError if the file is broken,
    PannierError if it cannot be edited.
    """
    real = _folder(grant.path)
    places = facts.never_sources(home, environ)
    _may_be_allowed(real, places)

    def changed(text: str, name: str) -> tuple[str, Entry]:
        entries = parse_allowlist(text, name).allow
        number = _number(entries, real, environ)
        entry = _added(grant, real, entries[number] if number is not None else None)
        if number is not None and entries[number] == entry:
            return text, entry
        return edit.with_entry(text, name, number, entry), entry

    done = _rewrite(changed, environ, dry_run)
    notes = _notes(grant, real, done.said, places)
    return Change(done.file, done.said, done.changed, notes)


def block(patterns: tuple[str, ...], environ: Mapping[str, str], *, dry_run: bool = False) -> bool:
    """Add blocked names. Returns whether one of them was new. Raises as `allow`."""

    def changed(text: str, name: str) -> tuple[str, None]:
        return edit.with_block(text, name, patterns), None

    return _rewrite(changed, environ, dry_run).changed


def deny(path: Path, environ: Mapping[str, str], *, dry_run: bool = False) -> Change:
    """Remove the entry of a folder, with the comments inside of it.

    Raises UsageError if there is none, and as `allow`.
    """
    real = _real(path)

    def changed(text: str, name: str) -> tuple[str, Entry]:
        entries = parse_allowlist(text, name).allow
        number = _number(entries, real, environ)
        if number is None:
            raise UsageError(f"{name} has no entry for {real}", "See: pannier mounts list")
        return edit.without_entry(text, name, number), entries[number]

    done = _rewrite(changed, environ, dry_run)
    return Change(done.file, done.said, done.changed)


def _folder(path: Path) -> Path:
    real = _real(path)
    if not os.path.lexists(real):
        raise UsageError(f"{real} does not exist", "Make the folder first.")
    if not real.is_dir():
        raise UsageError(f"{real} is not a folder, and only folders are mounted")
    return real


def _real(path: Path) -> Path:
    try:
        return facts.follow(path).real
    except OSError as error:
        raise UsageError(f"{path} cannot be followed: {error.strerror}") from error


def _may_be_allowed(real: Path, places: Sequence[Place]) -> None:
    """A folder that holds a forbidden place may be a root: for the rest of what it holds."""
    around = [p for p in places if p.path == real or not p.path.is_relative_to(real)]
    reason = never(real, around)
    if reason:
        raise UsageError(reason)


def _number(entries: Sequence[Entry], real: Path, environ: Mapping[str, str]) -> int | None:
    for number, entry in enumerate(entries):
        try:
            if facts.follow(expand(entry.path, environ)).real == real:
                return number
        except OSError:
            continue
    return None


def _added(grant: Grant, real: Path, old: Entry | None) -> Entry:
    said: dict[str, Any] = old.model_dump(by_alias=True) if old else {"path": str(real)}
    if grant.rw:
        said["mode"] = "rw"
    if grant.groups and (old is None or old.groups is not None):
        said["groups"] = tuple(dict.fromkeys((*(said.get("groups") or ()), *grant.groups)))
    if grant.excepted:
        said["except"] = tuple(dict.fromkeys((*said.get("except", ()), *grant.excepted)))
    if grant.description is not None:
        said["description"] = grant.description
    if grant.git:
        said["git"] = True
    if grant.no_scan:
        said["scan"] = False
    try:
        return Entry.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{first['loc'][0]}: {what}") from None


def _notes(grant: Grant, real: Path, entry: Entry, places: Sequence[Place]) -> tuple[str, ...]:
    notes = []
    reason = never(real, places)
    if reason:
        notes.append(f"{reason}; other folders below it may be")
    if grant.groups and entry.groups is None:
        notes.append("it was allowed for every group already, and still is")
    return tuple(notes)


Said = TypeVar("Said")


@dataclass(frozen=True)
class _Done(Generic[Said]):
    file: Path
    said: Said
    changed: bool


def _rewrite(
    changed: Callable[[str, str], tuple[str, Said]], environ: Mapping[str, str], dry_run: bool
) -> _Done[Said]:
    """Write what `changed` makes of the file's text, and say what it said about it."""
    file = allowlist_file(environ)
    # A person may keep the file elsewhere and link to it: the link stays.
    real = facts.follow(file).real
    if dry_run:
        text = _text(real)
        after, said = changed(text or "", str(file))
        return _Done(file, said, after != (text or ""))
    real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with safefs.open_directory(real.parent) as folder, _alone(folder, file):
        text = _text(real)
        after, said = changed(text or "", str(file))
        if after != (text or ""):
            before = None if text is None else text.encode()
            safefs.write(
                folder,
                real.name,
                after.encode(),
                replace=text is not None,
                expected=before,
                mode=0o600,
            )
    return _Done(file, said, after != (text or ""))


def _text(file: Path) -> str | None:
    try:
        return safefs.read(file.parent, file.name).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise PannierError(f"{file} is not text (UTF-8): {error.reason}") from error


@contextmanager
def _alone(folder: int, file: Path) -> Iterator[None]:
    """One editor at a time. The folder is never mounted, so a lock on it can be trusted."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise PannierError(
                    f"another pannier is editing {file}", "Try again when it is done."
                ) from None
            time.sleep(0.02)
    yield  # The lock ends with the descriptor.

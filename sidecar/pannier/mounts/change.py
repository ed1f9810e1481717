"""`pannier mounts allow` and `deny`: changes of the allowlist, validated and whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pannier.errors import UsageError, reason
from pannier.mounts import edit, facts
from pannier.mounts.allowlist import Entry, parse_allowlist
from pannier.mounts.places import Place
from pannier.mounts.rewrite import rewrite
from pannier.mounts.rules import Root, deciding, never
from pannier.paths import Home


@dataclass(frozen=True)
class Grant:
    """What `allow` adds. Nothing that an entry grants already is taken away."""

    path: Path
    """Absolute."""
    rw: bool = False
    groups: tuple[str, ...] = ()
    """Only for these; without one for all, or for those that the entry there is names."""
    excepted: tuple[str, ...] = ()
    description: str | None = None
    git: bool = False
    no_scan: bool = False


@dataclass(frozen=True)
class Change:
    """What was done to the allowlist, or would be."""

    file: Path
    entries: tuple[Entry, ...]
    """The one that was written, or those that were removed."""
    changed: bool
    notes: tuple[str, ...] = ()


def allow(
    grant: Grant, home: Home | None, environ: Mapping[str, str], *, dry_run: bool = False
) -> Change:
    """Add an entry for a folder, or add to the one there is.

    Raises UsageError for what can never be mounted, and for what would give more to groups that
    are not named; SettingsError if the file is broken, PannierError if it cannot be edited.
    """
    places = facts.never_sources(home, environ)
    real = root_at(grant.path, places)

    def changed(text: str, name: str) -> tuple[str, tuple[Entry, tuple[str, ...]]]:
        text, entry, notes = added(grant, real, text, name, places, environ)
        return text, (entry, notes)

    done = rewrite(changed, environ, dry_run)
    entry, notes = done.said
    return Change(done.file, (entry,), done.changed, (*notes, *_not_there(grant.groups, home)))


def _not_there(folders: Sequence[str], home: Home | None) -> tuple[str, ...]:
    """A group may be made later, and a name may be mistyped."""
    if home is None:
        return ()
    missing = [folder for folder in folders if not os.path.lexists(home.group(folder).root)]
    return tuple(f"there is no group {folder} in {home.root} yet" for folder in missing)


def root_at(path: Path, places: Sequence[Place]) -> Path:
    """The real path of a folder that may be a root. Raises UsageError for any other."""
    real = _folder(path)
    _may_be_allowed(real, places)
    return real


def added(
    grant: Grant,
    real: Path,
    text: str,
    name: str,
    places: Sequence[Place],
    environ: Mapping[str, str],
) -> tuple[str, Entry, tuple[str, ...]]:
    """The text of the allowlist `name` with a grant for the folder `real`; its entry, and notes.

    Raises as `allow`.
    """
    entries = parse_allowlist(text, name).allow
    root = deciding(real, facts.roots(entries, environ))
    old = root.entry if root and root.real == real else None
    entry = _added(grant, real, old)
    _gives_only_to_the_named(grant, old, entry, name)
    notes = _notes(grant, root.entry if root else None, old, entry)
    reason = never(real, places)
    if reason:
        notes = (f"{reason}; other folders below it may be", *notes)
    if old != entry:
        text = edit.with_entry(text, name, entries.index(old) if old else None, entry)
    return text, entry, notes


def deny(path: Path, environ: Mapping[str, str], *, dry_run: bool = False) -> Change:
    """Remove every entry whose path leads to a folder, with the comments inside of it.

    Raises UsageError if there is none, and as `allow`.
    """
    real = _real(path)

    def changed(text: str, name: str) -> tuple[str, tuple[tuple[Entry, ...], tuple[str, ...]]]:
        entries = parse_allowlist(text, name).allow
        roots = facts.roots(entries, environ)
        denied = tuple(root.entry for root in roots if root.real == real)
        left = _still_granted(real, [root for root in roots if root.real != real])
        if not denied:
            raise UsageError(
                f"{name} has no entry for {real}", "; ".join(left) or "See: pannier mounts list"
            )
        for number in reversed([entries.index(entry) for entry in denied]):
            text = edit.without_entry(text, name, number)
        return text, (denied, left)

    done = rewrite(changed, environ, dry_run)
    return Change(done.file, done.said[0], done.changed, done.said[1])


def _folder(path: Path) -> Path:
    real = _real(path)
    try:
        kind = real.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{real} does not exist", "Make the folder first.") from None
    except OSError as error:
        raise UsageError(f"{real} cannot be looked at: {reason(error)}") from None
    if not stat.S_ISDIR(kind):
        raise UsageError(f"{real} is not a folder, and only folders are mounted")
    return real


def _real(path: Path) -> Path:
    try:
        return facts.follow(path).real
    except OSError as error:
        raise UsageError(f"{path} cannot be followed: {error.strerror}") from error
    except ValueError:  # a NUL, or half of a surrogate pair
        raise UsageError("it is no path: it holds characters that no file name can hold") from None


def _may_be_allowed(real: Path, places: Sequence[Place]) -> None:
    """A folder that holds a forbidden place may be a root: for the rest of what it holds."""
    around = [p for p in places if p.path == real or not p.path.is_relative_to(real)]
    reason = never(real, around) or facts.of_a_home(real)
    if reason:
        raise UsageError(reason)


def _still_granted(real: Path, roots: Sequence[Root]) -> tuple[str, ...]:
    """What is allowed of a folder by other entries than its own."""
    wider = deciding(real, roots)
    below = [root.entry.path for root in roots if root.real.is_relative_to(real)]
    notes = []
    if wider:
        notes.append(f"it lies in {wider.entry.path}, which is still allowed")
    if below:
        notes.append(f"of what lies in it, these are still allowed: {', '.join(below)}")
    return tuple(notes)


def _gives_only_to_the_named(grant: Grant, old: Entry | None, new: Entry, file: str) -> None:
    """With groups named, nobody else gets more by it than they had."""
    if not grant.groups or old is None or _given(old) == _given(new):
        return
    if old.groups is None:
        raise UsageError(
            f"{old.path} is allowed for every group, and every group would get more",
            f"Leave out --group if that is meant. Else write groups: [{', '.join(grant.groups)}] "
            f"into its entry in {file} first.",
        )
    others = [group for group in old.groups if group not in grant.groups]
    if others:
        raise UsageError(
            f"{old.path} is allowed for {', '.join(others)} too, who would get more",
            f"Name them as well if that is meant: --group {' --group '.join(others)}",
        )


def _given(entry: Entry) -> tuple[object, ...]:
    return entry.mode, entry.excepted, entry.git, entry.scan


def _added(grant: Grant, real: Path, old: Entry | None) -> Entry:
    new = {"path": str(real)}
    _entry({**new, "groups": grant.groups})  # also where they are not written
    said: dict[str, Any] = old.model_dump(by_alias=True) if old else new
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
    return _entry(said)


def _entry(said: dict[str, Any]) -> Entry:
    try:
        return Entry.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{first['loc'][0]}: {what}") from None


def _notes(
    grant: Grant, deciding_now: Entry | None, old: Entry | None, new: Entry
) -> tuple[str, ...]:
    """What an entry does beside what was asked for."""
    if old is None:
        if deciding_now is None:
            return ()
        return (f"for this folder it decides from now on, and no longer {deciding_now.path}",)
    if grant.groups and new.groups is None:
        return ("it was allowed for every group already, and still is",)
    if new.groups is None and _given(old) != _given(new):
        return ("it is allowed for every group, and so is what was added",)
    if new.groups is not None and not grant.groups:
        return (f"it is allowed only for {', '.join(new.groups) or 'no group'}, as before",)
    return ()

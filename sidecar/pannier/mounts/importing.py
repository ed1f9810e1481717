"""`pannier mounts import`: another allowlist taken over into ours, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pannier.errors import UsageError
from pannier.mounts import change, edit, facts
from pannier.mounts.allowlist import Entry, begins_at_a_fixed_place, expand, parse_allowlist
from pannier.mounts.change import Grant
from pannier.mounts.nanoclaw import Imported, Root
from pannier.mounts.places import Place
from pannier.mounts.rewrite import rewrite
from pannier.paths import Home


@dataclass(frozen=True)
class Taken:
    """A root that is allowed here too."""

    path: str
    """As it was written there."""
    entry: Entry
    notes: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """A root that is not taken over."""

    path: str
    why: str


@dataclass(frozen=True)
class TakenOver:
    """What was done to the allowlist, or would be."""

    file: Path
    roots: tuple[Taken | LeftOut, ...]
    changed: bool


def take_over(
    imported: Imported, home: Home | None, environ: Mapping[str, str], *, dry_run: bool = False
) -> TakenOver:
    """Add the blocked names and every root that can be one, in a single rewrite.

    Roots never come without the names that were blocked in them. Raises SettingsError if the
    allowlist is broken, PannierError if it cannot be edited; then nothing was written.
    """
    places = facts.never_sources(home, environ)

    def changed(text: str, name: str) -> tuple[str, tuple[Taken | LeftOut, ...]]:
        parse_allowlist(text, name)  # A broken one is no reason to leave out a root.
        roots: list[Taken | LeftOut] = []
        for root in imported.roots:
            try:
                text, taken = _take(root, text, name, places, environ)
            except UsageError as error:
                roots.append(LeftOut(root.path, error.message))
            else:
                roots.append(taken)
        return edit.with_block(text, name, imported.block), tuple(roots)

    done = rewrite(changed, environ, dry_run)
    return TakenOver(done.file, done.said, done.changed)


def _take(
    root: Root, text: str, name: str, places: Sequence[Place], environ: Mapping[str, str]
) -> tuple[str, Taken]:
    if not begins_at_a_fixed_place(root.path):
        raise UsageError("it is neither an absolute path nor one that begins with ~/")
    grant = Grant(expand(root.path, environ), rw=root.rw, description=root.description)
    real = change.root_at(grant.path, places)
    text, entry, notes = change.added(grant, real, text, name, places, environ)
    return text, Taken(root.path, entry, (*notes, *([root.narrowed] if root.narrowed else [])))

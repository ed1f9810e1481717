"""The hook and a client's settings for somebody's own Dockerfile."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pannier import safefs
from pannier.bake import formats
from pannier.bake.files import Files, FolderFiles, read_regular, record_of
from pannier.bake.layout import PACKAGE, RECORD, Content, Record, Tree
from pannier.bake.lines import KINDS, Base, lines
from pannier.bake.merge import CannotMerge, Leaf, Merged, leaves
from pannier.clients.client import Link
from pannier.errors import PannierError, UsageError

ROOTFS = "rootfs"
LINES = "lines"
BY_HAND = "by-hand"
_OF_BASE = " of the base image"


@dataclass(frozen=True)
class Left:
    """A file of a person's that was left alone, and why."""

    path: str
    reason: str


@dataclass
class Baking:
    """What a bake writes below its folder. Nothing has been written yet."""

    output: Path
    files: dict[str, Content] = field(default_factory=dict)
    """Only what is not there like that already."""
    stale: list[str] = field(default_factory=list)
    """Of an earlier bake, not of this one."""
    left: list[Left] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Theirs:
    """A person's files of the image by path from its root, where a bake has to fit in."""

    given: Mapping[str, Path] = field(default_factory=dict)
    """Named on the command line."""
    image: Files | None = None
    """What the image stands on."""


def given(tree: Tree, names: tuple[Path, ...]) -> dict[str, Path]:
    """A person's settings files by the path that they have in the image; the name decides.

    Raises UsageError for a file that this client does not read.
    """
    mergeable = {PurePosixPath(p).name: p for p in tree.settings if formats.is_settings(p)}
    found: dict[str, Path] = {}
    for name in names:
        if name.name not in mergeable:
            known = ", ".join(sorted(mergeable)) or "none"
            raise UsageError(
                f"{name}: pannier has nothing to add to a file of this name",
                f"For {tree.client.title} it adds to: {known}.",
            )
        found[mergeable[name.name]] = name
    return found


def decide(tree: Tree, output: Path, theirs: Theirs, *, folder: str, base: Base) -> Baking:
    """Decide what to write below `output`; changes nothing. `folder`: its name in a build context.

    Raises UsageError if another client's bake is there, PannierError if files cannot be read.
    """
    old = FolderFiles(output / ROOTFS)
    record = record_of(old)
    if record is not None and record.client != tree.client.name:
        raise UsageError(
            f"{output} holds what was baked for {record.client}",
            f"Give {tree.client.name} a folder of its own.",
        )
    baking = Baking(output)
    record = record or Record(tree.client.name)
    wanted = dict(tree.hook)
    added: dict[str, tuple[Leaf, ...]] = {}
    wrote: dict[str, str] = {}
    for path, ours in tree.settings.items():
        done = _settle(baking, path, ours, old, record, theirs)
        if done is None:
            baking.files[f"{BY_HAND}/{PurePosixPath(path).name}"] = ours
            added[path] = record.added.get(path, ())
            if path in record.wrote:  # still ours: nobody edited it, it was only not merged with
                wrote[path] = record.wrote[path]
            continue
        wanted[path], added[path] = done.content, done.added
        if not done.edited:
            wrote[path] = _digest(done.content)
    new = Record(
        tree.client.name,
        digest=tree.digest,
        files=tuple(sorted(wanted)),
        added=added,
        wrote=wrote,
    )
    wanted[RECORD] = new.encode()
    past = {*old.below(PACKAGE), *record.files} - set(wanted) - set(tree.settings)
    baking.stale = [f"{ROOTFS}/{path}" for path in sorted(past) if old.read(path) is not None]
    baking.stale += sorted(set(FolderFiles(output).below(BY_HAND)) - set(baking.files))
    baking.files |= {f"{ROOTFS}/{p}": c for p, c in wanted.items() if old.read(p) != c}
    for kind in KINDS.values():
        text = lines(tree, kind, folder, base).encode()
        name = f"{LINES}/{kind.name}.dockerfile"
        if FolderFiles(output).read(name) != text:
            baking.files[name] = text
    return baking


def write(baking: Baking) -> None:
    """Write it: each file whole or not at all, the record last. Raises PannierError."""
    record = f"{ROOTFS}/{RECORD}"
    order = sorted(baking.files, key=lambda path: (path == record, path))
    try:
        for path in order:
            target = baking.output / path
            _make_folder(target.parent)
            _put(target, baking.files[path])
        for path in baking.stale:
            with suppress(FileNotFoundError):
                (baking.output / path).unlink()
    except OSError as error:
        raise PannierError(f"{error.filename}: {error.strerror}") from error


@dataclass(frozen=True)
class _Settled:
    """What becomes of a settings file, what of it is ours, and whether a person wrote in it."""

    content: Content
    added: tuple[Leaf, ...] = ()
    edited: bool = False


def _settle(
    baking: Baking, path: str, ours: Content, old: FolderFiles, record: Record, theirs: Theirs
) -> _Settled | None:
    """A settings file with ours in it; None where a person's is left alone."""
    there = old.read(path)
    edited = there is not None and _digest(there) != record.wrote.get(path)
    source, earlier, name = there, record.added.get(path, ()), str(old.root / path)
    if path in theirs.given:
        name = str(theirs.given[path])
        if edited and there != _read(theirs.given[path]):
            reason = f"{old.root / path} was edited, too, and goes before it: remove one of them"
            baking.left.append(Left(name, reason))
            return None
        source, earlier, edited = _read(theirs.given[path]), (), False
    elif theirs.image is not None and not edited:
        base = theirs.image.read(path)
        if base is not None:
            before = record_of(theirs.image)
            source, earlier = base, before.added.get(path, ()) if before else ()
            name = f"/{path}{_OF_BASE}"
    if source is None or source == ours:
        return _Settled(ours, _all_of(ours, path))
    if isinstance(source, Link) or isinstance(ours, Link) or not formats.is_settings(path):
        if not edited and not name.endswith(_OF_BASE):
            return _Settled(ours)  # in place of what an earlier bake wrote
        what = f"a link to {ours.target}" if isinstance(ours, Link) else "another file"
        baking.left.append(Left(name, f"it stays; pannier would put {what} there"))
        return None
    try:
        text, done = formats.merged(source, path, formats.parse(ours, path), earlier)
    except formats.NotReadable as error:
        baking.left.append(Left(name, f"it cannot be read: {error}"))
        return None
    except CannotMerge as error:
        baking.left.append(Left(name, str(error)))
        return None
    baking.remarks += _remarks(name, done)
    if formats.hooks_off(text, path):
        baking.remarks.append(f"{name}: {formats.HOOKS_OFF}")
    return _Settled(text, tuple(done.added), edited)


def _all_of(ours: Content, path: str) -> tuple[Leaf, ...]:
    if isinstance(ours, Link) or not formats.is_settings(path):
        return ()
    return tuple(leaves(formats.parse(ours, path)))


def _remarks(name: str, done: Merged) -> list[str]:
    found = [
        f"{name}: {leaf} stays as it is; pannier would say {leaf.value!r}" for leaf in done.kept
    ]
    found += [f"{name}: {leaf} is now {leaf.value!r}: hooks need it" for leaf in done.changed]
    return found + [f"{name}: taken out, as pannier's of before: {c}" for c in done.removed]


def _read(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise PannierError(f"{path} cannot be read: {error.strerror}") from error


def _digest(content: Content) -> str:
    raw = content.target.encode() if isinstance(content, Link) else content
    return hashlib.sha256(raw).hexdigest()


def _make_folder(folder: Path) -> None:
    """Open to all whatever the umask is: a Dockerfile's COPY hands modes on to the image."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        one.chmod(0o755)


def _put(target: Path, content: Content) -> None:
    if isinstance(content, bytes):
        if target.is_symlink():
            target.unlink()
        safefs.write(target.parent, target.name, content)
        target.chmod(0o755 if content.startswith(b"#!") else 0o644)
        return
    new = target.with_name(f".{secrets.token_hex(8)}.pannier-new")
    new.symlink_to(content.target)
    try:
        new.replace(target)
    except BaseException:
        new.unlink()
        raise

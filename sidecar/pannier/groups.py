"""Groups: made, listed, shown, and made ready for a start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from pannier import clients, safefs
from pannier.errors import ClientNotKnown, PannierError, SettingsError, UsageError, reason
from pannier.identity import Identity, choose
from pannier.memory import scaffold
from pannier.paths import MARKER, GroupPaths, Home, homes_file, in_container, known_homes
from pannier.settings import GroupSettings, HomeSettings, load, what_is_wrong

_NEW_HOME = """\
# Settings of this pannier home. All are optional; the defaults work.
# base_image: debian:bookworm-slim
"""

_NEW_INSTRUCTIONS = """\
<!-- Role, persona and standing behaviour of {folder}. Facts belong in memory/. -->
"""


@dataclass(frozen=True)
class Group:
    """A group with its settings."""

    paths: GroupPaths
    settings: GroupSettings

    @property
    def folder(self) -> str:
        return self.paths.folder


@dataclass(frozen=True)
class Ready:
    """What making a group ready did."""

    identity: Identity
    created: tuple[str, ...]
    """Files of the scaffold that were missing."""
    odd: tuple[str, ...]
    """What lies in the place of a scaffold file and was left alone, each with its kind."""
    kept: tuple[str, ...] = ()
    """What the agent cannot write because it still belongs to somebody else, with the reason."""


def init(root: Path, environ: Mapping[str, str]) -> tuple[Home, bool]:
    """Make a home, or find one there, and remember it as this person's.

    Returns it, and whether it is new.
    """
    outer = next((k for k in known_homes(environ) if _is_in_groups(root.resolve(), k)), None)
    if outer is not None:
        raise UsageError(
            f"{root} lies in the groups of {outer}, where agents can write",
            "A home belongs elsewhere.",
        )
    new = not (root / MARKER).is_file()
    try:
        root.mkdir(parents=True, exist_ok=True)
        home = Home(root.resolve())
        home.groups.mkdir(exist_ok=True)
        home.state.mkdir(mode=0o700, exist_ok=True)
        if new:
            with safefs.open_directory(home.root) as folder:
                safefs.write(folder, MARKER, _NEW_HOME.encode())
        _remember(home, environ)
    except OSError as error:
        path = error.filename or root
        raise PannierError(f"{root} cannot become a home: {path}: {error.strerror}") from error
    return home, new


def _is_in_groups(root: Path, home: Path) -> bool:
    return root.is_relative_to(Home(home).groups)


def _remember(home: Home, environ: Mapping[str, str]) -> None:
    """Homes that are gone are forgotten."""
    if "\n" in str(home.root):
        return  # Such a home must be named; a line holds one path.
    known = known_homes(environ)
    kept = [path for path in known if (path / MARKER).is_file() and path != home.root]
    if home.root in known and len(kept) == len(known) - 1:
        return
    file = homes_file(environ)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with safefs.open_directory(file.parent) as folder:
        text = "".join(f"{path}\n" for path in (*kept, home.root))
        safefs.write(folder, file.name, text.encode())


def home_settings(home: Home) -> HomeSettings:
    """Raises SettingsError."""
    return load(home.settings, HomeSettings)


def new_settings(client: str, image: str | None, env_from: Sequence[str]) -> GroupSettings:
    """The settings of a new group. Raises UsageError for what cannot be meant."""
    clients.get(client)
    try:
        return GroupSettings(client=client, image=image, env_from=tuple(env_from))
    except ValidationError as error:
        option = str(error.errors()[0]["loc"][0]).replace("_", "-")
        raise UsageError(f"--{option}: {what_is_wrong(error)}") from None


def add(home: Home, folder: str, settings: GroupSettings) -> Group:
    """Make the group `folder`, with its settings, its folders and its scaffold.

    Raises UsageError if there is one of this name already.
    """
    paths = home.group(folder)
    if paths.settings.exists():
        raise UsageError(
            f"there is a group {folder} already", f"Look at it with: pannier group show {folder}"
        )
    chosen = {"client": settings.client} | settings.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(chosen, sort_keys=False)
    paths.root.mkdir(parents=True, exist_ok=True)
    with _root(paths) as root:
        if not paths.standing_instructions.exists():
            instructions = _NEW_INSTRUCTIONS.format(folder=folder).encode()
            safefs.write(root, paths.standing_instructions.name, instructions)
        for name in _folders(paths):
            safefs.make_directory(root, name)
        with safefs.open_directory(root, paths.memory.name) as memory:
            scaffold(memory)
        # Last: a group is what holds a group.yaml, and a half-made one is made again.
        safefs.write(root, paths.settings.name, text.encode())
    return get(home, folder)


def get(home: Home, folder: str) -> Group:
    """The group of this folder.

    Raises UsageError if there is none, SettingsError if its settings cannot be read.
    """
    paths = home.group(folder)
    if paths.root.is_symlink():
        raise UsageError(f"{paths.root} is a symbolic link", "A group is a real folder.")
    if not _there(paths):
        known = ", ".join(p.folder for p in home.all_groups()) or "none yet"
        raise UsageError(
            f"no group {folder} in {home.root} (there are: {known})",
            f"Make it with: pannier group add {folder}",
        )
    return Group(paths, load(paths.settings, GroupSettings))


def client_of(group: Group, name: str | None) -> clients.Client:
    """The client that is asked for, else the group's. Raises ClientNotKnown, naming the file."""
    if name is not None:
        return clients.get(name)
    try:
        return clients.get(group.settings.client)
    except ClientNotKnown as error:
        raise ClientNotKnown(f"{group.paths.settings}: {error.message}", error.hint) from None


def image_of(group: Group, client: clients.Client) -> str | None:
    """The image that the group's settings name for this client; None: pannier's own."""
    return group.settings.image if client.name == group.settings.client else None


def _there(paths: GroupPaths) -> bool:
    try:
        return paths.settings.is_file()
    except PermissionError as error:
        raise SettingsError(f"{paths.settings} cannot be read: {reason(error)}") from error


def identity_of(paths: GroupPaths, environ: Mapping[str, str]) -> Identity:
    """Who runs in the containers of this group. Reads only. Raises PannierError."""
    owners = []
    for path in (paths.root, paths.memory):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        owners.append(Identity(status.st_uid, status.st_gid))
    me = Identity(os.geteuid(), os.getegid())
    return choose(tuple(owners), me, environ, paths.folder)


def make_ready(group: Group, client: clients.Client, environ: Mapping[str, str]) -> Ready:
    """Everything that a start mounts exists, belongs to the right user, and holds the scaffold.

    Safe to repeat and to run twice at once: only what is missing is made. Files that appeared
    under another owner are given to the agent where pannier runs as root.
    """
    paths = group.paths
    identity = identity_of(paths, environ)
    kept: list[str] = []
    with _root(paths) as root:
        for name in (*_folders(paths), f"{paths.clients.name}/{client.name}"):
            safefs.make_directory(root, *name.split("/"))
        compose_instructions(paths, root)
        with safefs.open_directory(root, paths.memory.name) as memory:
            report = scaffold(memory)
        if os.geteuid() == 0:
            # Root in a container is nobody's decision: from there a person's files stay theirs.
            only_of = 0 if in_container(environ) else None
            for path in (*_mounted(paths), paths.client(client.name)):
                parts = path.relative_to(paths.root).parts
                with safefs.open_directory(root, *parts) as folder:
                    given = safefs.give(folder, identity.uid, identity.gid, only_of=only_of)
                kept += [f"{'/'.join(parts)}/{reason}" for reason in given.kept]
    odd = tuple(f"memory/{o.path}: {o.reason}" for o in report.odd)
    return Ready(identity, report.created, odd, tuple(kept))


def _root(paths: GroupPaths) -> AbstractContextManager[int]:
    """The group's folder, which must be a real one: everything is done from its descriptor."""
    return safefs.open_directory(paths.root.parent, paths.folder)


def compose_instructions(paths: GroupPaths, root: int) -> None:
    """`instructions.prepend.md` under the name that each client looks for.

    The host's text alone: nothing that the agent wrote goes in.
    """
    text = safefs.read(root, paths.standing_instructions.name, missing=b"")
    with safefs.open_directory(root, paths.instructions.name) as folder:
        for name in sorted({c.instructions_file for c in clients.CLIENTS.values()}):
            if safefs.read(folder, name, missing=None) != text:
                safefs.write(folder, name, text)


def _mounted(paths: GroupPaths) -> tuple[Path, ...]:
    return (
        paths.memory,
        paths.learned,
        paths.conversations,
        paths.files,
        paths.instructions,
        paths.spool,
        paths.inbox,
    )


def _folders(paths: GroupPaths) -> tuple[str, ...]:
    return tuple(p.name for p in (*_mounted(paths), paths.clients))

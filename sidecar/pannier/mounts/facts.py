"""What is on the disk: the facts that the mount plan is made of. Reads only, follows no link below
a source, and looks at no more than a bounded number of entries."""

from __future__ import annotations

import errno
import json
import os
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pannier
from pannier import safefs
from pannier.errors import PannierError, TooManyEntries, UnsafePath
from pannier.mounts import allowlist, places
from pannier.mounts.names import Blocked
from pannier.mounts.places import Place
from pannier.mounts.plan import Mount, own_mounts
from pannier.mounts.rules import ENTRY_LIMIT, Below, Grants, Root, Seen, Way, deciding, never
from pannier.paths import MARKER, GroupPaths, Home, person_home
from pannier.settings import MountRequest

OWN_NAMES_LIMIT = 2_000_000
_LINKS = 40  # as many as Linux follows: path_resolution(7)
_REPOSITORY = frozenset({"HEAD", "objects", "refs"})  # gitrepository-layout(5)
_HOME = frozenset({MARKER, "groups"})


def follow(path: Path) -> Way:
    """Resolve an absolute path and note everything that is passed. What is missing ends it.

    Raises OSError for more than 40 links.
    """
    here, passed, links = "", set[str](), 0
    rest = list(reversed(path.parts[1:]))
    while rest:
        part = rest.pop()
        if part == "..":
            here = here.rpartition("/")[0]
            continue
        step = f"{here}/{part}"
        passed.add(step)
        try:
            target = Path(os.readlink(step))  # noqa: PTH115 (a thousand steps a plan)
        except OSError:  # not a link, or not there
            here = step
            continue
        links += 1
        if links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        here = "" if target.is_absolute() else here
    return Way(Path(here or "/"), frozenset(map(Path, passed)))


def grants(loaded: allowlist.Loaded, environ: Mapping[str, str]) -> Grants:
    """The allowlist with the real paths of its roots."""
    if loaded.error:
        return Grants(error=loaded.error, broken=not loaded.missing)
    return Grants(roots(loaded.allowlist.allow, environ), Blocked(loaded.allowlist.block))


def roots(entries: Iterable[allowlist.Entry], environ: Mapping[str, str]) -> tuple[Root, ...]:
    """Entries with their real paths, in their order; without those that lead in circles."""
    found = []
    for entry in entries:
        try:
            found.append(Root(entry, follow(allowlist.expand(entry.path, environ))))
        except OSError:
            continue
    return tuple(found)


def never_sources(home: Home | None, environ: Mapping[str, str]) -> tuple[Place, ...]:
    """Every place that is never a source, as it is written and where it leads."""
    written = (
        *places.of_pannier(home, environ, _program()),
        *places.of_engine(environ),
        *_contexts(environ),
        *places.of_system(),
        *places.of_person(environ),
        *places.of_path(environ),
    )
    found = dict.fromkeys(written)
    for place in written:
        try:
            real = follow(place.path).real
        except OSError:
            continue
        found[Place(real, place.what, place.below)] = None
    return tuple(found)


def own(paths: GroupPaths, client: str) -> list[Mount]:
    """The group's own mounts. One that does not exist yet has device and inode 0.

    Raises UnsafePath if a link or a file stands in the place of one.
    """
    root = follow(paths.root).real
    mounts = []
    for source, target, mode in own_mounts(paths, client):
        parts = source.relative_to(paths.root).parts
        try:
            with safefs.open_directory(root, *parts) as folder:
                status = os.fstat(folder)
        except FileNotFoundError:
            mounts.append(Mount(root.joinpath(*parts), target, mode, 0, 0))
        else:
            at = root.joinpath(*parts)
            mounts.append(Mount(at, target, mode, status.st_dev, status.st_ino))
    return mounts


def way_of(request: MountRequest, environ: Mapping[str, str]) -> Way | str:
    """Where the source of a request leads, or why it leads nowhere."""
    source = request.source
    if not (source == "~" or source.startswith(("/", "~/"))):
        return "the source must be an absolute path, or begin with ~/"
    if not source.isprintable():
        return "the source holds characters that cannot be shown"
    try:
        way = follow(allowlist.expand(source, environ))
    except OSError as error:
        return f"the source cannot be followed: {error.strerror}"
    # What is no text cannot be said to the engine.
    return way if str(way.real).isprintable() else "the source leads to a path that is no text"


def observe(
    request: MountRequest,
    granted: Grants,
    places: Sequence[Place],
    environ: Mapping[str, str],
) -> Seen:
    """A request with what lies there. What can be no source anyway is not looked into."""
    way = way_of(request, environ)
    if isinstance(way, str):
        return Seen(request, way)
    forbidden = never(way.real, places)
    fault = "" if forbidden else of_a_home(way.real)
    try:
        with safefs.open_directory(Path("/"), *way.real.parts[1:]) as folder:
            status = os.fstat(folder)
            below = Below()
            if not (granted.broken or forbidden or fault):
                root = deciding(way.real, granted.roots)
                below = _look(folder, granted.blocked, scan=root is None or root.entry.scan)
    except FileNotFoundError:
        return Seen(request, f"{way.real} does not exist; make the folder first", way)
    except OSError as error:
        return Seen(request, f"{way.real} cannot be opened: {error.strerror}", way)
    except UnsafePath:
        return Seen(request, _no_folder(way.real), way)
    inside = _in_repository(way.real)
    return Seen(request, fault, way, status.st_dev, status.st_ino, inside, below)


def of_a_home(real: Path) -> str:
    """Why a folder of some pannier home, this one or another, is no source; empty if of none."""
    for home in (real, *real.parents):
        if all(os.path.lexists(home / name) for name in _HOME):
            place = "is" if home == real else f"lies in {home}, which is"
            return f"{real} {place} a pannier home and never a source"
    return ""


def _no_folder(path: Path) -> str:
    return (
        f"{path} is not a folder, and only folders are mounted: a file that an editor saves anew "
        "would be another one than the container has"
    )


def _look(folder: int, blocked: Blocked, *, scan: bool) -> Below:
    """What lies below. The folder's own names come first, however much there is below them."""
    found = _Found(blocked)
    try:
        found.add(safefs.walk(folder, limit=OWN_NAMES_LIMIT, depth=1))
    except TooManyEntries:
        return Below(unread=(".",), too_many=scan)
    too_many = False
    if scan:
        try:
            found.add(safefs.walk(folder, limit=ENTRY_LIMIT))
        except TooManyEntries:
            too_many = True
    return Below(
        tuple(found.hits), found.repositories(), tuple(found.unread), too_many, found.holding(_HOME)
    )


class _Found:
    """What walks have found below a source, each path once."""

    def __init__(self, blocked: Blocked) -> None:
        self.blocked = blocked
        self.hits: dict[str, None] = {}
        self.unread: dict[str, None] = {}
        self.git: dict[str, None] = {}
        self.marks: dict[str, set[str]] = {}
        """By folder, the names in it that tell what the folder is."""

    def add(self, entries: Iterable[safefs.Entry]) -> None:
        for entry in entries:
            if self.blocked.hits(entry.name):
                self.hits[entry.path] = None
            if entry.name.casefold() == ".git":
                self.git[entry.path] = None
            if entry.name in _REPOSITORY | _HOME:
                self.marks.setdefault(entry.path.rpartition("/")[0], set()).add(entry.name)
            if entry.unread:
                self.unread[entry.path] = None

    def repositories(self) -> tuple[str, ...]:
        """Each `.git`, and each bare repository that is not in one."""
        bare = self.holding(_REPOSITORY)
        return tuple(self.git | dict.fromkeys(p for p in bare if p not in self.git))

    def holding(self, names: frozenset[str]) -> tuple[str, ...]:
        """The folders in which all of these names lie."""
        return tuple(path or "." for path, marks in self.marks.items() if marks >= names)


def _in_repository(real: Path) -> bool:
    """Whether a folder lies in the inside of a git repository."""
    if any(part.casefold() == ".git" for part in real.parts):
        return True
    return any(all(os.path.lexists(above / m) for m in _REPOSITORY) for above in real.parents)


def _program() -> Iterable[Path]:
    """Where the code of this very process lies."""
    installed = sysconfig.get_paths()
    names = ("stdlib", "purelib", "platlib", "scripts")
    code = [Path(pannier.__file__).parent, *(Path(installed[name]) for name in names)]
    return dict.fromkeys(code)


def _contexts(environ: Mapping[str, str]) -> list[Place]:
    """The sockets that docker's contexts name (`docker context create`)."""
    config = Path(environ.get("DOCKER_CONFIG") or person_home(environ) / ".docker")
    found = [Place(config, "the configuration of docker")]
    for file in sorted(config.glob("contexts/meta/*/meta.json")):
        try:
            host = json.loads(safefs.read(file.parent, file.name))["Endpoints"]["docker"]["Host"]
        except (OSError, ValueError, LookupError, TypeError, PannierError):
            continue
        if isinstance(host, str) and host.startswith("unix://"):
            found.append(Place(Path(host.removeprefix("unix://")), "the engine's socket"))
    return found

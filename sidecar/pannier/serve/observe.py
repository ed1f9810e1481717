"""Looking at the world once a round: settings, allowlist, containers, and what lies on the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pannier import clients, groups, mounts, owner
from pannier.engine import Container, Engine, images
from pannier.engine.connect import connect
from pannier.errors import EngineError, PannierError
from pannier.groups import Group
from pannier.mounts import allowlist
from pannier.outdated import Comparison
from pannier.paths import GroupPaths, Home, allowlist_file
from pannier.serve.drift import drift
from pannier.serve.facts import ContainerFacts, Facts, GroupFacts
from pannier.serve.idle import Rule
from pannier.serve.words import in_one_line, joined
from pannier.settings import Compaction, HomeLearning, seconds_of

LOOK_SECONDS = 15
"""An engine that takes longer to answer a look is taken for one that hangs."""

# So many times as long as a look at a group's mounts took, the next one may wait: a source with
# many files must not keep a processor busy.
_RARELY = 50
_IMAGE_SECONDS = 60.0
"""How long what was found of a container's image holds, unless its settings were edited."""


@dataclass(frozen=True)
class _Look:
    """What a container's mounts were found to be, and when to look again."""

    drift: tuple[str, ...]
    number: int
    stamp: str
    again: float


@dataclass(frozen=True)
class _ImageLook:
    """Whether a container's image was found to be an earlier one, and when to look again."""

    outdated: str
    stamp: str
    again: float


class Observer:
    """Looks, and keeps what can be kept. `now`: a clock that never goes back."""

    def __init__(self, home: Home, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        self.home = home
        self.environ = environ
        self.now = now
        self.engine: Engine | None = None
        self._looks: dict[str, _Look] = {}
        self._images: dict[str, _ImageLook] = {}
        self._admitted: set[str] = set()
        self._kept: dict[str, Group] = {}
        self._learning = HomeLearning()
        self._read_before: dict[str, tuple[str, Group]] = {}
        """Groups, and how their settings files were then."""

    def facts(self, building: str) -> Facts:
        """Never raises for what a person or an engine can do. `building`: the tag being built."""
        loaded = allowlist.load(self.environ)
        broken = "" if loaded.missing else joined(loaded.error)
        read, home_error = self._read_home()
        try:
            containers = self._containers()
        except EngineError as error:
            self.engine = None
            found = tuple(self._group(p, g, "") for p, g in read.items())
            return Facts("", joined(error.message), found, (), broken, home_error, building)
        assert self.engine is not None
        self._keep(read, {c.group for c in containers})
        facts = tuple(self._container(c, not broken) for c in containers)
        if read or not home_error:
            facts = tuple(replace(c, no_group=c.group not in read) for c in facts)
        up = {c.group for c in facts if c.role == "up" and c.is_there}
        found = tuple(
            self._group(p, g, "" if p in up or home_error else self._missing_image(g))
            for p, g in read.items()
        )
        self._forget({c.id for c in containers})
        return Facts(self.engine.version, "", found, facts, broken, home_error, building)

    def _containers(self) -> list[Container]:
        if self.engine is None:
            self.engine = _find(self.environ)
        return self.engine.containers(str(self.home.root))

    def _keep(self, read: Mapping[str, Group | str], wanted: set[str]) -> None:
        """The last good settings go on deciding about the containers of a group."""
        good = {folder: group for folder, group in read.items() if isinstance(group, Group)}
        kept = {folder: group for folder, group in self._kept.items() if folder in wanted}
        self._kept = {**kept, **good}

    def _read(self, paths: GroupPaths) -> Group | str:
        """A file that nobody wrote since is not read again."""
        stamp, known = _state_of(paths.settings), self._read_before.get(paths.folder)
        if known and known[0] == stamp and not paths.root.is_symlink():
            return known[1]
        self._read_before.pop(paths.folder, None)
        try:
            group = groups.get(self.home, paths.folder)
            clients.get(group.settings.client)
        except (PannierError, OSError) as error:
            return in_one_line(error)
        self._read_before[paths.folder] = (stamp, group)
        return group

    def _read_home(self) -> tuple[dict[str, Group | str], str]:
        """Each group, or why it cannot be read; and what is wrong with the home."""
        try:
            self._learning = groups.home_settings(self.home).learning
            return {paths.folder: self._read(paths) for paths in self.home.all_groups()}, ""
        except (PannierError, OSError) as error:
            wrong = in_one_line(error)
        try:
            return {paths.folder: self._read(paths) for paths in self.home.all_groups()}, wrong
        except OSError:
            return {}, wrong

    def _group(self, folder: str, group: Group | str, missing_image: str) -> GroupFacts:
        stamp = self._stamp(self.home.group(folder))
        if isinstance(group, str):
            return GroupFacts(folder, stamp, group)
        settings = group.settings
        return GroupFacts(
            folder,
            stamp,
            client=settings.client,
            autostart=settings.autostart,
            missing_image=missing_image,
            idle=_idle(settings.context.compaction),
            learning=settings.learning.with_defaults(self._learning),
        )

    def _missing_image(self, group: Group | str) -> str:
        if isinstance(group, str) or not group.settings.autostart or group.settings.image:
            return ""
        client = clients.get(group.settings.client)
        if not client.program or self.engine is None:
            return ""
        try:
            tag = images.tag_for(client, groups.home_settings(self.home))
            return "" if self.engine.has_image(tag) else tag
        except PannierError:  # the start says it
            return ""

    def _container(self, c: Container, judge: bool) -> ContainerFacts:
        abandoned = owner.is_gone(c.owner) or c.owner == owner.me()
        group = self._kept.get(c.group)
        look = self._looks.get(c.id, _Look((), 0, "", 0.0))
        if c.state == "running" and group is not None:
            look = self._looked_at(c, group, judge)
        return ContainerFacts(
            id=c.id,
            name=c.name,
            group=c.group,
            role=c.role,
            state=c.state,
            status=c.status,
            abandoned=abandoned,
            at_gate=c.state == "running" and abandoned and self._at_gate(c),
            drift=look.drift,
            outdated=self._outdated(c, group) if group is not None else "",
            look=look.number,
            stops=group is not None and group.settings.enforce == "stop",
        )

    def _at_gate(self, c: Container) -> bool:
        """Asked once of each container: one that was let through stays so."""
        assert self.engine is not None
        if c.id in self._admitted:
            return False
        if self.engine.at_gate(c.id):
            return True
        self._admitted.add(c.id)
        return False

    def _looked_at(self, c: Container, group: Group, judge: bool) -> _Look:
        stamp = self._stamp(group.paths)
        last = self._looks.get(c.id)
        begun = self.now()
        if last and not last.drift and last.stamp == stamp and begun < last.again:
            return last
        if last and not judge:
            return last
        try:
            plan = mounts.plan_for(self.home, group.paths, group.settings, c.client, self.environ)
            found = drift(c.mounts, plan, judge_extra=judge)
        except (PannierError, OSError) as error:
            found = (in_one_line(error),)
        took = self.now() - begun
        look = _Look(found, last.number + 1 if last else 1, stamp, self.now() + _RARELY * took)
        self._looks[c.id] = look
        return look

    def _outdated(self, c: Container, group: Group) -> str:
        """Looked for once a minute: the engine is asked for an image each time."""
        assert self.engine is not None
        stamp, last = self._stamp(group.paths), self._images.get(c.id)
        if last is None or last.stamp != stamp or self.now() >= last.again:
            try:
                found = Comparison(self.engine, self.home).outdated(c, group)
            except (PannierError, OSError):  # It is told elsewhere; what was found holds.
                return last.outdated if last else ""
            words = f"{found}. {found.advice}" if found else ""
            last = self._images[c.id] = _ImageLook(words, stamp, self.now() + _IMAGE_SECONDS)
        return last.outdated

    def _stamp(self, paths: GroupPaths) -> str:
        files = (
            paths.settings,
            paths.standing_instructions,
            self.home.settings,
            allowlist_file(self.environ),
        )
        return " ".join(map(_state_of, files))

    def _forget(self, there: set[str]) -> None:
        self._looks = {key: look for key, look in self._looks.items() if key in there}
        self._images = {key: look for key, look in self._images.items() if key in there}
        self._admitted &= there


def _find(environ: Mapping[str, str]) -> Engine:
    return Engine(connect(environ, timeout=LOOK_SECONDS), environ)


def _state_of(file: Path) -> str:
    """Another text whenever the file was written or replaced."""
    try:
        status = file.stat()
    except OSError as error:
        return str(error.errno)
    return f"{status.st_ino}.{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}"


def _idle(compaction: Compaction) -> Rule | None:
    if compaction.idle_after is None or not compaction.enabled:
        return None
    return Rule(float(seconds_of(compaction.idle_after)), compaction.min_messages)

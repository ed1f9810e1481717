"""What one round of the daemon sees, as data."""

from __future__ import annotations

from dataclasses import dataclass

from pannier.serve.idle import Rule
from pannier.settings import LearningSettings


@dataclass(frozen=True)
class GroupFacts:
    """A group, as its files say just now."""

    folder: str
    stamp: str
    """Another one whenever somebody edited what decides about the group's containers."""
    error: str = ""
    """Why its settings cannot be read; then the fields below say nothing."""
    client: str = ""
    autostart: bool = False
    missing_image: str = ""
    """Tag of an image of pannier's own that a start would have to build first."""
    idle: Rule | None = None
    """When its idle threads are compacted; None: never."""
    learning: LearningSettings | None = None
    """How it learns, with what the home says; None: nothing is known of it."""


@dataclass(frozen=True)
class ContainerFacts:
    """A container of this home."""

    id: str
    name: str
    group: str
    role: str
    state: str
    status: str = ""
    """The state in the engine's words: `Exited (137) 5 seconds ago`."""
    abandoned: bool = False
    """The process that started it ended."""
    at_gate: bool = False
    """Abandoned before its mounts were compared."""
    drift: tuple[str, ...] = ()
    """In what its mounts differ from what it would get now."""
    outdated: str = ""
    """That it is on an earlier image than a start would take now, and the way out."""
    look: int = 0
    """Which look at its mounts this is; not every round takes a new one."""
    stops: bool = False
    """Its group says `enforce: stop`, or last did when its settings could be read."""
    no_group: bool = False
    """Its group has no `group.yaml`."""

    @property
    def is_there(self) -> bool:
        return self.state in ("running", "restarting", "paused")

    @property
    def is_left(self) -> bool:
        """Whether nobody looks after it any more. Who started one that stays up has gone anyway."""
        if self.role == "up" and self.state != "created":
            return not self.is_there
        return self.abandoned


@dataclass(frozen=True)
class Facts:
    """All that a round decides from."""

    engine: str
    """Version of the engine; empty if none answers."""
    no_engine: str = ""
    """Why none answers."""
    groups: tuple[GroupFacts, ...] = ()
    containers: tuple[ContainerFacts, ...] = ()
    allowlist_error: str = ""
    home_error: str = ""
    """What is wrong with `pannier.yaml`."""
    building: str = ""
    """Tag of the image that is being built."""

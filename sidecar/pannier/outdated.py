"""Whether a container is up with another image, or other settings, than a start would take now."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote

from pannier import clients, groups
from pannier.engine import Container, Engine, images
from pannier.errors import ImageNotFound, PannierError
from pannier.groups import Group
from pannier.paths import Home

_BARE_ID = re.compile(r"(?:sha256:)?[0-9a-f]{12,64}")


@dataclass(frozen=True)
class Outdated:
    """A container that is not as a start would make it, and the way out."""

    name: str
    brief: str
    """In two words, for a table."""
    why: str
    """What of it is earlier, and what follows from that."""
    anew: str
    """What starts it anew."""

    def __str__(self) -> str:
        return f"{self.name} is up {self.why}"

    @property
    def advice(self) -> str:
        return f"Start it anew: {self.anew}"


class Comparison:
    """Containers of a home against what starts would take now; each image is asked about once."""

    def __init__(self, engine: Engine, home: Home) -> None:
        self.engine = engine
        self.home = home
        self._tags: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    def outdated(self, container: Container, group: Group) -> Outdated | None:
        """None when it is not, or nobody can say. Raises SettingsError, EngineError."""
        if container.role not in ("run", "up") or container.state not in ("running", "paused"):
            return None
        client = clients.get(container.client)
        named = container.asked_image or groups.image_of(group, client)
        now = named or self._tag(client)
        if now and is_earlier(container, now, self._id(now), own=named is None):
            has = _brief(container.image)
            why = (
                f"on an earlier image ({has}; a start would take {now}), "
                "so what is said in it may not be kept"
            )
            return Outdated(container.name, "earlier image", why, _anew(container, group))
        if container.context != group.settings.context.variable():
            why = (
                "with earlier settings for its context than group.yaml has now, and keeps to those"
            )
            return Outdated(container.name, "earlier settings", why, _anew(container, group))
        return None

    def _tag(self, client: clients.Client) -> str:
        """That of pannier's own image; "" for a client without one."""
        if client.name not in self._tags:
            settings = groups.home_settings(self.home)
            self._tags[client.name] = images.tag_for(client, settings) if client.program else ""
        return self._tags[client.name]

    def _id(self, tag: str) -> str:
        """The id of the image; "" when the engine does not have it."""
        if tag not in self._ids:
            try:
                self._ids[tag] = self.engine.image(tag).id
            except ImageNotFound:
                self._ids[tag] = ""
        return self._ids[tag]


def warn(
    engine: Engine, home: Home, container: Container, group: Group, tell: Callable[[str], None]
) -> None:
    """Say that a container is outdated to who is about to use it; that never hinders them."""
    with suppress(PannierError):
        if found := Comparison(engine, home).outdated(container, group):
            tell(f"{found}. {found.advice}")


def is_earlier(container: Container, now: str, there: str, *, own: bool) -> bool:
    """Whether a container is on another image than that of the tag `now`. Pure.

    `there`: the id of that image, "" when the engine does not have it; `own`: it is pannier's own.
    """
    if there:
        return container.image_id not in ("", there)
    # Not built yet, but the tag of one of pannier's own says what is in it.
    return own and container.image != now and not _BARE_ID.fullmatch(container.image)


def _brief(image: str) -> str:
    return image[: len("sha256:") + 12] if image.startswith("sha256:") else image


def _anew(container: Container, group: Group) -> str:
    usual = container.client == group.settings.client
    options = "" if usual else f" --client {container.client}"
    if container.asked_image:
        options += f" --image {quote(container.asked_image)}"
    again = f"pannier {container.role} {container.group}"
    return f"pannier stop {container.group} && {again}{options}"

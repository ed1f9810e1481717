"""Who runs in a group's containers: the owner of the group's folder, never root. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pannier.errors import PannierError

# The user of pannier's images; taken where root has to choose somebody.
UNPRIVILEGED = 1000


@dataclass(frozen=True)
class Identity:
    """A user and a group, by number."""

    uid: int
    gid: int

    def __str__(self) -> str:
        return f"{self.uid}:{self.gid}"


def choose(
    owners: tuple[Identity, ...], me: Identity, environ: Mapping[str, str], folder: str
) -> Identity:
    """The identity of a group's containers.

    `owners` are those of the group's folder and of its memory (if there is one yet), `me` is who
    runs pannier. A person who is not root runs containers as themselves, and only over folders of
    their own. Root gives the folders to the first owner that is not root, else to the user behind
    sudo, else to 1000.

    Raises PannierError if the folder belongs to somebody whom `me` cannot become.
    """
    owner = next((o for o in owners if o.uid != 0), None)
    if me.uid != 0:
        if owner is None or owner.uid != me.uid:
            uid = owner.uid if owner else 0
            raise PannierError(
                f"the folder of group {folder} belongs to user {uid}, and you are {me.uid}",
                f"Give it to yourself: sudo chown -R {me} groups/{folder}",
            )
        return owner
    if owner is not None:
        return owner
    by_sudo = _number(environ.get("SUDO_UID")), _number(environ.get("SUDO_GID"))
    if by_sudo[0] and by_sudo[1]:
        return Identity(by_sudo[0], by_sudo[1])
    return Identity(UNPRIVILEGED, UNPRIVILEGED)


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0

"""Which folders of the host a group's containers see: the allowlist and the mount plan."""

from __future__ import annotations

from collections.abc import Mapping

from pannier.errors import SettingsError
from pannier.mounts import allowlist, facts, visible
from pannier.mounts.places import Place
from pannier.mounts.plan import Mount, MountPlan, Refusal, as_data
from pannier.mounts.plan import plan as plan_from
from pannier.mounts.rules import Grants, Writable, writable_by
from pannier.paths import GroupPaths, Home, in_container
from pannier.settings import GroupSettings, load

__all__ = ["Mount", "MountPlan", "Refusal", "as_data", "plan_for"]


def plan_for(
    home: Home,
    paths: GroupPaths,
    settings: GroupSettings,
    client: str,
    environ: Mapping[str, str],
) -> MountPlan:
    """The mounts of one group and client, from what lies on the disk now. Reads only.

    The allowlist is read each time anew; a missing or broken one grants nothing, and each refusal
    says so. Raises UnsafePath if a link or a file stands in the place of a folder of the group.
    """
    own = facts.own(paths, client)
    if not settings.mounts:
        return MountPlan(tuple(own), ())
    places = facts.never_sources(home, visible.as_on_host(environ))
    grants = facts.grants(allowlist.load(environ), environ)
    asked = [facts.observe(request, grants, places, environ) for request in settings.mounts]
    if in_container(environ):
        points = visible.mount_points()
        asked = [visible.checked(seen, grants, points) for seen in asked]
    writable = _writable(home, paths, settings, grants, places, environ)
    return plan_from(paths.folder, own, asked, grants, writable, places)


def _writable(
    home: Home,
    paths: GroupPaths,
    settings: GroupSettings,
    grants: Grants,
    places: tuple[Place, ...],
    environ: Mapping[str, str],
) -> list[Writable]:
    """What containers of any group can write: their own folders, and what they are granted."""
    found = []
    for group in home.all_groups():
        own = (facts.follow(path).real for path in group.written_by_agent)
        found += [Writable(path, group.folder) for path in own]
        try:
            theirs = settings if group == paths else load(group.settings, GroupSettings)
        except SettingsError:
            continue  # A group whose settings cannot be read cannot start.
        for request in theirs.mounts:
            way = facts.way_of(request, environ)
            if request.mode == "ro" or isinstance(way, str):
                continue
            folder = writable_by(group.folder, way, grants, places)
            found += [folder] if folder else []
    return found

"""Whether a running container still has what it would get now. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pannier.mounts.plan import Mount, MountPlan
from pannier.paths import EXTRA_ROOT
from pannier.shown import shown


def drift(has: Sequence[Mount], plan: MountPlan, *, judge_extra: bool) -> tuple[str, ...]:
    """In what the mounts of a container differ from the plan of now, a sentence each.

    A mount that the plan would add is no difference: the container has less than it may.
    `judge_extra`: the allowlist could be read, so that what it does not grant is withdrawn.
    """
    return tuple(_differences(has, plan, judge_extra))


def _differences(has: Sequence[Mount], plan: MountPlan, judge_extra: bool) -> Iterator[str]:
    granted = {mount.target: mount for mount in plan.mounts}
    refused = {EXTRA_ROOT / refusal.target: refusal for refusal in plan.refused}
    for mount in has:
        extra = mount.target.is_relative_to(EXTRA_ROOT)
        now = granted.get(mount.target)
        source = shown(str(mount.source))
        if extra and not judge_extra:
            continue
        if now is None and mount.target in refused:
            yield f"{source} is mounted and would be refused now: {refused[mount.target].reason}"
        elif now is None or now.source != mount.source:
            yield f"{source} is mounted at {mount.target} and is not asked for any more"
        elif now.mode == "ro" and mount.mode == "rw":
            yield f"{source} is mounted for writing and is asked for only for reading now"
        elif now.inode == 0:
            yield f"{source} is gone: the container still has the folder that was there"
        elif (now.device, now.inode) != (mount.device, mount.inode):
            yield f"{source} was replaced: the container still has the folder that was there"

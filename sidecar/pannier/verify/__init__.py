"""Verified delivery: what of a group's memory its real client hands to the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pannier import launch
from pannier.endpoint.model import ScriptedModel
from pannier.engine import Engine
from pannier.errors import UsageError
from pannier.paths import Home
from pannier.verify.container import container_for
from pannier.verify.events import watch
from pannier.verify.memory import read_memory
from pannier.verify.report import EventReport, FileReport, Report

__all__ = ["EventReport", "FileReport", "Report", "verify"]


def verify(
    engine: Engine,
    home: Home,
    plan: launch.Plan,
    environ: Mapping[str, str],
    tell: launch.Tell,
    building: launch.Building,
    *,
    about_to: Callable[[str], None] = lambda _: None,
) -> Report:
    """Drive the client into each event, in a container of its own, and report what of the
    group's memory reached the model.

    `about_to` is called with an event's name when its drive starts. Raises UsageError for a
    client that cannot be driven, and what a start of the group can raise.
    """
    client, paths = plan.client, plan.group.paths
    if not client.events:
        raise UsageError(
            f"pannier knows no way to drive {client.title}, so its delivery cannot be verified"
        )
    model = ScriptedModel()
    with container_for(engine, home, plan, environ, tell, building, model) as processes:
        found = watch(client, processes, model, lambda: read_memory(paths), about_to=about_to)
        return Report(client.name, tuple(found))

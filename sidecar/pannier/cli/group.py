"""`pannier group add | list | show`."""

from __future__ import annotations

from typing import Any

import click

from pannier import clients, groups
from pannier.cli.context import Context
from pannier.errors import PannierError, described
from pannier.groups import Group
from pannier.paths import Home
from pannier.settings import Conversations
from pannier.shown import shown


@click.group("group")
def command() -> None:
    """Make and look at agent groups: one agent identity each, with one memory.

    \b
    Example:
      pannier group add scout --client claude
      pannier group list
    """


@command.command("add")
@click.argument("folder")
@click.option("--client", default="claude", show_default=True, help=", ".join(clients.CLIENTS))
@click.option("--image", help="An image of your own instead of pannier's for the client.")
@click.option(
    "--env-from",
    metavar="NAME",
    multiple=True,
    help="A variable to hand on to its containers, such as ANTHROPIC_API_KEY; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@click.pass_obj
def add(
    context: Context,
    folder: str,
    client: str,
    image: str | None,
    env_from: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Make the group FOLDER with its settings, folders and memory scaffold.

    \b
    Example:
      pannier group add scout --client codex
    """
    home = context.home()
    paths = home.group(folder)
    settings = groups.new_settings(client, image, env_from)
    if dry_run:
        context.say(f"Would make the group {folder} ({client}) in {paths.root}")
        return
    group = groups.add(home, folder, settings)
    context.say(f"Made the group {folder} ({client}) in {group.paths.root}")
    if image is None and not clients.get(client).program:
        context.tell(f"Next: name its image in {group.paths.settings} (image: …)")
    else:
        context.tell(f"Next: pannier run {folder}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def list_(context: Context, as_json: bool) -> None:
    """List the groups of this home.

    \b
    Example:
      pannier group list --json
    """
    home = context.home()
    found: list[Group] = []
    broken: dict[str, str] = {}
    for paths in home.all_groups():
        try:
            found.append(groups.get(home, paths.folder))
        except PannierError as error:
            broken[paths.folder] = error.message
        except OSError as error:
            broken[paths.folder] = described(error)
    if as_json:
        context.print_json(
            [_facts(group) for group in found] + [_wrong(home, *b) for b in broken.items()]
        )
    elif not found and not broken:
        context.tell("No groups yet. Make one with: pannier group add scout")
    else:
        for group in found:
            image = f"  {group.settings.image}" if group.settings.image else ""
            context.say(shown(f"{group.folder}  {group.settings.client}{image}"))
    for message in broken.values():
        context.tell(f"pannier: {shown(message)}")
    if broken:
        click.get_current_context().exit(1)


@command.command("show")
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def show(context: Context, folder: str, as_json: bool) -> None:
    """Show where the group FOLDER lies and what its settings say.

    \b
    Example:
      pannier group show scout
    """
    group = groups.get(context.home(), folder)
    if as_json:
        context.print_json(_facts(group))
        return
    settings = group.settings
    rows = {
        "folder": str(group.paths.root),
        "client": settings.client,
        "image": settings.image or "pannier's own",
        "memory": str(group.paths.memory),
        "instructions": str(group.paths.standing_instructions),
        "workdir": settings.workdir,
        "network": settings.network,
        "limits": f"memory {settings.limits.memory}, cpus {settings.limits.cpus:g}, "
        f"processes {settings.limits.processes}",
        "conversations": _kept(settings.conversations),
        "env_from": ", ".join(settings.env_from) or "nothing",
        "mounts": ", ".join(f"{m.source} → {m.target} ({m.mode})" for m in settings.mounts)
        or "none asked for",
    }
    for name, value in rows.items():
        context.say(f"{name + ':':<15}{value}")


def _kept(pages: Conversations) -> str:
    days = "for ever" if pages.keep_days is None else f"for {pages.keep_days} days"
    return f"kept {days}" + ("" if pages.keep is None else f", {pages.keep} files at most")


def _wrong(home: Home, folder: str, error: str) -> dict[str, Any]:
    return {"folder": folder, "path": str(home.group(folder).root), "error": error}


def _facts(group: Group) -> dict[str, Any]:
    return {
        "folder": group.folder,
        "path": str(group.paths.root),
        **group.settings.model_dump(mode="json"),
    }

"""`pannier mounts show | allow | deny | list | import`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from pannier import clients, groups, mounts, safefs
from pannier.cli.context import Context
from pannier.errors import HomeNotFound, PannierError, UsageError, reason
from pannier.mounts import allowlist, change, edit, nanoclaw
from pannier.mounts.change import Change, Grant
from pannier.mounts.importing import LeftOut, take_over
from pannier.paths import Home
from pannier.shown import shown


@click.group("mounts")
def command() -> None:
    """Look at what a group's containers see of this host, and allow more or less.

    \b
    Example:
      pannier mounts show scout
      pannier mounts allow ~/projects/site --rw --group scout
    """


@command.command()
@click.argument("folder")
@click.option("--client", help="The client whose state is mounted; else the group's.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def show(context: Context, folder: str, client: str | None, as_json: bool) -> None:
    """Show every mount of the group FOLDER and every refusal, with what would grant it.

    Ends with 0 also when mounts are refused: the question was answered. A start would stop.

    \b
    Example:
      pannier mounts show scout --json
    """
    home = context.home()
    group = groups.get(home, folder)
    name = clients.get(group.settings.client if client is None else client).name
    plan = mounts.plan_for(home, group.paths, group.settings, name, context.environ)
    if as_json:
        context.print_json(mounts.as_data(plan))
        return
    for mount in plan.mounts:
        missing = "  (made at the next start)" if mount.source in plan.missing else ""
        context.say(f"{mount.mode}  {mount.source} → {mount.target}{missing}")
    for refusal in plan.refused:
        context.say(f"refused  {shown(refusal.source)} → {shown(refusal.target)}")
        context.say(f"         {refusal.reason}")
        if refusal.grant:
            context.say(f"         grant it with: {refusal.grant}")


@command.command("allow")
@click.argument("path", type=click.Path())
@click.option("--rw", is_flag=True, help="Groups may ask to write there.")
@click.option("--group", "only", multiple=True, metavar="FOLDER", help="Only for this group.")
@click.option("--description", help="For people.")
@click.option("--except", "excepted", multiple=True, metavar="NAME", help="A blocked name to pass.")
@click.option("--git", is_flag=True, help="Also where it holds a git repository and is writable.")
@click.option("--no-scan", is_flag=True, help="Look only at the folder's own names.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.pass_obj
def allow(
    context: Context,
    path: str,
    rw: bool,
    only: tuple[str, ...],
    description: str | None,
    excepted: tuple[str, ...],
    git: bool,
    no_scan: bool,
    dry_run: bool,
) -> None:
    """Let groups mount PATH and folders below it.

    A group gets only what its group.yaml asks for. If there is an entry for PATH, this adds to
    it, and takes nothing away; with --group it is refused where other groups would get more by
    it. Comments in the file stay.

    \b
    Example:
      pannier mounts allow ~/notes
      pannier mounts allow ~/projects/site --rw --git --group scout
    """
    grant = Grant(_absolute(context, path), rw, only, excepted, description, git, no_scan)
    done = change.allow(grant, _home(context), context.environ, dry_run=dry_run)
    if not done.changed:
        context.say(f"Allowed already in {_named(done.file)}:")
    else:
        context.say(f"{'Would write to' if dry_run else 'Written to'} {_named(done.file)}:")
    _say_entries(context, done)
    _tell_notes(context, done)


@command.command("deny")
@click.argument("path", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and write nothing.")
@click.pass_obj
def deny(context: Context, path: str, dry_run: bool) -> None:
    """Remove every entry for PATH from the allowlist, with the comments inside of it.

    What other entries still allow of it is said. Containers that run keep their mounts until
    they are stopped.

    \b
    Example:
      pannier mounts deny ~/projects/site
    """
    done = change.deny(_absolute(context, path), context.environ, dry_run=dry_run)
    context.say(f"{'Would remove from' if dry_run else 'Removed from'} {_named(done.file)}:")
    _say_entries(context, done)
    _tell_notes(context, done)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def list_(context: Context, as_json: bool) -> None:
    """List the entries of the allowlist.

    Ends with 1 if the file is broken: then it grants nothing.

    \b
    Example:
      pannier mounts list
    """
    loaded = allowlist.load(context.environ)
    found = loaded.allowlist
    if as_json:
        context.print_json(
            {
                "file": str(loaded.file),
                "error": loaded.error,
                **found.model_dump(mode="json", by_alias=True),
            }
        )
    elif loaded.missing:
        context.tell(f"No allowlist yet ({loaded.file}). Make one: pannier mounts allow PATH")
    elif not loaded.error:
        context.say(f"{loaded.file}:")
        for entry in found.allow:
            context.say(edit.as_yaml(entry).rstrip("\n"))
        if found.block:
            context.say(f"  also blocked: {shown(', '.join(found.block))}")
    if loaded.error and not loaded.missing:
        raise PannierError(loaded.error, "Mend it; it grants nothing until then.")


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.pass_obj
def import_(context: Context, file: Path, dry_run: bool) -> None:
    """Take over NanoClaw's mount-allowlist.json, saying what is narrower here.

    Adds to the allowlist, and takes nothing away. Roots that can never be mounted, or do not
    exist, are left out. If a blocked pattern has no counterpart here, nothing is written.

    \b
    Example:
      pannier mounts import ~/.config/nanoclaw/mount-allowlist.json --dry-run
    """
    imported = nanoclaw.translate(_text(context.cwd / file), str(file))
    done = take_over(imported, _home(context), context.environ, dry_run=dry_run)
    for root in done.roots:
        if isinstance(root, LeftOut):
            context.tell(f"Left out: {shown(root.path)}: {shown(root.why)}")
            continue
        context.say(edit.as_yaml(root.entry).rstrip("\n"))
        for note in root.notes:
            context.tell(f"Narrower: {shown(root.path)}: {note}.")
    if imported.block:
        context.say(f"  blocked: {', '.join(imported.block)}")
    for narrowed in imported.narrowed:
        context.tell(f"Narrower: {narrowed}.")
    what = "Nothing new for" if not done.changed else "Would write to" if dry_run else "Written to"
    context.tell(f"{what} {_named(done.file)}")


def _text(file: Path) -> str:
    try:
        real = Path(os.path.realpath(file))
        return safefs.read(real.parent, real.name).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {reason(error)}") from error


def _named(file: Path) -> str:
    """With the file that is really written, where a person keeps it elsewhere."""
    return f"{file} → {os.path.realpath(file)}" if file.is_symlink() else str(file)


def _say_entries(context: Context, done: Change) -> None:
    for entry in done.entries:
        context.say(edit.as_yaml(entry).rstrip("\n"))


def _tell_notes(context: Context, done: Change) -> None:
    for note in done.notes:
        context.tell(f"Note: {note}.")


def _absolute(context: Context, path: str) -> Path:
    if not path:
        raise UsageError("the path is empty", "For the working directory write a dot.")
    return context.cwd / allowlist.expand(path, context.environ)


def _home(context: Context) -> Home | None:
    """An allowlist can be edited outside of every home; one that is named must be there."""
    try:
        return context.home()
    except HomeNotFound:
        if context.home_option is not None:
            raise
        return None

"""`pannier stop`."""

from __future__ import annotations

import click

from pannier import groups, running
from pannier.cli.context import Context
from pannier.engine import Engine
from pannier.errors import PannierError
from pannier.paths import Home
from pannier.serve.state import is_served


@click.command("stop")
@click.argument("folder")
@click.option(
    "--time",
    "grace",
    default=10,
    type=click.IntRange(min=0),
    show_default=True,
    help="Seconds before it is killed.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be stopped, and stop nothing.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str, grace: int, dry_run: bool, as_json: bool) -> None:
    """Stop and remove every container of the group FOLDER, also what a crash left behind.

    \b
    Example:
      pannier stop scout
    """
    home = context.home()
    engine = Engine.find(context.environ)
    stopped = running.stop(engine, home, folder, grace=grace, dry_run=dry_run)
    if as_json:
        context.print_json([{"id": c.id, "name": c.name, "state": c.state} for c in stopped])
        return
    for container in stopped:
        context.say(f"would stop {container.name}" if dry_run else container.name)
    if not stopped:
        context.tell(f"Group {folder} has no container.")
    elif not dry_run and _is_kept_up(home, folder):
        context.tell("The daemon starts it again, unless group.yaml says: autostart: false")


def _is_kept_up(home: Home, folder: str) -> bool:
    try:
        return is_served(home) and groups.get(home, folder).settings.autostart
    except PannierError:  # what was to be stopped is stopped
        return False

"""`pannier learned status`."""

from __future__ import annotations

import time

import click

from pannier.cli import learned_view as view
from pannier.cli.columns import columns
from pannier.cli.context import Context
from pannier.learned import overview
from pannier.shown import shown


@click.command("status")
@click.argument("folder", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str | None, as_json: bool) -> None:
    """Say how far learning is in all groups, or more of the group FOLDER.

    TURNS are the successful ones since the last extraction. CANDIDATES wait to be merged into
    lessons; those that are HELD wait for you. Times are UTC.

    \b
    Example:
      pannier learned status
      pannier learned status scout --json
    """
    home = context.home()
    folders, wrong = overview.readable(home) if folder is None else ((folder,), ())
    found = overview.overviews(home, context.environ, folders, time.time())
    if as_json:
        context.print_json([one.as_data() for one in found])
    elif folder is not None:
        for line in view.status(found[0]):
            context.say(line)
    elif not found and not wrong:
        context.tell("There are no groups. Make one with: pannier group add scout")
    else:
        for line in columns(view.table(found)):
            context.say(line)
    for error in wrong:
        context.tell(f"pannier: {shown(error.message)}")

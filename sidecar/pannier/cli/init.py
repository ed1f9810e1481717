"""`pannier init`."""

from __future__ import annotations

from pathlib import Path

import click

from pannier import groups
from pannier.cli.context import Context
from pannier.errors import UsageError


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@click.pass_obj
def command(context: Context, folder: Path, dry_run: bool) -> None:
    """Make a pannier home in DIR (here, if none is named).

    \b
    Example:
      pannier init ~/agents
    """
    root = context.cwd / folder
    if not str(root).isprintable():
        raise UsageError(
            f"{root} cannot become a home: its path holds what cannot be written in a file",
            "Use a path of printable characters.",
        )
    if dry_run:
        context.say(f"Would make {root}/pannier.yaml, groups/ and state/ if they are missing.")
        return
    home, new = groups.init(root, context.environ)
    context.say(f"{'Made a home in' if new else 'There is a home already in'} {home.root}")
    context.tell("Next: pannier group add scout")

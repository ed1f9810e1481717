"""`pannier learned run`."""

from __future__ import annotations

import os
import sys

import click

from pannier.cli import learned_view as view
from pannier.cli.context import Context
from pannier.learning.telling import Told
from pannier.shown import shown


@click.command("run")
@click.argument("folder")
@click.option("--dry-run", is_flag=True, help="Say what would be read and sent; ask no model.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str, dry_run: bool, as_json: bool) -> None:
    """Learn now from what is new in the threads of the group FOLDER, and merge what is found.

    It costs model calls, within the budget. `pannier serve` does it by itself, when it is due;
    this is needed neither with the daemon nor without. What failed before and waits is tried
    again. Status 1 when something failed.

    \b
    Example:
      pannier learned run scout --dry-run
      pannier learned run scout
    """
    home, environ = context.home(), context.environ
    if dry_run:
        from pannier.learned.preview import preview

        found = preview(home, environ, folder)
        if as_json:
            context.print_json(found.as_data())
        else:
            for line in view.preview(found):
                context.say(line)
        return
    from pannier.learned.running import run

    def tell(told: Told) -> None:
        if not as_json:
            context.say(shown(str(told)))
            sys.stdout.flush()

    def waits() -> None:
        context.tell("Another process draws lessons just now; waiting until it has done this.")

    if not as_json:
        context.tell(f"Reading what is new in the threads of {folder}.")
    ran = run(home, environ, folder, tell, waits)
    if as_json:
        context.print_json(
            [{"work": told.work, "failed": told.failed or None, **told.result} for told in ran.told]
        )
    elif not ran.told:
        context.tell("There was nothing to learn.")
    if not ran.ended:
        sys.stdout.flush()
        os._exit(130)  # Python would wait for the threads in which a model is asked.
    if ran.failed:
        click.get_current_context().exit(1)

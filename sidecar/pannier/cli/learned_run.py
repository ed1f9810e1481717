"""`pannier learned run`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from pannier.cli import learned_view as view
from pannier.cli.context import Context
from pannier.learned.data import timestamp
from pannier.learning.work.telling import Told
from pannier.shown import shown

if TYPE_CHECKING:
    from pannier.learned.running import Ran


@click.command("run")
@click.argument("folder")
@click.option("--dry-run", is_flag=True, help="Say what would be read and sent; ask no model.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str, dry_run: bool, as_json: bool) -> None:
    """Learn now from what is new in the threads of the group FOLDER, and merge what is found.

    It costs model calls, within the budget. `pannier serve` does the same by itself when it is
    due; this works with the daemon and without. What failed before and waits, or was set aside,
    is tried again. Status 1 when something failed or was set aside.

    \b
    Example:
      pannier learned run scout --dry-run
      pannier learned run scout
    """
    if dry_run:
        from pannier.learned.preview import preview

        found = preview(context.home(), context.environ, folder)
        if as_json:
            context.print_json(found.as_data())
        else:
            for line in view.preview(found):
                context.say(line)
        return
    ran = _run(context, folder, quiet=as_json)
    if as_json:
        context.print_json([_as_data(told) for told in ran.told])
    if ran.how.interrupted:
        context.tell("Interrupted. What was begun goes on with the next run, or with the daemon.")
        if not ran.how.ended:
            sys.stdout.flush()
            os._exit(130)  # Python would wait for the threads in which a model is asked.
        click.get_current_context().exit(130)
    if not ran.told and not as_json:
        context.tell("There was nothing to learn.")
    if ran.failed:
        click.get_current_context().exit(1)


def _run(context: Context, folder: str, *, quiet: bool) -> Ran:
    """What happens is said as it happens; on a terminal, also that something does."""
    from pannier.learned.running import run

    console = context.console(err=True)
    with console.status(f"Reading what is new in the threads of {folder} …") as status:
        shows = console.is_terminal and not quiet
        if not shows:
            status.stop()

        def tell(told: Told) -> None:
            status.stop()
            if told.grp != folder:
                context.tell(shown(f"Begun before, for {told.grp}: {told}"))
            elif not quiet:
                context.say(shown(str(told)))
                sys.stdout.flush()
            if shows:
                status.update("Merging what was found …")
                status.start()

        def waits() -> None:
            context.tell("Another process draws lessons just now; waiting until it has done this.")

        return run(context.home(), context.environ, folder, tell, waits)


def _as_data(told: Told) -> dict[str, Any]:
    again = told.result.get("not_before")
    until = {"not_before": timestamp(again) if again else None} if "trouble" in told.result else {}
    return {"work": told.work, "failed": told.trouble or None, **told.result, **until}

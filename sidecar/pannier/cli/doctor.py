"""`pannier doctor`."""

from __future__ import annotations

import click

from pannier import doctor
from pannier.cli.context import Context
from pannier.cli.findings_view import show


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, as_json: bool) -> None:
    """Say what is wrong with this home, and what to do. Changes nothing; 1 if there is a problem.

    \b
    Example:
      pannier doctor
    """
    if show(context, doctor.examine(context.home(), context.environ), as_json):
        click.get_current_context().exit(1)

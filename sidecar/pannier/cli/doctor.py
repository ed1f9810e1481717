"""`pannier doctor`."""

from __future__ import annotations

from dataclasses import asdict

import click

from pannier import doctor
from pannier.cli.context import Context

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("problem", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, as_json: bool) -> None:
    """Say what is wrong with this home, and what to do. Changes nothing; 1 if there is a problem.

    \b
    Example:
      pannier doctor
    """
    found = []
    for finding in doctor.examine(context.home(), context.environ):
        found.append(finding)
        if not as_json:
            word, colour = _MARKS[finding.level]
            mark = click.style(f"{word:<8}", fg=colour)
            context.say(f"{mark}{finding.subject}: {finding.message}")
            if finding.advice:
                context.say(f"{'':<8}→ {finding.advice}")
    if as_json:
        context.print_json([asdict(finding) for finding in found])
    if any(finding.level == "problem" for finding in found):
        click.get_current_context().exit(1)

"""`pannier learned forget`."""

from __future__ import annotations

import sys

import click

from pannier.cli import learned_view as view
from pannier.cli.context import Context
from pannier.cli.options import not_empty
from pannier.errors import UsageError
from pannier.learned import forgetting
from pannier.learned.forgetting import Asked


@click.command("forget")
@click.argument("folder")
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--text", callback=not_empty, help="All that says this, or nearly this.")
@click.option("--thread", callback=not_empty, help="All that was learned from this conversation.")
@click.option("--since", callback=not_empty, help="All that was said from here on: a time, or 2d.")
@click.option("--until", callback=not_empty, help="… and before here; else until now.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(
    context: Context,
    folder: str,
    lessons: tuple[str, ...],
    text: str | None,
    thread: str | None,
    since: str | None,
    until: str | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove lessons of the group FOLDER everywhere, and keep them from coming back.

    Goes: the lines in MEMORY.md and summary.md, the candidates behind them, the summaries of the
    threads that tell of them, reports, and steps in progress. What you wrote yourself in
    MEMORY.md stays, and what was said: that goes with pannier threads delete. What a person says
    again later waits for approval.

    \b
    Example:
      pannier learned forget scout 3f2a9bc
      pannier learned forget scout --text 'sign-off over $40k' --dry-run
      pannier learned forget scout --thread review --yes
      pannier learned forget scout --since 2026-11-01 --until 2026-11-08
    """
    asked = Asked(lessons, text, thread, since, until)
    plan = forgetting.planned(context.home(), context.environ, folder, asked)
    if not as_json or not (yes or dry_run):
        for line in view.forgetting(plan):
            context.tell(line)
    if dry_run or (plan.is_empty and asked.text is None):
        if as_json:
            context.print_json({**plan.as_data(), "forgotten": False})
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("to have something forgotten, say --yes", "It cannot be brought back.")
        click.confirm("Forget this for good?", abort=True, err=True)
    done = forgetting.forget(plan)
    if as_json:
        context.print_json({**done.as_data(), "forgotten": True})
        return
    number = len({one.id for part in done.plans for one in part.lessons})
    if plan.is_empty:
        return
    context.say(f"Forgot {number} lesson{'s' * (number != 1)} of {folder}, and what told of them.")

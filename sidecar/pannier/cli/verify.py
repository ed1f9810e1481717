"""`pannier verify`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from pannier import launch
from pannier.cli import plan_view
from pannier.cli.context import Context
from pannier.cli.options import start_options
from pannier.cli.progress import build_progress
from pannier.engine import Engine
from pannier.shown import shown

if TYPE_CHECKING:
    from pannier.verify import EventReport, FileReport, Report


@click.command("verify")
@click.argument("folder")
@start_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(
    context: Context,
    folder: str,
    client: str | None,
    image: str | None,
    skip_refused: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Check that the memory of the group FOLDER reaches the model, whole.

    Starts the group's real client in its container, without network and without any key, against
    a model endpoint of pannier's own, and looks at what arrives there. Exits 1 if something is
    missing, or is delivered where the context already holds it.

    \b
    Example:
      pannier verify scout
      pannier verify scout --client codex
    """
    from pannier import verify

    home = context.home()
    wish = launch.Wish(folder, client, image, skip_refused=skip_refused)
    plan = launch.decide(home, wish, context.environ)
    if dry_run:
        plan_view.show(context, plan, as_json)
        return
    engine = Engine.find(context.environ)
    with context.console(err=True).status("") as status:
        report = verify.verify(
            engine,
            home,
            plan,
            context.environ,
            context.tell,
            partial(build_progress, context),
            about_to=lambda event: status.update(f"{folder}: {event}"),
        )
    _tell_problems(context, report)
    if as_json:
        context.print_json(report.to_json())
    else:
        _show(context, report)
    if not report.ok:
        raise click.exceptions.Exit(1)


def _tell_problems(context: Context, report: Report) -> None:
    for event in report.events:
        if event.problem:
            context.tell(f"{report.client}, {event.event}: {shown(event.problem)}")
            for line in event.shown.splitlines():
                context.tell(f"  | {shown(line)}")


def _show(context: Context, report: Report) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for name in ("size", "expected", "delivered"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("where")
    for event in report.events:
        table.add_row(event.event)
        for file in event.files:
            numbers = (f"{n:,}" for n in (file.characters, file.expected, file.delivered))
            table.add_row(f"  {file.path}", *numbers, _mark(event, file), file.where)
    context.console().print(table)


def _mark(event: EventReport, file: FileReport) -> str:
    if event.problem:
        return "not driven"
    if file.ok:
        return "ok"
    return "missing" if file.delivered < file.expected else "too much"

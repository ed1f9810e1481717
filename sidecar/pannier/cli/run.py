"""`pannier run`."""

from __future__ import annotations

from functools import partial

import click

from pannier import launch
from pannier.cli import plan_view
from pannier.cli.context import Context
from pannier.cli.options import program_options, start_options
from pannier.cli.progress import build_progress
from pannier.engine import Engine
from pannier.launch import Wish


@click.command("run", context_settings={"ignore_unknown_options": False})
@click.argument("folder")
@start_options
@program_options
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: for programs.")
@click.pass_obj
def command(
    context: Context,
    folder: str,
    client: str | None,
    image: str | None,
    skip_refused: bool,
    dry_run: bool,
    thread: str,
    cwd: str | None,
    entrypoint: str | None,
    args: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run the group FOLDER's client in a container, in this terminal.

    ARGS are the client's. The status is the client's own.

    \b
    Example:
      pannier run scout
      pannier run scout -- -p "What do you remember?"
      pannier run scout --client codex --thread planning
      pannier run scout --entrypoint bash
    """
    if as_json and not dry_run:
        raise click.UsageError("--json goes with --dry-run: the client has the terminal.")
    wish = Wish(folder, client, image, thread, cwd, entrypoint, args, skip_refused)
    home = context.home()
    plan = launch.decide(home, wish, context.environ)
    if dry_run:
        plan_view.show(context, plan, as_json)
        return 0
    engine = Engine.find(context.environ)
    building = partial(build_progress, context)
    return launch.run(engine, home, plan, context.environ, context.tell, building)

"""`pannier up`."""

from __future__ import annotations

from functools import partial

import click

from pannier import launch
from pannier.cli import plan_view
from pannier.cli.context import Context
from pannier.cli.options import start_options
from pannier.cli.progress import build_progress
from pannier.engine import Engine
from pannier.launch import Wish


@click.command("up")
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
    """Start a container of the group FOLDER that idles, for `pannier exec`.

    \b
    Example:
      pannier up scout
      pannier exec scout
      pannier stop scout
    """
    home = context.home()
    wish = Wish(folder, client, image, skip_refused=skip_refused)
    plan = launch.decide(home, wish, context.environ)
    if dry_run:
        plan_view.show(context, plan, as_json)
        return
    engine = Engine.find(context.environ)
    building = partial(build_progress, context)
    container = launch.up(engine, home, plan, context.environ, context.tell, building)
    if as_json:
        context.print_json(
            {
                "id": container.id,
                "name": container.name,
                "group": container.group,
                "client": container.client,
            }
        )
        return
    context.say(container.name)

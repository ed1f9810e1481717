"""`pannier exec`."""

from __future__ import annotations

import click

from pannier import launch
from pannier.cli.context import Context
from pannier.cli.options import program_options
from pannier.engine import Engine
from pannier.launch import Wish


@click.command("exec")
@click.argument("folder")
@program_options
@click.pass_obj
def command(
    context: Context,
    folder: str,
    thread: str,
    cwd: str | None,
    entrypoint: str | None,
    args: tuple[str, ...],
) -> int:
    """Run the client in the container that `pannier up FOLDER` started.

    \b
    Example:
      pannier exec scout --thread planning
      pannier exec scout --entrypoint ls -- -l /workspace/agent/memory
    """
    engine = Engine.find(context.environ)
    wish = Wish(folder, thread=thread, cwd=cwd, entrypoint=entrypoint, args=args)
    return launch.exec_in(engine, context.home(), wish)

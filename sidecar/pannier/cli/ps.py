"""`pannier ps`."""

from __future__ import annotations

import click

from pannier import running
from pannier.cli.context import Context
from pannier.engine import Engine


@click.command("ps")
@click.argument("folder", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str | None, as_json: bool) -> None:
    """List the containers of this home, or of the group FOLDER.

    \b
    Example:
      pannier ps --json
    """
    home = context.home()
    engine = Engine.find(context.environ)
    found = engine.containers(str(home.root), folder)
    if as_json:
        context.print_json(
            [
                {
                    "id": c.id,
                    "name": c.name,
                    "group": c.group,
                    "client": c.client,
                    "role": c.role,
                    "thread": c.thread,
                    "state": c.state,
                    "left_behind": running.left_behind(c),
                    "image": c.image,
                    "created": c.created,
                }
                for c in found
            ]
        )
        return
    from rich.table import Table

    table = Table("NAME", "GROUP", "CLIENT", "ROLE", "STATE", "CREATED", box=None, pad_edge=False)
    for c in found:
        left = " (left behind)" if running.left_behind(c) else ""
        table.add_row(c.name, c.group, c.client, c.role, f"{c.state}{left}", c.created)
    context.console().print(table)

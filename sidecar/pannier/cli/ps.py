"""`pannier ps`."""

from __future__ import annotations

import click

from pannier import groups, running
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
    if folder is not None:
        groups.get(home, folder)
    found = engine.containers(str(home.root), folder)
    left = {c.id for c in found if running.left_behind(engine, c)}
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
                    "left_behind": c.id in left,
                    "image": c.image,
                    "created": c.created,
                }
                for c in found
            ]
        )
        return
    rows = [("NAME", "GROUP", "CLIENT", "ROLE", "THREAD", "STATE", "CREATED", "IMAGE")]
    for c in found:
        state = f"{c.state} (left behind)" if c.id in left else c.state
        rows.append((c.name, c.group, c.client, c.role, c.thread, state, c.created, c.image))
    # As docker prints it: never cut, so that it can be copied and piped.
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        context.say("  ".join(map(str.ljust, row, widths)).rstrip())

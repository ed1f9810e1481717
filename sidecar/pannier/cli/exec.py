"""`pannier exec`."""

from __future__ import annotations

import click

from pannier import groups, running
from pannier.cli.context import Context
from pannier.cli.options import not_empty, program_options
from pannier.engine import Engine
from pannier.outdated import warn


@click.command("exec")
@click.argument("folder")
@click.option("--client", callback=not_empty, help="Which, if several clients are up.")
@program_options
@click.option("--dry-run", is_flag=True, help="Show what would be run, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: for programs.")
@click.pass_obj
def command(
    context: Context,
    folder: str,
    client: str | None,
    thread: str,
    cwd: str | None,
    entrypoint: str | None,
    args: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run the client in the container that `pannier up FOLDER` started.

    \b
    Example:
      pannier exec scout --thread planning
      pannier exec scout --entrypoint ls -- -l /workspace/agent/memory
    """
    if as_json and not dry_run:
        raise click.UsageError("--json goes with --dry-run: the client has the terminal.")
    home = context.home()
    engine = Engine.find(context.environ)
    program = running.decide_exec(
        engine,
        home,
        folder,
        client=client,
        thread=thread,
        cwd=cwd,
        entrypoint=entrypoint,
        args=args,
    )
    warn(engine, home, program.container, groups.get(home, folder), context.tell)
    if not dry_run:
        return running.exec_in(engine, home, program)
    facts = {
        "container": program.container.name,
        "command": list(program.argv),
        "workdir": program.workdir,
        "thread": program.thread,
    }
    if as_json:
        context.print_json(facts)
    else:
        context.say(f"Would run in {program.container.name}: {' '.join(program.argv)}")
    return 0

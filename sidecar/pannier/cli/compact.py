"""`pannier compact`."""

from __future__ import annotations

from functools import partial

import click

from pannier import running
from pannier.cli.context import Context
from pannier.cli.progress import build_progress
from pannier.compacting import Compactor
from pannier.engine import Engine
from pannier.starting import Starter


@click.command("compact")
@click.argument("folder")
@click.option("--thread", default="main", show_default=True, help="The conversation.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.pass_obj
def command(context: Context, folder: str, thread: str, dry_run: bool) -> None:
    """Compact a thread of the group FOLDER now: its client summarizes what was said so far.

    It costs a model call. `pannier serve` does it by itself where `context.compaction.idle_after`
    is set. Status 1 when the client is at work on the thread, or nothing was compacted; where
    nothing was said since the last summary, no model is asked.

    \b
    Example:
      pannier compact scout --thread planning
    """
    running.check_thread(thread)
    starter = Starter(Engine.find(context.environ), context.home(), context.environ, folder, thread)
    compactor = Compactor(starter)
    if dry_run:
        start = compactor.decide()
        context.say(
            f"Would compact session {start.session} of {start.client.title}, {start.where}."
        )
        return
    compactor.run(context.tell, partial(build_progress, context))
    context.say(f"Compacted {folder}/{thread}.")

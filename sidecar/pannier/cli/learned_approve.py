"""`pannier learned approve`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pannier.cli import learned_view as view
from pannier.cli.context import Context
from pannier.learned import approving
from pannier.learned.approving import Verdict, Waiting
from pannier.shown import shown


@click.command("approve")
@click.argument("folder")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="All that waits.")
@click.option("--reject", is_flag=True, help="Reject it instead: it does not come back by itself.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(
    context: Context,
    folder: str,
    ids: tuple[str, ...],
    everything: bool,
    reject: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Show what waits for a person in the group FOLDER; with IDs, approve it.

    That is a change of the memory (p12), where group.yaml has learning.approve, shown as a diff;
    and lessons that would widen what the agent may do (c1f0e2d3c), each with what proves it.

    \b
    Example:
      pannier learned approve scout
      pannier learned approve scout p12
      pannier learned approve scout c1f0e2d3c --reject
    """
    home, environ = context.home(), context.environ
    if everything and ids:
        raise click.UsageError("--all goes without IDs.")
    found = approving.waiting(home, environ, folder)
    chosen = found.ids if everything else ids
    approving.check(found, folder, chosen)
    verdict: Verdict = "reject" if reject else "approve"
    if not chosen:
        _show(context, folder, found, as_json, reject and not everything)
    elif dry_run:
        _would(context, chosen, verdict, as_json)
    else:
        done = approving.decide(home, environ, folder, chosen, verdict)
        if as_json:
            context.print_json([one.as_data() for one in done])
            return
        for one in done:
            context.say(f"{view.id_of(one.id)}  {shown(one.became)}")


def _show(context: Context, folder: str, found: Waiting, as_json: bool, reject: bool) -> None:
    if reject and found.ids:
        raise click.UsageError("--reject goes with IDs, or with --all.")
    if as_json:
        context.print_json(found.as_data())
        return
    for line in view.waiting(found, folder):
        context.say(line)
    if not found.ids:
        context.tell(f"Nothing of {folder} waits for a person.")
        return
    first = found.ids[0]
    context.tell(f"Approve with: pannier learned approve {folder} {first}; or --reject")


def _would(context: Context, ids: Sequence[str], verdict: Verdict, as_json: bool) -> None:
    if as_json:
        context.print_json([{"id": id, "would": verdict} for id in ids])
        return
    for id in ids:
        context.say(f"Would {verdict} {id}.")

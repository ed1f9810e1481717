"""`pannier queue`."""

from __future__ import annotations

import click

from pannier import groups, sending
from pannier.cli.columns import columns
from pannier.cli.context import Context
from pannier.errors import UsageError
from pannier.serve.log import timestamp
from pannier.shown import brief
from pannier.threads.queue import Queue, Waiting, open_queue, queue_file

_TEXT = 60
_WORDS = {"waiting": "queued", "placed": "in the inbox", "started": "being told"}


@click.command("queue")
@click.argument("folder", required=False)
@click.option("--thread", help="Only those of this conversation.")
@click.option("--withdraw", metavar="ID", help="Take a message back that was not delivered yet.")
@click.option("--dry-run", is_flag=True, help="With --withdraw: say what would be taken back.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(
    context: Context,
    folder: str | None,
    thread: str | None,
    withdraw: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """List the messages that wait for the agents of this home, or for the group FOLDER.

    \b
    Example:
      pannier queue
      pannier queue scout --json
      pannier queue scout --withdraw 0c3f5a7e9b1d2f40
    """
    home = context.home()
    if folder is not None:
        groups.get(home, folder)
    with open_queue(queue_file(home, context.environ)) as queue:
        for group in queue.groups() if folder is None else [folder]:
            problem = sending.settle(home, queue, group)
            if problem:
                context.tell(f"{group}: {problem}")
        rows = queue.waiting(folder, thread)
        if withdraw is not None:
            rows = [_withdraw(queue, rows, withdraw, dry_run=dry_run)]
            if not dry_run:
                sending.settle(home, queue, rows[0].group)
    if as_json:
        context.print_json([row.as_data() for row in rows])
    elif withdraw is not None:
        context.say(f"{'would withdraw' if dry_run else 'withdrew'} {rows[0].message.id}")
    else:
        _show(context, rows)


def _withdraw(queue: Queue, rows: list[Waiting], id: str, *, dry_run: bool) -> Waiting:
    found = [row for row in rows if row.message.id == id]
    if not found or not (dry_run or queue.withdraw(found[0].group, id)):
        raise UsageError(
            f"no message {id!r} waits", "It may have been delivered. See: pannier queue"
        )
    return found[0]


def _show(context: Context, rows: list[Waiting]) -> None:
    if not rows:
        context.tell("Nothing waits.")
        return
    table = [("ID", "THREAD", "SENT", "FROM", "STATE", "TEXT")]
    for row in rows:
        message = row.message
        text = message.text if message.kind == "message" else f"({message.kind})"
        table.append(
            (
                message.id,
                f"{row.group}/{message.thread}",
                timestamp(message.at // 10**9),
                brief(message.sender, _TEXT),
                _WORDS[row.state],
                brief(text, _TEXT),
            )
        )
    for line in columns(table):
        context.say(line)

"""`pannier send`."""

from __future__ import annotations

import os
import pwd
import sys
from contextlib import suppress
from functools import partial

import click

from pannier import compacting, sending
from pannier.cli.context import Context
from pannier.cli.options import not_empty
from pannier.cli.progress import build_progress
from pannier.delivering import Delivery
from pannier.engine import Engine
from pannier.errors import UsageError
from pannier.sending import Letter, Sent
from pannier.starting import Start, Starter
from pannier_hook.messages import LONGEST_TEXT


@click.command("send")
@click.argument("folder")
@click.argument("text")
@click.option("--thread", default="main", show_default=True, help="The conversation.")
@click.option("--from", "sender", callback=not_empty, help="Who sends it; else your user name.")
@click.option("--source", default="pannier send", show_default=True, help="Whence it comes.")
@click.option("--start", is_flag=True, help="Start the client with it, unless it is at work.")
@click.option("--new-session", is_flag=True, help="With --start: not the thread's latest one.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="For programs; not with --start.")
@click.pass_obj
def command(
    context: Context,
    folder: str,
    text: str,
    thread: str,
    sender: str | None,
    source: str,
    start: bool,
    new_session: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Send the agent of the group FOLDER a message; the TEXT - reads standard input.

    An agent at work receives it at the end of its turn and goes on with it; another one with its
    next prompt. It is told who sent it, and that no person is typing it. With --start the status
    is the client's own.

    \b
    Example:
      pannier send scout "The nightly build failed: see files/build.log"
      make 2>&1 | tail -n 50 | pannier send scout --from make -
      pannier send scout --start "Write today's summary."
    """
    if new_session and not start:
        raise click.UsageError("--new-session goes with --start.")
    if as_json and start and not dry_run:
        raise click.UsageError("--json does not go with --start: the client has the output.")
    sender = sender or _user(context)
    letter = Letter(folder, _read() if text == "-" else text, thread, sender, source)
    home = context.home()
    sending.check(home, letter)
    delivery, how = None, None
    if start:
        engine = Engine.find(context.environ)
        delivery = Delivery(Starter(engine, home, context.environ, folder, thread))
        how = delivery.decide(anew=new_session)
    if dry_run:
        _show_plan(context, letter, how, as_json)
        return 0
    sent = sending.send(home, context.environ, letter)
    _say_sent(context, sent, as_json, quiet=start)
    if delivery is None:
        return 0
    if how is None:
        compacting.wait(home, folder, context.tell)
        how = delivery.decide(anew=new_session)
    status = delivery.run(how, context.tell, partial(build_progress, context)) if how else None
    if status is None:
        context.tell(f"The client is at work on {thread}, and receives {sent.row.message.id}.")
    elif status:
        context.tell(f"The client ended with status {status}; what it was told waits again.")
    return status or 0


def _say_sent(context: Context, sent: Sent, as_json: bool, *, quiet: bool) -> None:
    if as_json:
        context.print_json({**sent.row.as_data(), "problem": sent.problem or None})
    elif not quiet:
        context.say(sent.row.message.id)
    if sent.problem:
        context.tell(f"Queued, but not laid into the inbox yet: {sent.problem}")


def _user(context: Context) -> str:
    for variable in ("USER", "LOGNAME"):
        if name := context.environ.get(variable):
            return name
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_name
    return f"uid {os.getuid()}"


def _read() -> str:
    data = sys.stdin.buffer.read(LONGEST_TEXT + 1)
    if len(data) > LONGEST_TEXT:
        raise UsageError(
            f"standard input is longer than the {LONGEST_TEXT:,} bytes of a message",
            "Put it into a file of the group's files/ and send where it is.",
        )
    return data.decode("utf-8", "replace")


def _show_plan(context: Context, letter: Letter, how: Start | None, as_json: bool) -> None:
    place = f"{letter.folder}/{letter.thread}"
    size = len(letter.text.encode())
    if as_json:
        context.print_json(
            {
                "group": letter.folder,
                "thread": letter.thread,
                "from": letter.sender,
                "source": letter.source,
                "bytes": size,
                "start": how.client.name if how else None,
                "session": how.session or None if how else None,
                "container": how.inside.name if how and how.inside else None,
            }
        )
        return
    count = f"{size:,} byte{'s' * (size != 1)}"
    context.say(f"Would queue {count} for {place}, from {letter.sender or 'unknown'}.")
    if how is not None:
        session = f"its session {how.session}" if how.session else "a new session"
        context.say(f"Would start {how.client.title} with it, {how.where}, in {session}.")

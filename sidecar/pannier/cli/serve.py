"""`pannier serve`."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import click

from pannier.cli.context import Context
from pannier.serve import machine
from pannier.serve.decide import Build, Decision, MakeReady, Remove, Start
from pannier.serve.log import Event, as_json, plain

_STDOUT = 1
_FORMATS = {"plain": plain, "json": as_json}


@click.command("serve")
@click.option(
    "--log",
    "format_",
    type=click.Choice(list(_FORMATS)),
    default="plain",
    show_default=True,
    help="One line an event, for people or for programs.",
)
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 3600),
    default=machine.EVERY,
    show_default=True,
    help="Time between two rounds.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would do first, and do nothing.")
@click.pass_obj
def command(context: Context, format_: str, every: float, dry_run: bool) -> None:
    """Keep the groups marked `autostart` up, and watch that containers keep to their plan.

    Stays in the foreground until SIGTERM or Ctrl-C; the agents go on running then.

    \b
    Example:
      pannier serve --log json
    """
    home = context.home()
    if dry_run:
        _preview(context, machine.preview(home, context.environ))
        return
    line = _FORMATS[format_]

    def log(event: Event) -> None:
        # A full disk, or a reader that went away, is no reason to look after nobody any more.
        with suppress(OSError):
            os.write(_STDOUT, f"{line(event, time.time())}\n".encode())

    machine.serve(home, context.environ, log, every=every)


def _preview(context: Context, decision: Decision) -> None:
    for event in decision.events:
        context.say(f"{event.group or 'home'}: {event.message}")
    for action in decision.actions:
        if isinstance(action, MakeReady):
            context.say(f"{action.group}: would make what is missing of its folders")
        elif isinstance(action, Build):
            context.say(f"{action.group}: would build {action.tag}")
        elif isinstance(action, Start):
            context.say(f"{action.group}: would start a container")
        elif isinstance(action, Remove):
            context.say(f"{action.group}: would remove {action.name}: {action.why}")

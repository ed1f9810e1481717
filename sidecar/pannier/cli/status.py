"""`pannier status`."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from pannier.cli.context import Context
from pannier.serve.log import timestamp
from pannier.serve.state import Health, health
from pannier.shown import shown
from pannier.tries import failures, read_tries


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, as_json: bool) -> None:
    """Say how the daemon of this home is. Status 1 unless it runs, goes round and has an engine.

    \b
    Example:
      pannier status
    """
    now = time.time()
    found = health(context.home(), now)
    failed = failures(read_tries(context.home()))
    last_round = timestamp(found.last_round) if found.last_round else None
    if as_json:
        context.print_json(
            {
                "healthy": not found.troubles,
                "running": found.running,
                "troubles": found.troubles,
                "last_round": last_round,
                "report": asdict(found.report) if found.report else None,
                "not_compacted": [asdict(one) for one in failed],
            }
        )
    else:
        _show(context, found, now)
        for one in failed:
            context.say("compact " + shown(str(one)))
    if found.troubles:
        click.get_current_context().exit(1)


def _show(context: Context, found: Health, now: float) -> None:
    report = found.report
    if report is not None and found.running:
        host, pid, *_ = [*report.owner.split(":"), ""]
        context.say(f"daemon  process {pid} on {host}, since {report.since}")
        context.say(f"round   {max(0.0, now - found.last_round):.0f} s ago")
        if report.engine:
            context.say(f"engine  Docker {report.engine}")
    for trouble in found.troubles:
        context.say(f"wrong   {shown(trouble)}")
    if report is None or not found.running:
        return
    for group in report.groups:
        due = f" (next try {group.not_before})" if group.not_before else ""
        words = (group.folder, group.state, group.container, f"{group.waits}{due}")
        context.say("group   " + shown("  ".join(filter(None, words))))

"""`pannier learned worker`: what the daemon starts."""

from __future__ import annotations

import os
import sys

import click

from pannier.cli.context import Context
from pannier.learning.work.telling import Told


@click.command("worker", hidden=True)
@click.pass_obj
def command(context: Context) -> None:
    """Draw lessons until nothing is due. Each line is a JSON object, for the daemon."""
    from pannier.learned.drawing import LINGER, draw

    def tell(told: Told) -> None:
        context.say(told.line())
        sys.stdout.flush()

    if not draw(context.home(), dict(context.environ), tell, linger=LINGER).ended:
        # Python would wait for the threads in which a model is asked.
        os._exit(0)

"""`pannier learned why`."""

from __future__ import annotations

import click

from pannier.cli import learned_view as view
from pannier.cli.context import Context
from pannier.learned import finding, tracing


@click.command("why")
@click.argument("folder")
@click.argument("lesson")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str, lesson: str, as_json: bool) -> None:
    """Say where a LESSON of the group FOLDER comes from, or one of its candidates.

    That is: thread, turn and messages, when it was learned, confirmed and changed last. LESSON is
    the id behind its line in MEMORY.md, or the beginning of it. Likely secrets are masked, and
    times are UTC.

    \b
    Example:
      pannier learned why scout 3f2a9bc
      pannier threads show scout            # m12 and its surroundings
    """
    home, environ = context.home(), context.environ
    if finding.is_candidate(lesson):
        origin = tracing.of_candidate(home, environ, folder, lesson)
        found, lines = origin.as_data(), view.origin(origin, folder)
    else:
        trace = tracing.of_lesson(home, environ, folder, lesson)
        found, lines = trace.as_data(), view.trace(trace, folder)
    if as_json:
        context.print_json(found)
        return
    for line in lines:
        context.say(line)

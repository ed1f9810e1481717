"""`pannier learned show`."""

from __future__ import annotations

import click

from pannier import groups
from pannier.cli import learned_view as view
from pannier.cli.context import Context
from pannier.learned import data, written
from pannier.learning.store import learning_file, open_learning


@click.command("show")
@click.argument("folder")
@click.option("--candidates", is_flag=True, help="Instead: what is not merged yet, or was held.")
@click.option("--gone", is_flag=True, help="Instead: lessons that left the memory, and why.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str, candidates: bool, gone: bool, as_json: bool) -> None:
    """Show the lessons of the group FOLDER, by section, with the ids by which others know them.

    The memory itself, with what you wrote there, is groups/FOLDER/agent-memory/MEMORY.md.

    \b
    Example:
      pannier learned show scout
      pannier learned show scout --candidates --json
    """
    if candidates and gone:
        raise click.UsageError("--candidates goes without --gone.")
    home = context.home()
    groups.get(home, folder)
    with open_learning(learning_file(home, context.environ)) as learning:
        if candidates:
            found = learning.candidates(folder, ("waiting", "held"))
            rows = [data.of_candidate(one) for one in found]
            lines = view.candidates(found)
            empty = "Nothing waits to be merged."
        else:
            lessons = learning.lessons(folder, gone=gone)
            now = {} if gone else written.lines(home, folder)
            rows = [{**data.of_lesson(one), "in_memory": now.get(one.id)} for one in lessons]
            lines = view.lessons(lessons, None if gone else now)
            empty = "No lesson is gone." if gone else "Nothing was learned yet."
    if as_json:
        context.print_json(rows)
        return
    for line in lines:
        context.say(line)
    if not rows:
        context.tell(f"{empty} See: pannier learned status {folder}")

"""`pannier threads list | show | search | export | rollback | delete`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pannier.cli import threads_view
from pannier.cli.columns import columns
from pannier.cli.context import Context
from pannier.cli.options import not_empty
from pannier.errors import PannierError, UsageError
from pannier.shown import shown

if TYPE_CHECKING:
    from pannier.threads.delete import Plan
    from pannier.threads.export import Format
    from pannier.threads.store import Store

as_json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be done, and do nothing."
)


@click.group("threads")
def command() -> None:
    """Look at what was said, search it, write it out, go back, or erase it.

    THREAD is a group's folder (its thread main), FOLDER/THREAD, or the key of a thread.

    \b
    Example:
      pannier threads list
      pannier threads search "release checklist"
    """


@command.command("list")
@click.argument("folder", required=False)
@as_json_option
@click.pass_obj
def list_(context: Context, folder: str | None, as_json: bool) -> None:
    """List the threads of the group FOLDER, or all: turns, messages, sessions, last activity.

    \b
    Example:
      pannier threads list scout --json
    """
    from pannier.threads import look, show

    with _opened(context) as store:
        found = look.overviews(store, folder)
    if not found and folder is not None:
        _require_group(context, folder)
    if as_json:
        context.print_json([one.as_data() for one in found])
    elif not found:
        context.tell("No threads yet. What an agent and you say is kept from its first turn on.")
    else:
        for line in columns(show.table(found)):
            context.say(line)


@command.command("show")
@click.argument("thread")
@click.option("--all", "everything", is_flag=True, help="Also other branches and sub-agents.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=40, show_default=True, help="The last so many."
)
@click.option("--full", is_flag=True, help="Shorten no text, and leave nothing out.")
@click.option("--context", "sent", is_flag=True, help="Instead: what the model is sent, by parts.")
@as_json_option
@click.pass_obj
def show_(
    context: Context,
    thread: str,
    everything: bool,
    limit: int,
    full: bool,
    sent: bool,
    as_json: bool,
) -> None:
    """Show the last messages of THREAD, with the numbers by which other commands know them.

    A thread has branches where somebody went back in it; shown is the one that goes on. Likely
    secrets are masked, and times are UTC.

    With --context: an agent in Python reports what its model would be sent; of other clients it is
    what was sent last, as far as their transcripts tell.

    \b
    Example:
      pannier threads show scout --limit 10
      pannier threads show scout/review --all
      pannier threads show scout --context
    """
    from pannier.threads import look, show
    from pannier.threads.page import LEFT_OUT

    if sent:
        if everything:
            raise click.UsageError("--all goes without --context: that is of one branch.")
        _show_context(context, thread, full=full, as_json=as_json)
        return

    without = () if full or as_json else LEFT_OUT
    with _opened(context) as store:
        found = look.find(store, thread)
        said = look.last_said(store, found, everything=everything, limit=limit, without=without)
        if as_json:
            messages = [one.as_data() for one in said]
            context.print_json({**look.overview(store, found).as_data(), "said": messages})
            return
        numbers = dict.fromkeys(one.message.turn for one in said if one.message.turn)
        turns = {turn.id: turn for turn in map(store.turn, numbers) if turn}
    for line in show.lines(said, turns, full=full):
        context.say(line)
    if not said:
        empty = "is at its beginning" if found.messages else "has no messages yet"
        context.tell(f"{show.name_of(found)} {empty}.")
    elif len(said) == limit:
        context.tell(f"The last {limit} messages; more with --limit.")


def _show_context(context: Context, ref: str, *, full: bool, as_json: bool) -> None:
    from pannier.cli import context_view
    from pannier.threads import look, show
    from pannier.threads.view import view

    with _opened(context) as store, store.snapshot():
        found = look.find(store, ref)
        seen = view(store, found)
        overview = look.overview(store, found)
    if as_json:
        context.print_json(
            {**overview.as_data(), "context": seen.as_data() if seen is not None else None}
        )
        return
    if seen is None:
        context.tell(f"{show.name_of(found)} stands at its beginning: nothing is sent.")
        return
    for line in context_view.lines(found, seen, full=full):
        context.say(line)
    for note in seen.notes:
        context.tell(shown(note))


@command.command("search")
@click.argument("query")
@click.option("--group", callback=not_empty, metavar="FOLDER", help="Only in this group.")
@click.option("--thread", callback=not_empty, help="Only in this thread.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The newest so many."
)
@as_json_option
@click.pass_obj
def search(
    context: Context,
    query: str,
    group: str | None,
    thread: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Find messages with all words of QUERY, the newest first.

    Words in double quotes must stand together; word* finds what begins so. Case and accents do
    not matter. All branches are searched, with tool calls and results. Likely secrets are masked.

    \b
    Example:
      pannier threads search 'atlas "release checklist"' --group scout
    """
    from pannier.threads import look, show

    with _opened(context) as store:
        within = look.find(store, thread) if thread is not None else None
        if group is not None and not store.threads(group):
            _require_group(context, group)
        found = look.search(store, query, group, within, limit=limit)
    if as_json:
        context.print_json([hit.as_data() for hit in found])
        return
    for hit in found:
        context.say(show.title_of_hit(hit))
        context.say("    " + threads_view.marked(show.snippet_of(hit, query)))
    if not found:
        context.tell("Nothing found.")


@command.command("export")
@click.argument("thread")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "jsonl"]),
    default="markdown",
    show_default=True,
    help="Markdown has likely secrets masked; JSON lines say everything as it was said.",
)
@click.option("--output", metavar="FILE", callback=not_empty, help="Else standard output.")
@click.option("--force", is_flag=True, help="Replace FILE.")
@click.option("--all", "everything", is_flag=True, help="Also other branches and sub-agents.")
@click.pass_obj
def export(
    context: Context, thread: str, form: Format, output: str | None, force: bool, everything: bool
) -> None:
    """Write out what was said in THREAD, whole.

    \b
    Example:
      pannier threads export scout --output scout.md
      pannier threads export scout --format jsonl --all > scout.jsonl
    """
    from pannier.threads import export, look

    with _opened(context) as store, store.snapshot():
        found = look.find(store, thread)
        pieces = export.pieces(store, found, form, everything=everything)
        if output is None:
            for piece in pieces:
                click.echo(_encodable(piece), nl=False)
            return
        file = context.cwd / Path(output).expanduser()
        export.write(file, pieces, force=force)
    context.tell(f"Written: {shown(str(file))}")


@command.command("rollback")
@click.argument("thread")
@click.option(
    "--to", required=True, metavar="PLACE", help="A message (m12), a turn's end (t3), or start."
)
@dry_run_option
@as_json_option
@click.pass_obj
def rollback(context: Context, thread: str, to: str, dry_run: bool, as_json: bool) -> None:
    """Let THREAD go on from an earlier place. Nothing is deleted: a branch remains.

    This moves where the thread stands in pannier's own record. An agent in Python goes back with
    it; of all other clients the own session is not touched, and goes on where it was when it is
    resumed.

    \b
    Example:
      pannier threads rollback scout --to t3
    """
    from pannier.threads import rollback

    _take_in(context)
    done = rollback.rollback(context.home(), context.environ, thread, to, dry_run=dry_run)
    if as_json:
        context.print_json({**done.as_data(), "dry_run": dry_run})
        return
    threads_view.say_rolled_back(context, done, dry_run)


@command.command("delete")
@click.argument("thread")
@click.option("--yes", is_flag=True, help="Do not ask.")
@dry_run_option
@as_json_option
@click.pass_obj
def delete(context: Context, thread: str, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Erase all that was said in THREAD, for ever: messages, files, and the client's transcripts.

    What the container hands over of its sessions later is dropped. Stop the agent first: what it
    has open it may write again. Lessons from it stay: pannier learned forget FOLDER --thread.

    \b
    Example:
      pannier threads delete scout/review --dry-run
    """
    from pannier.learned import deleted
    from pannier.threads import delete

    home = context.home()
    _take_in(context)
    plan = delete.plan(home, context.environ, thread)
    if not as_json or not (yes or dry_run):
        threads_view.tell_plan(context, plan)
    if dry_run:
        if as_json:
            context.print_json({**plan.as_data(), "deleted": False, "kept": []})
        return
    _confirm(plan, yes)
    done = deleted.delete(home, context.environ, plan.thread.key)
    if as_json:
        context.print_json({**done.plan.as_data(), "deleted": True, "kept": list(done.kept)})
    else:
        context.say(f"Erased {shown(plan.thread.ref)} ({plan.thread.key})")
    for reason in done.kept:
        context.tell(f"pannier: still there: {shown(reason)}")
    if done.kept:
        click.get_current_context().exit(1)


def _confirm(plan: Plan, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("to erase a thread, say --yes", "Nothing of it can be brought back.")
    click.confirm(f"Erase {shown(plan.thread.ref)} for ever?", abort=True, err=True)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# -------------------------------------------------------------------------------------------- store


@contextmanager
def _opened(context: Context) -> Iterator[Store]:
    """What was said until now, for reading."""
    from pannier.threads.store import open_store, threads_file

    _take_in(context)
    with open_store(threads_file(context.home(), context.environ)) as store:
        if store.caveat:
            context.tell(f"pannier: {shown(store.caveat)}")
        yield store


def _take_in(context: Context) -> None:
    """What containers handed over meanwhile, unless the daemon is about to do that."""
    from pannier.threads import conversations, intake

    home = context.home()
    try:
        taken = intake.take_in(home, context.environ)
        problems = dict(taken.problems)
        if taken.groups:
            problems |= conversations.keep_up(home, context.environ, taken.groups).problems
    except PannierError as error:
        # What is there already can be looked at all the same.
        context.tell(f"pannier: {shown(error.message)}")
        return
    for folder, problem in problems.items():
        context.tell(f"pannier: {shown(folder)}: {shown(problem)}")


def _require_group(context: Context, folder: str) -> None:
    """Raises UsageError when there is no such group, and never was."""
    from pannier import groups

    groups.get(context.home(), folder)

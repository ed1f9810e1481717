"""`pannier bake`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from pannier.cli.context import Context
from pannier.errors import UsageError


@click.command("bake")
@click.option("--client", help="The agent program of the image; see pannier group add --help.")
@click.option("--output", metavar="DIR", type=click.Path(path_type=Path), help="Where to write.")
@click.option(
    "--base",
    metavar="IMAGE",
    help="What your Dockerfile stands on: decides the lines, and its settings are merged with.",
)
@click.option(
    "--kind",
    type=click.Choice(["python", "no-python", "usr-local", "alpine"]),
    help="Which lines to print; python unless --base says otherwise.",
)
@click.option(
    "--merge",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A settings file of your own, by the name that the client knows; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option(
    "--check", metavar="IMAGE|DIR", help="Say whether the current hook is in there; 1 if not."
)
@click.option("--json", "as_json", is_flag=True, help="With --check: for programs.")
@click.pass_obj
def command(
    context: Context,
    client: str | None,
    output: Path | None,
    base: str | None,
    kind: str | None,
    merge: tuple[Path, ...],
    dry_run: bool,
    check: str | None,
    as_json: bool,
) -> None:
    """Write the hook and a client's settings for a Dockerfile of your own.

    Prints the lines that belong at its end. A settings file that is there already (in DIR, in the
    base image, or named with --merge) keeps what it says; pannier's own entries are replaced.

    \b
    Example:
      pannier bake --client claude --output build/pannier >> Dockerfile
      pannier bake --client codex --output build/pannier --base my-base:1
      pannier bake --check my-agent:1
    """
    if check is not None:
        _check(context, check, client, as_json)
        return
    if client is None or output is None:
        raise click.UsageError("Name the client with --client and a folder with --output.")
    if as_json:
        raise click.UsageError("--json goes with --check.")
    _bake(context, client, output, base, kind, merge, dry_run)


def _bake(
    context: Context,
    client: str,
    output: Path,
    base: str | None,
    kind: str | None,
    merge: tuple[Path, ...],
    dry_run: bool,
) -> None:
    from pannier import bake, clients
    from pannier.bake.layout import tree
    from pannier.bake.lines import KINDS, Base, lines
    from pannier.engine.recipes import read_sources

    wanted = tree(clients.get(client), read_sources())
    given = bake.given(wanted, merge)
    folder = _in_build_context(output, context.cwd)
    with ExitStack() as stack:
        files, stays, name = None, Base(), kind or "python"
        if base is not None:
            from pannier.bake.base import kind_of, stays_of
            from pannier.engine import Engine
            from pannier.engine.contents import files_of

            files = stack.enter_context(files_of(Engine.find(context.environ), base))
            name, stays = kind or kind_of(files), stays_of(files.config)
        theirs = bake.Theirs(given, files)
        baking = bake.decide(wanted, context.cwd / output, theirs, folder=folder, base=stays)
    if not dry_run:
        bake.write(baking)
    if dry_run:
        for path in sorted(baking.files):
            context.tell(f"would write {output / path}")
        for path in baking.stale:
            context.tell(f"would remove {output / path}")
    else:
        count = f"{len(baking.files)} files" if baking.files else "nothing new"
        context.tell(f"wrote {count} below {output}")
    for remark in baking.remarks:
        context.tell(remark)
    context.say(lines(wanted, KINDS[name], folder, stays).rstrip())
    if base is None and kind is None:
        others = ", ".join(other for other in KINDS if other != name)
        context.tell(f"Lines for other bases: {output / bake.LINES} ({others}), or --base IMAGE")
    for left in baking.left:
        context.tell(f"left alone: {left.path}: {left.reason}")
    if baking.left:
        context.tell(f"Add by hand what is in {output / bake.BY_HAND}")
        click.get_current_context().exit(1)


def _in_build_context(output: Path, cwd: Path) -> str:
    """How a Dockerfile in the current folder names `output`. Raises UsageError if it cannot."""
    from pannier.bake.lines import can_copy

    try:
        whole, context = (cwd / output).resolve(), cwd.resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{output} leads nowhere: {error}") from error
    if not whole.is_relative_to(context):
        raise UsageError(
            f"{output} is outside {context}, so no Dockerfile there can copy from it",
            "Call pannier in the folder that the image is built from, with --output below it.",
        )
    folder = whole.relative_to(context).as_posix()
    if not can_copy(folder):
        raise UsageError(
            f"{folder!r} cannot stand in a Dockerfile's COPY", "Give --output a plainer name."
        )
    return folder


def _check(context: Context, what: str, client: str | None, as_json: bool) -> None:
    from pannier.bake.find import look
    from pannier.cli.findings_view import show

    found = list(look(context.environ, context.cwd, what, client))
    if show(context, found, as_json):
        click.get_current_context().exit(1)

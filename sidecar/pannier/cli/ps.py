"""`pannier ps`."""

from __future__ import annotations

from contextlib import suppress

import click

from pannier import groups, running
from pannier.cli.columns import columns, lasted
from pannier.cli.context import Context
from pannier.engine import Container, Engine
from pannier.engine.spec import read_mounts_label
from pannier.errors import EngineError, PannierError
from pannier.outdated import Comparison, Outdated
from pannier.paths import Home
from pannier.sandbox.history import Entry, history
from pannier.serve.log import timestamp


@click.command("ps")
@click.argument("folder", required=False)
@click.option("--all", "-a", "with_past", is_flag=True, help="Also those that are gone.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="With --all: so many, the newest first.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(
    context: Context, folder: str | None, with_past: bool, limit: int, as_json: bool
) -> None:
    """List the containers of this home, or of the group FOLDER.

    With --all also past ones: how they ended, whether memory ran out, how long they ran.

    \b
    Example:
      pannier ps --json
      pannier ps scout --all
    """
    home = context.home()
    if folder is not None:
        groups.get(home, folder)
    if with_past:
        past = history(home, context.environ, _engine(context), folder, limit)
        _show_past(context, past, as_json)
    else:
        _show_present(context, home, folder, as_json)


def _show_present(context: Context, home: Home, folder: str | None, as_json: bool) -> None:
    engine = Engine.find(context.environ)
    found = engine.containers(str(home.root), folder)
    left = {c.id for c in found if running.left_behind(engine, c)}
    old = _outdated(engine, home, found)
    if as_json:
        context.print_json(
            [
                {
                    "id": c.id,
                    "name": c.name,
                    "group": c.group,
                    "client": c.client,
                    "role": c.role,
                    "thread": c.thread,
                    "state": c.state,
                    "left_behind": c.id in left,
                    "outdated": c.id in old,
                    "image": c.image,
                    "created": c.created,
                }
                for c in found
            ]
        )
        return
    rows = [("NAME", "GROUP", "CLIENT", "ROLE", "THREAD", "STATE", "CREATED", "IMAGE")]
    for c in found:
        odd = "left behind" if c.id in left else old[c.id].brief if c.id in old else ""
        state = f"{c.state} ({odd})" if odd else c.state
        rows.append((c.name, c.group, c.client, c.role, c.thread, state, c.created, c.image))
    for line in columns(rows):
        context.say(line)
    for outdated in old.values():
        context.tell(f"{outdated}. {outdated.advice}")


def _outdated(engine: Engine, home: Home, found: list[Container]) -> dict[str, Outdated]:
    """By id. Where settings cannot be read, nobody can say."""
    compare, old = Comparison(engine, home), {}
    for container in found:
        with suppress(PannierError, OSError):
            group = groups.get(home, container.group)
            if outdated := compare.outdated(container, group):
                old[container.id] = outdated
    return old


def _engine(context: Context) -> Engine | None:
    """Without one there is still the past to show."""
    try:
        return Engine.find(context.environ)
    except EngineError as error:
        context.tell(f"As it was last known: {error.message}")
        return None


def _show_past(context: Context, found: list[Entry], as_json: bool) -> None:
    if as_json:
        context.print_json([_as_data(entry) for entry in found])
        return
    rows = [("NAME", "GROUP", "CLIENT", "ROLE", "THREAD", "STATE", "STARTED", "RAN", "IMAGE")]
    for entry in found:
        life, seconds = entry.life, entry.seconds
        ran = "" if seconds is None else lasted(seconds)
        threads = ",".join(sorted({life.thread, *(one.thread for one in entry.attachments)}))
        row = (life.name, life.group, life.client, life.role, threads, str(entry))
        rows.append((*row, _time(life.started) or "", ran, life.image))
    for line in columns(rows):
        context.say(line)


def _as_data(entry: Entry) -> dict[str, object]:
    life = entry.life
    return {
        "id": life.id,
        "name": life.name,
        "group": life.group,
        "client": life.client,
        "role": life.role,
        "thread": life.thread,
        "state": entry.state,
        "status": life.status,
        "out_of_memory": life.oom,
        "created": _time(life.created),
        "started": _time(life.started),
        "ended": _time(life.ended),
        "seconds": entry.seconds,
        "image": life.image,
        "image_id": life.digest,
        "memory": life.memory,
        "cpus": life.cpus,
        "mounts": [
            {"source": str(m.source), "target": str(m.target), "mode": m.mode}
            for m in read_mounts_label(life.mounts)
        ],
        "attached": [
            {
                "by": one.kind,
                "thread": one.thread,
                "terminal": one.tty,
                "began": _time(one.began),
                "ended": _time(one.ended),
                "status": one.status,
            }
            for one in entry.attachments
        ],
    }


def _time(at: int) -> str | None:
    return timestamp(at // 10**9) if at else None

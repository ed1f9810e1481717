"""`pannier stats`."""

from __future__ import annotations

import click

from pannier import groups
from pannier.cli.columns import columns, lasted
from pannier.cli.context import Context
from pannier.engine import Container, Engine
from pannier.engine.life import Usage
from pannier.errors import EngineError
from pannier.sandbox.history import pasts, using
from pannier.sandbox.samples import Past, Sample

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@click.command("stats")
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(context: Context, folder: str, as_json: bool) -> None:
    """Say what processor time and memory the containers of the group FOLDER use.

    Now, and in the last hour, day and month, as far as the daemon was there to look. 100% is one
    processor.

    \b
    Example:
      pannier stats scout
    """
    home = context.home()
    groups.get(home, folder)
    past = pasts(home, context.environ, folder)
    try:
        engine = Engine.find(context.environ)
        found = engine.containers(str(home.root), folder)
        now = using(engine, [c for c in found if c.state == "running"])
    except EngineError as error:
        if not past:
            raise
        context.tell(f"Only the past: {error.message}")
        now = []
    if as_json:
        context.print_json({"group": folder, "now": _now_data(now), "past": _past_data(past)})
        return
    _show_now(context, folder, now)
    _show_past(context, past)


def _show_now(context: Context, folder: str, now: list[tuple[Container, Sample, Usage]]) -> None:
    if not now:
        context.tell(f"No container of group {folder} runs.")
        return
    rows = [("NAME", "CPU", "MEMORY", "LIMIT")]
    for container, sample, used in now:
        limit = size(used.limit) if used.limit else ""
        rows.append((container.name, percent(sample.cpu), size(used.memory), limit))
    for line in columns(rows):
        context.say(line)


def _show_past(context: Context, past: list[tuple[str, Past]]) -> None:
    if not past:
        context.tell("Nothing is known of the past: the daemon looks, by `pannier serve`.")
        return
    rows = [("LAST", "SEEN", "CPU", "AT MOST", "MEMORY", "AT MOST")]
    for name, one in past:
        cpu, memory = (percent(one.cpu), percent(one.cpu_most)), (size(one.memory),)
        rows.append((name, lasted(one.seconds), *cpu, *memory, size(one.memory_most)))
    for line in columns(rows):
        context.say(line)


def _now_data(now: list[tuple[Container, Sample, Usage]]) -> list[dict[str, object]]:
    return [
        {
            "id": container.id,
            "name": container.name,
            "cpu": round(sample.cpu, 4),
            "memory": used.memory,
            "limit": used.limit,
        }
        for container, sample, used in now
    ]


def _past_data(past: list[tuple[str, Past]]) -> list[dict[str, object]]:
    return [
        {
            "last": name,
            "seconds": one.seconds,
            "cpu": round(one.cpu, 4),
            "cpu_most": round(one.cpu_most, 4),
            "memory": one.memory,
            "memory_most": one.memory_most,
        }
        for name, one in past
    ]


def percent(cpu: float) -> str:
    """Of one processor."""
    return f"{cpu * 100:.1f}%"


def size(count: int) -> str:
    """Bytes as people say them."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{count} B"

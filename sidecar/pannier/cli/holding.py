"""`pannier context show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from pannier import groups, holding
from pannier.cli.columns import columns
from pannier.cli.context import Context
from pannier.cli.options import not_empty
from pannier.holding import Row
from pannier.shown import shown


@click.group("context")
def command() -> None:
    """Look at what is done so that a long conversation fits the model's context window.

    \b
    Example:
      pannier context show scout
    """


@command.command()
@click.argument("folder")
@click.option("--client", callback=not_empty, help="Another client than the group's.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def show(context: Context, folder: str, client: str | None, as_json: bool) -> None:
    """Show which settings in `context:` of the group FOLDER hold for its client, and how.

    HOLDS is yes, partly or no; off where it was switched off; unknown where pannier cannot say.
    A star marks what group.yaml sets. Containers keep what they were started with.

    \b
    Example:
      pannier context show scout --client codex
      pannier context show scout --json
    """
    group = groups.get(context.home(), folder)
    program = groups.client_of(group, client)
    settings = group.settings.context
    rows = holding.rows(settings, program)
    environment = holding.environment(settings, program)
    misspelt = holding.misspelt(settings.spill_buffer.thresholds)
    instead = holding.passed_over(environment, group.settings.env_from)
    if as_json:
        context.print_json(
            {
                "group": group.folder,
                "client": program.name,
                "settings": [row.as_data() for row in rows],
                "environment": environment,
                "passed_over": list(instead),
                "misspelt": misspelt,
            }
        )
        return
    for line in columns([("SETTING", "VALUE", "HOLDS", "HOW"), *_table(rows)]):
        context.say(line)
    for name, meant in misspelt.items():
        context.tell(f"No tool is known as {shown(name)}. Did you mean {meant}?")
    for name in instead:
        context.tell(f"env_from hands on {name}: where it is set, it goes before these settings.")


def _table(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    above = ""
    for row in rows:
        star = " *" if row.said else ""
        how = "as above" if row.how == above else row.how
        above = row.how
        yield row.setting, f"{_value(row.value)}{star}", row.holds, how


def _value(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case dict():
            return ", ".join(f"{shown(name)} {size:,}" for name, size in value.items()) or "-"
    return str(value)

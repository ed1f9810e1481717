"""`pannier learned status | show | why | forget | run | approve | eval`."""

from __future__ import annotations

from importlib import import_module

import click

# name → what `pannier learned --help` says of it. Each lies in `learned_<name>`, as `command`.
COMMANDS: dict[str, str] = {
    "status": "Say how far learning is, and what it waits for.",
    "show": "Show what was learned.",
    "why": "Say where a lesson comes from.",
    "approve": "Accept or reject what waits for a person.",
    "forget": "Remove lessons, for good.",
    "run": "Learn now.",
    "eval": "Try how well a model learns.",
}
HIDDEN = ("worker",)
"""What the daemon starts."""


class _Commands(click.Group):
    """Imports a command's module only when that command is used, as the outer group does."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in (*COMMANDS, *HIDDEN):
            return None
        command = import_module(f"pannier.cli.learned_{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("learned", cls=_Commands)
def command() -> None:
    """Look at what an agent learned by itself, trace it, approve it, have it forgotten.

    \b
    Example:
      pannier learned status
      pannier learned show scout
      pannier learned why scout 3f2a9bc
    """

"""The command `pannier`: one module a command; parses, calls one room, prints."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from pannier import __version__
from pannier.cli.context import Context
from pannier.errors import PannierError

# name → module that holds a click command of the same name with `-` as `_`.
COMMANDS: dict[str, str] = {
    "init": "init",
    "group": "group",
    "run": "run",
    "up": "up",
    "exec": "exec",
    "stop": "stop",
    "ps": "ps",
    "image": "image",
    "mounts": "mounts",
    "verify": "verify",
    "doctor": "doctor",
}


class _Commands(click.Group):
    """Imports a command's module only when it is used: `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pannier.cli.{COMMANDS[cmd_name]}")
        command = module.command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--home",
    metavar="DIR",
    help="The pannier home; else PANNIER_HOME, else the nearest parent with pannier.yaml.",
)
@click.version_option(__version__, prog_name="pannier")
@click.pass_context
def pannier(ctx: click.Context, home: str | None) -> None:
    """Durable memory for sandboxed agents.

    \b
    Example:
      pannier init
      pannier group add scout
      pannier run scout
    """
    ctx.obj = Context(home)


def main() -> None:
    """Run the command; the one place that ends the process.

    0 done, 1 the work failed, 2 wrong usage, 130 interrupted; `run` and `exec` pass on the
    client's own status.
    """
    try:
        status = pannier.main(standalone_mode=False)
    except click.exceptions.Exit as end:
        status = end.exit_code
    except click.Abort:
        click.echo("Interrupted.", err=True)
        status = 130
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        status = 130
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except PannierError as error:
        click.echo(f"pannier: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        status = error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        status = 1
    sys.exit(status if isinstance(status, int) else 0)

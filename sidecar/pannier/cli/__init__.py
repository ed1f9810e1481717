"""The command `pannier`: one module a command; parses, calls one room, prints."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from types import FrameType

import click

from pannier import __version__
from pannier.cli.context import Context
from pannier.errors import Interrupted, PannierError, described
from pannier.shown import brief, shown

# name → what `pannier --help` says of it. Each lies in the module of its name here, as `command`,
# but for those in `_ELSEWHERE`.
COMMANDS: dict[str, str] = {
    "init": "Make a pannier home.",
    "group": "Make and look at agent groups.",
    "run": "Run a group's client in a container, in this terminal.",
    "up": "Start a container of a group that stays up.",
    "exec": "Run the client in the container that is up.",
    "stop": "Stop and remove every container of a group.",
    "ps": "List the containers of this home.",
    "stats": "Say what a group's containers use.",
    "send": "Send an agent a message.",
    "queue": "List the messages that wait for agents.",
    "compact": "Have an agent summarize a long conversation.",
    "memory": "Look at what a group remembers.",
    "learned": "Look at what an agent learned by itself.",
    "threads": "Look at what was said, search it, go back, erase.",
    "image": "Build and list the images of the agent programs.",
    "bake": "Write hook and settings for a Dockerfile of your own.",
    "mounts": "Say what groups may see of the host.",
    "context": "Say which settings for long conversations hold.",
    "serve": "Keep groups up and watched: the daemon.",
    "status": "Say how the daemon is.",
    "verify": "Check that memory reaches the model, whole.",
    "doctor": "Say what is wrong, and what to do.",
}

_ELSEWHERE = {"context": "holding"}  # `cli.context` is what every command is given.


class _Commands(click.Group):
    """Imports a command's module only when that command is used: `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = _ELSEWHERE.get(cmd_name, cmd_name)
        command = import_module(f"pannier.cli.{module}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """Whoever ends us by a signal still wants the container and the scratch folder gone."""
    raise Interrupted(number)


def main() -> None:
    """Run the command; the one place that ends the process.

    0 done, 1 the work failed, 2 wrong usage, 130 interrupted; `run` and `exec` pass on the
    client's own status.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    # Names of files need not be text; to show one never fails.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    status = _status()
    _flush()
    sys.exit(status)


def _status() -> int:
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
        _tell(f"pannier: {error.message}", error.hint)
        status = error.exit_code
    except BrokenPipeError:
        status = 1
    except OSError as error:
        _tell(f"pannier: {brief(described(error), 500)}")
        status = 1
    return status if isinstance(status, int) else 0


def _flush() -> None:
    """Python would try again what could not be written, and complain, when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(message: str, hint: str = "") -> None:
    """An error. Whatever names and programs it quotes, a terminal obeys none of it."""
    for line in message.splitlines():
        click.echo(shown(line), err=True)
    for line in hint.splitlines():
        click.echo(f"  {shown(line)}", err=True)

"""Options that several commands share, and how they become a wish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def not_empty(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """An empty value is a variable that a script did not set, not a wish for the default."""
    if value == "":
        raise click.BadParameter("is empty", param=option)
    return value


def start_options(command: Command) -> Command:
    """What `run` and `up` both take."""
    for option in (
        click.option(
            "--client",
            callback=not_empty,
            help="Another client than the group's, over the same memory.",
        ),
        click.option("--image", callback=not_empty, help="Another image than the group's."),
        click.option(
            "--skip-refused", is_flag=True, help="Start without the mounts that are refused."
        ),
        click.option("--dry-run", is_flag=True, help="Show the container, and start nothing."),
    ):
        command = option(command)
    return command


def program_options(command: Command) -> Command:
    """What `run` and `exec` both take."""
    for option in (
        click.argument("args", nargs=-1, type=click.UNPROCESSED),
        click.option("--entrypoint", help="Start this program instead of the client."),
        click.option("--cwd", help="Working directory in the container."),
        click.option("--thread", default="main", show_default=True, help="The conversation."),
    ):
        command = option(command)
    return command

"""What every command is given: where the home is, the environment, and how to speak."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pannier.errors import HomeNotFound, UsageError
from pannier.paths import Home, find_home

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Context:
    """The object that click hands to each command (`@click.pass_obj`)."""

    home_option: str | None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def cwd(self) -> Path:
        """The working directory. Raises UsageError when somebody removed it."""
        try:
            return Path.cwd()
        except FileNotFoundError:
            raise UsageError("this directory is not there any more", "Go to another.") from None

    def home(self) -> Home:
        """The pannier home. Raises HomeNotFound."""
        named = self.home_option or self.environ.get("PANNIER_HOME")
        try:
            return find_home(self.home_option, self.environ, Path("/") if named else self.cwd)
        except RuntimeError as error:  # Path.expanduser
            raise HomeNotFound(f"{named}: there is no such user", "Write the path.") from error

    def say(self, text: str) -> None:
        """A line of result, on standard output."""
        click.echo(text)

    def tell(self, text: str) -> None:
        """A line about what happens, on standard error."""
        click.echo(text, err=True)

    def print_json(self, data: Any) -> None:
        """The result for programs."""
        text = json.dumps(data, indent=2, ensure_ascii=False)
        try:
            text.encode(sys.stdout.encoding or "ascii")
        except UnicodeEncodeError:
            text = json.dumps(data, indent=2)
        click.echo(text)

    def console(self, *, err: bool = False) -> Console:
        """For tables and progress; colour only on a terminal, and nothing cut but there."""
        from rich.console import Console

        file = sys.stderr if err else sys.stdout
        width = None if file.isatty() else _PIPE_WIDTH
        return Console(stderr=err, file=file, width=width, highlight=False)


_PIPE_WIDTH = 10_000

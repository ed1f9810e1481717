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

from pannier.paths import Home, find_home

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Context:
    """The object that click hands to each command (`@click.pass_obj`)."""

    home_option: str | None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: Path = field(default_factory=Path.cwd)

    def home(self) -> Home:
        """The pannier home. Raises HomeNotFound."""
        return find_home(self.home_option, self.environ, self.cwd)

    def say(self, text: str) -> None:
        """A line of result, on standard output."""
        click.echo(text)

    def tell(self, text: str) -> None:
        """A line about what happens, on standard error."""
        click.echo(text, err=True)

    def print_json(self, data: Any) -> None:
        """The result for programs."""
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))

    def console(self, *, err: bool = False) -> Console:
        """For tables and progress; colour only on a terminal."""
        from rich.console import Console

        return Console(stderr=err, file=sys.stderr if err else sys.stdout, highlight=False)

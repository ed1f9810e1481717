"""How a build is shown: its current step in one line on a terminal, or all that docker prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pannier.cli.context import Context
from pannier.engine.images import BuildFailed, Progress, step_of

Mode = Literal["auto", "plain"]


@contextmanager
def build_progress(context: Context, mode: Mode = "auto") -> Iterator[Progress]:
    """A progress to hand to `images.ensure` or `images.build`; shows the log of a failed build."""
    console = context.console(err=True)
    with console.status("") as status:
        if mode == "plain" or not console.is_terminal:
            status.stop()
        begun: set[str] = set()

        def show(tag: str, line: str) -> None:
            if mode == "plain":
                context.tell(line)
                return
            if tag not in begun:
                begun.add(tag)
                console.print(f"Building {tag}", markup=False)
            if step := step_of(line):
                status.update(f"[dim]{_plain(step)[: console.width - 10]}[/dim]")

        try:
            yield show
        except BuildFailed as error:
            status.stop()
            if mode != "plain":
                context.tell(error.log)
            raise


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)

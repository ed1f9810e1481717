"""The group whose agent this process is: where its memory, spool and inbox lie."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from pannier_hook.clients import CLIENTS, Client
from pannier_hook.options import Options, environment
from pannier_hook.spool import report


@dataclass(frozen=True)
class Group:
    """What the container's environment says, read once."""

    environ: dict[str, str] = field(default_factory=environment)
    client: str = "langchain"
    """A client of the hook's table that takes plain text."""

    @classmethod
    def here(cls) -> Group:
        """The group of this container."""
        return cls()

    @property
    def row(self) -> Client:
        """This client as the hook sees it."""
        return CLIENTS[self.client]

    def options(self, event: str) -> Options:
        """What the hook would have been called with at `event`."""
        options = Options(self.environ)
        options.event, options.client = event, self.client
        return options

    @contextmanager
    def untroubled(self, event: str) -> Iterator[None]:
        """What goes wrong with pannier's own work at `event` is reported, and ends there: the
        agent goes on."""
        try:
            yield
        except Exception as problem:
            self.report(event, problem)

    def report(self, event: str, problem: Exception) -> None:
        """Says what went wrong at `event`: to the sidecar, or where there is none to the log."""
        options = self.options(event)
        if not os.path.isdir(options.spool):
            _warn(f"{event}: {str(problem) or type(problem).__name__}")
        report(options, problem)


@lru_cache(maxsize=256)
def _warn(text: str) -> None:
    """Once a process: without a spool each event has the same to say."""
    logging.getLogger("pannier_agents").warning(text)

"""The group whose agent this process is: where its memory, spool and inbox lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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
            report(self.options(event), problem)

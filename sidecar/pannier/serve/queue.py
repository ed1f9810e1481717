"""The queue's work of a round: lay into the inboxes what waits, delete what was delivered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pannier import sending
from pannier.errors import PannierError
from pannier.paths import Home
from pannier.serve.hindrances import HOME, Hindrances
from pannier.serve.log import Event
from pannier.serve.words import in_one_line
from pannier.threads.queue import Queue, open_queue, queue_file

_FORGET = 720
"""Rounds after which it is looked for delivered ids that are old enough to be forgotten."""


class QueueWork:
    """Keeps queue and inboxes together. What hinders it is said once, and when it is over."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self.home = home
        self.path = queue_file(home, environ)
        self._hindrances = Hindrances(
            "queue.stuck", "queue.goes_on", "messages reach the inbox again"
        )
        self._rounds = 0

    def round(self) -> Iterator[Event]:
        """Never raises for what a person, a disk or a container can do."""
        if not self.path.exists():
            return
        try:
            with open_queue(self.path) as queue:
                problems = self._settle(queue)
        except (PannierError, OSError) as error:
            problems = {HOME: in_one_line(error)}
        yield from self._hindrances.changes(problems)

    def _settle(self, queue: Queue) -> dict[str, str]:
        """The groups whose messages cannot be laid into their inbox, and why."""
        if self._rounds % _FORGET == 0:
            queue.forget()
        self._rounds += 1
        found = {folder: sending.settle(self.home, queue, folder) for folder in queue.groups()}
        return {folder: problem for folder, problem in found.items() if problem}

"""Each event in turn: the client is driven into it, and what the model was asked is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pannier.clients.client import Client, Drive
from pannier.endpoint.model import ScriptedModel
from pannier.errors import VerifyError
from pannier.verify.measure import MemoryText, markers_in, measure
from pannier.verify.programs import Processes
from pannier.verify.report import EventReport
from pannier.verify.shell import EventShell

ReadMemory = Callable[[], tuple[MemoryText, ...]]


def watch(
    client: Client,
    processes: Processes,
    model: ScriptedModel,
    read_memory: ReadMemory,
    *,
    about_to: Callable[[str], None] = lambda _: None,
    begins: Callable[[str], None] = lambda _: None,
) -> Iterator[EventReport]:
    """Drive `client` into each of its events. An event that fails does not keep the next from
    being tried.

    `about_to` is called with an event's name when its drive starts, `begins` when its new context
    is about to begin.
    """
    for event, drive in client.events.items():
        about_to(event)
        yield _Watched(client, event, model, read_memory, begins).drive(drive, processes)


class _Watched:
    """One event: what memory held when it began, and which deliveries are older."""

    def __init__(
        self,
        client: Client,
        event: str,
        model: ScriptedModel,
        read_memory: ReadMemory,
        begins: Callable[[str], None],
    ) -> None:
        self._client = client
        self._event = event
        self._model = model
        self._read_memory = read_memory
        self._begins = begins
        self._memory: tuple[MemoryText, ...] | None = None
        self._older: frozenset[str] = frozenset()

    def _begin(self) -> None:
        self._begins(self._event)
        self._memory = self._read_memory()
        self._older = markers_in(self._model.requests)

    def drive(self, drive: Drive, processes: Processes) -> EventReport:
        shell = EventShell(self._event, processes, self._model, self._begin)
        problem, shown = "", ""
        try:
            drive(shell)
        except VerifyError as error:
            problem, shown = error.message, error.hint
        except (ValueError, LookupError) as error:
            problem = f"what {self._client.title} printed could not be read: {error}"
        finally:
            shell.close()
        begun = self._memory is not None
        files = measure(
            requests=shell.requests() if begun else (),
            memory=self._read_memory() if self._memory is None else self._memory,
            older=self._older,
            fresh=self._event in self._client.fresh,
            decode=self._client.decode,
        )
        if not begun and not problem:
            problem = "its drive never came to the point where the event begins"
        return EventReport(self._event, files, problem, shown)

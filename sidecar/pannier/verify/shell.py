"""The shell that a client's module drives."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TypeVar

from pannier.clients.client import Finished
from pannier.endpoint.answers import Answer
from pannier.endpoint.model import Request, ScriptedModel
from pannier.errors import VerifyError
from pannier.verify.programs import (
    DialogueProgram,
    Processes,
    Program,
    RunProgram,
    TerminalProgram,
)

P = TypeVar("P", bound=Program)


class EventShell:
    """One event's shell. See `pannier.clients.client.Shell`."""

    def __init__(
        self, name: str, processes: Processes, model: ScriptedModel, on_observe: Callable[[], None]
    ) -> None:
        """`name` is part of the job names; `on_observe` is called when the event begins."""
        self._name = name
        self._processes = processes
        self._model = model
        self._on_observe = on_observe
        self._programs: list[Program] = []
        self._since = self._last_number()
        self._prompt = ""

    def run(self, *argv: str, stdin: str = "", seconds: float = 120) -> Finished:
        program = RunProgram(self._processes, argv, self._job())
        try:
            return program.finish(stdin, seconds)
        finally:
            program.close()

    def terminal(self, *argv: str) -> TerminalProgram:
        return self._keep(TerminalProgram(self._processes, argv, self._job()))

    def dialogue(self, *argv: str) -> DialogueProgram:
        return self._keep(DialogueProgram(self._processes, argv, self._job()))

    def observe(self, prompt: str = "") -> None:
        self._since = self._last_number()
        self._prompt = prompt
        self._on_observe()

    def wait_for_request(self, text: str, *, seconds: float = 60) -> None:
        found = self._model.wait_for(
            lambda request: self._counts(request) and request.holds(text),
            after=self._since,
            seconds=seconds,
        )
        if found is None:
            raise VerifyError(
                f"after {seconds:g} s no request to the model held {text!r}", self._shown()
            )

    def script(self, *answers: Answer) -> None:
        self._model.script(*answers)

    def requests(self) -> tuple[Request, ...]:
        """What the model was asked since `observe`, in the context that was observed."""
        return tuple(r for r in self._model.since(self._since) if self._counts(r))

    def _counts(self, request: Request) -> bool:
        return not self._prompt or any(t.text.strip() == self._prompt for t in request.texts)

    def close(self) -> None:
        """End what still runs, and forget what was scripted."""
        for program in self._programs:
            program.close()
        self._model.forget_script()

    def _keep(self, program: P) -> P:
        self._programs.append(program)
        return program

    def _job(self) -> str:
        """A name that nobody else's processes have: on a host, `end` sees those of all."""
        return f"{self._name}-{secrets.token_hex(8)}"

    def _last_number(self) -> int:
        return len(self._model.requests)

    def _shown(self) -> str:
        screens = (p.screen() for p in self._programs if isinstance(p, TerminalProgram))
        return "\n\n".join(screens)

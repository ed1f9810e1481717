"""Recording a container's life while it is led: by `run`, `up`, `exec` and `stop`.

Nothing here raises, and none of it is waited for long: what could not be recorded is found again
by whoever looks at the engine next (`reconcile`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self, TypeVar

from pannier import owner
from pannier.engine import Engine
from pannier.engine.life import Life, changes, inspect
from pannier.errors import PannierError
from pannier.paths import Home
from pannier.sandbox.records import Attachment, Records, open_records, sandbox_file

PATIENCE = 0.3
"""Seconds that another writer is waited for."""
_SLACK = 10**9
"""Nanoseconds by which the engine's clock may be behind ours."""

Result = TypeVar("Result")


def look(engine: Engine, container: str) -> Life | None:
    """What the engine says of a container now, if it says anything."""
    try:
        return inspect(engine, container)
    except PannierError:
        return None


class Recorder:
    """Records for one home."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self.home = home
        self.path = sandbox_file(home, environ)

    def began(self, life: Life | None) -> None:
        """A container was started; `life` is what a `look` found."""
        if life is not None:
            self.record(lambda records: records.see(life))

    def ended(self, engine: Engine, container: str, since: int) -> None:
        """A container that ran since then (nanoseconds since 1970) was ended or removed: what the
        engine still knows of it."""

        def see(records: Records) -> None:
            for life in changes(engine, str(self.home.root), since - _SLACK, time.time_ns()):
                if life.id == container:
                    records.see(life)

        self.record(see)

    def visit(self, container: str, kind: str, thread: str, *, tty: bool) -> Visit:
        """Somebody who will be in a container, to be used in a `with`."""
        return Visit(self, Attachment(0, container, kind, thread, tty, owner.me(), 0, 0, None))

    def record(self, act: Callable[[Records], Result]) -> Result | None:
        """Do it with the records, if that is possible."""
        try:
            with open_records(self.path, patience=PATIENCE) as records:
                return act(records)
        except (PannierError, OSError):
            return None


class Visit:
    """Somebody in a container, from `begins` to the end of the `with`."""

    def __init__(self, recorder: Recorder, planned: Attachment) -> None:
        self._recorder = recorder
        self._planned = planned
        self._number: int | None = None
        self._status: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        number, status, now = self._number, self._status, time.time_ns()
        if number is not None:
            self._recorder.record(lambda records: records.leave(number, now, status))

    def begins(self) -> None:
        """They are in it now."""
        began = replace(self._planned, began=time.time_ns())
        self._number = self._recorder.record(lambda records: records.attach(began))

    def ends(self, status: int) -> int:
        """Their program ended with this status, which is given back."""
        self._status = status
        return status

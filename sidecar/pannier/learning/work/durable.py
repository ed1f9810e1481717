"""Work that outlives its process. The one module that knows DBOS.

A piece of work is a function that takes steps. What a step gave is recorded; when the process is
killed, or the work stops in the middle, it is done again with what was recorded, so that no step is
taken twice. A group has one piece of each work at most (a *workflow*, `FOLDER:WORK`), and of all
its works one runs at a time, whoever runs it. What is done is deleted: there is never more in the
database than is in progress.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from dbos import (
    DBOS,
    DBOSConfig,
    DBOSPortableJSONSerializer,
    SetEnqueueOptions,
    SetWorkflowID,
    WorkflowStatus,
    error,
)
from sqlalchemy.exc import SQLAlchemyError

from pannier.database import make_file
from pannier.errors import PannierError, described
from pannier.learning.store.locks import Busy
from pannier.learning.store.steps import FILE, schema_of, unusable
from pannier.learning.work.means import Json, Step
from pannier.paths import Home

Do = Callable[[str, str, Step], Json]
"""A work of a group, by the group's and the work's name: what came of it."""

MOST_AT_ONCE = 4
"""Groups of which one worker draws lessons at a time."""
_VERSION = "1"
"""Of the steps' form. With DBOS's own, a digest of the code, work would be left at an update."""
_QUEUE = "learning"
_POLL = 0.2
"""Seconds."""
_ACTIVE = ("ENQUEUED", "PENDING", "DELAYED")
_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
_BEYOND = 1 << 30
"""More steps than any work has: to go on behind all that are recorded."""


class CutShort(Exception):
    """The worker ends: the work goes on with the next one."""


@dataclass(frozen=True)
class Ended:
    """A piece of work that came to an end."""

    grp: str
    work: str
    result: Json
    """What its function gave; {} when it was cut short."""
    failed: str = ""
    """Why it stopped: what was recorded is kept, and `begin` goes on with it."""
    busy: bool = False
    """It stopped because somebody else is at work on the group."""


class Works:
    """What is in progress."""

    def __init__(self, do: Do, executor: str) -> None:
        self._do = do
        self._executor = executor
        self._ending = threading.Event()
        self._something = threading.Event()
        self._running: set[str] = set()
        self._told: set[str] = set()
        """Those that stopped, and this process has told of it."""

    def inherit(self, others: Sequence[str]) -> list[Ended]:
        """Go on with what workers were killed in that nobody is any more; what came of what they
        had ended."""
        if not others:
            return []
        DBOS._recover_pending_workflows(list(others))
        return self._collect(others)

    def know(self) -> None:
        """What stopped earlier was told then."""
        found = DBOS.list_workflows(status=list(_ENDED), load_input=False)
        self._told = {one.workflow_id for one in found if not _ended(one).result}

    def begin(self, grp: str, work: str) -> None:
        """Do the work, or go on with what was begun. Does nothing if it is under way."""
        name = f"{grp}:{work}"
        self._told.discard(name)
        found = DBOS.list_workflows(workflow_ids=[name], load_input=False)
        if not found:
            with SetWorkflowID(name), SetEnqueueOptions(queue_partition_key=grp):
                DBOS.enqueue_workflow(_QUEUE, _learn, grp, work)
        elif found[0].status in _ENDED:
            _go_on(name, grp, (found[0].output or {}).get("again", _BEYOND))

    def active(self) -> dict[str, bool]:
        """The groups of which something is in progress, and whether it is known to be: in this
        process, or in another worker's."""
        found = DBOS.list_workflows(status=list(_ACTIVE), load_input=False, load_output=False)
        active: dict[str, bool] = {}
        for one in found:
            grp = one.workflow_id.partition(":")[0]
            elsewhere = one.status == "PENDING" and one.executor_id != self._executor
            known = elsewhere or one.workflow_id in self._running
            active[grp] = known or active.get(grp, False)
        return active

    def collect(self) -> list[Ended]:
        """What came to an end here, each once. What is done is deleted."""
        self._something.clear()
        return self._collect([self._executor])

    def _collect(self, executors: Sequence[str]) -> list[Ended]:
        found = DBOS.list_workflows(
            status=list(_ENDED), executor_id=list(executors), load_input=False
        )
        new = [one for one in found if one.workflow_id not in self._told]
        ended = [_ended(one) for one in new]
        done = [f"{one.grp}:{one.work}" for one in ended if one.result]
        self._told |= {one.workflow_id for one in new} - set(done)
        if done:
            DBOS.delete_workflows(done)
        return ended

    def wait(self, seconds: float) -> None:
        """Until something may have ended."""
        self._something.wait(seconds)

    def end(self, grace: float) -> bool:
        """Whatever runs stops before its next step. Whether all did within so many seconds."""
        self._ending.set()
        until = time.monotonic() + grace
        while self._running and time.monotonic() < until:
            self._something.wait(0.1)
            self._something.clear()
        return not self._running

    def run(self, grp: str, work: str) -> Json:
        """In a thread of DBOS's. Never raises: DBOS would take that for the end of it."""
        name, steps = f"{grp}:{work}", _Steps(self._ending)
        self._running.add(name)
        failed, busy = "", False
        try:
            return {"result": self._do(grp, work, steps.take)}
        except CutShort:
            return {"result": {}}
        except PannierError as why:
            failed = f"{why.message}. {why.hint}" if why.hint else why.message
            busy = isinstance(why, Busy)
        except OSError as why:
            failed = described(why)
        except Exception as why:
            failed = f"{type(why).__name__}: {why}"
        finally:
            self._running.discard(name)
            self._something.set()
        return {"failed": failed, "busy": busy, "again": steps.failed}


class _Steps:
    """Those of one piece of work."""

    def __init__(self, ending: threading.Event) -> None:
        self._ending = ending
        self.failed = _BEYOND
        """The number of the step that raised: DBOS recorded that."""

    def take(self, name: str, take: Callable[[], Json]) -> Json:
        if self._ending.is_set():
            raise CutShort

        def taken() -> Json:
            try:
                return take()
            except BaseException:
                self.failed = DBOS.step_id or self.failed
                raise

        return DBOS.run_step({"name": name}, taken)


_works: Works | None = None
"""Those of this process: DBOS, too, is there once."""


@DBOS.workflow(name="learn", max_recovery_attempts=None)
def _learn(grp: str, work: str) -> Json:
    assert _works is not None
    return _works.run(grp, work)


@contextmanager
def launched(home: Home, url: str | None, do: Do, executor: str) -> Iterator[Works]:
    """What an earlier worker of this name was killed in goes on.

    `url`: PostgreSQL's, or None for the file. Raises PannierError for a database that cannot be
    used. What still runs at the end is cut off.
    """
    global _works  # noqa: PLW0603 (see there)
    _be_quiet()
    works = _works = Works(do, executor)
    try:
        with _in_words(home, url):
            DBOS(config=_config(home, url, executor))
            DBOS.launch()
            DBOS.register_queue(
                _QUEUE,
                partition_concurrency=1,
                worker_concurrency=MOST_AT_ONCE,
                polling_interval_sec=_POLL,
                on_conflict="always_update",
            )
            works.know()
            yield works
    finally:
        works.end(0)
        DBOS.destroy()
        _works = None


def _go_on(name: str, grp: str, step: int) -> None:
    """From the first step that is not to be kept."""
    try:
        DBOS.rewind_workflow(name, start_step=step, queue_name=_QUEUE, queue_partition_key=grp)
    except error.DBOSException:  # Another worker was faster.
        return


def _ended(one: WorkflowStatus) -> Ended:
    grp, _, work = one.workflow_id.partition(":")
    if one.status != "SUCCESS":
        return Ended(grp, work, {}, f"it ended as {one.status}")
    output = cast("Json", one.output)
    failed, busy = output.get("failed", ""), output.get("busy", False)
    return Ended(grp, work, output.get("result", {}), failed, busy)


def _config(home: Home, url: str | None, executor: str) -> DBOSConfig:
    config: DBOSConfig = {
        "name": "pannier",
        "executor_id": executor,
        "application_version": _VERSION,
        # Nothing is unpickled that others may have written.
        "serializer": DBOSPortableJSONSerializer(),
        "use_listen_notify": False,
    }
    if url is None:
        home.state.mkdir(mode=0o700, exist_ok=True)
        make_file(home.state / FILE)
        config["system_database_url"] = f"sqlite:///{(home.state / FILE).absolute()}"
        config["db_engine_kwargs"] = {"connect_args": {"factory": _Thorough}}
    else:
        config["system_database_url"] = url
        config["dbos_system_schema"] = schema_of(home)
        config["sys_db_pool_size"] = 5
    return config


class _Thorough(sqlite3.Connection):
    """What is deleted is overwritten."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.execute("PRAGMA secure_delete = ON")


@contextmanager
def _in_words(home: Home, url: str | None) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, error.DBOSException) as reason:
        raise unusable(home, url, reason) from reason


def _be_quiet() -> None:
    """DBOS would write to the terminal, also of errors that are told in our words."""
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

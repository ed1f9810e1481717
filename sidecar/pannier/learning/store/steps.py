"""Where the steps in progress are recorded, and how those of a group are erased there.

That is DBOS's database: `state/learning-steps.db`, or one of PostgreSQL's. DBOS itself is not
needed here.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from pannier import safefs
from pannier.database import in_words
from pannier.errors import PannierError
from pannier.paths import Home
from pannier.settings.learning import HomeLearning

FILE = "learning-steps.db"
_ID = "learning-id"
_TABLES = ("operation_outputs", "workflow_input", "workflow_output", "workflow_status")
"""Of DBOS 3.4: those in which something of a workflow stands that took steps, and no more."""
_BUSY = 30.0
"""Seconds."""


def database_url(settings: HomeLearning, environ: Mapping[str, str]) -> str | None:
    """That of PostgreSQL; None: the file in `state/` is used. Raises PannierError."""
    if settings.database_from is None:
        return None
    url = environ.get(settings.database_from, "")
    if not url.startswith(("postgresql://", "postgres://")):
        raise PannierError(
            f"learning.database_from: {settings.database_from} is not set to the URL of a "
            "PostgreSQL database",
            f"export {settings.database_from}=postgresql://user:password@host/database",
        )
    return url


def schema_of(home: Home) -> str:
    """That of a home in PostgreSQL: several homes may share a database.

    The home's name stands in its `state/`, so that it is the same from a container as from the
    host.
    """
    home.state.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        safefs.write(home.state, _ID, f"{secrets.token_hex(8)}\n".encode(), replace=False)
    return f"pannier_{safefs.read(home.state, _ID).decode().strip()}"


def forget(home: Home, url: str | None, grp: str) -> None:
    """Erase what is recorded of a group's steps: prompts are not, but the answers are.

    To be called while nobody learns from the group (`locks.at_work`). Raises PannierError.
    """
    if url is None:
        _forget_in_file(home, grp)
    else:
        _forget_in_postgres(home, url, grp)


def check(home: Home) -> None:
    """Raises PannierError for a file in `state/` that is no database. It is not there before
    something was learned."""
    path = home.state / FILE
    if not path.exists():
        return
    try:
        # Not with its locks: a worker has it open.
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=1)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:  # Locked, or gone meanwhile: whoever uses it says what is.
        return
    except sqlite3.Error as error:
        raise unusable(home, None, error) from error


def _forget_in_file(home: Home, grp: str) -> None:
    path = home.state / FILE
    if not path.exists():
        return
    check(home)
    with in_words(path), closing(sqlite3.connect(path, timeout=_BUSY, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete = ON")
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        db.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            if table in there:
                db.execute(f"DELETE FROM {table} WHERE {_of_group('?')}", _named(grp))
        db.execute("COMMIT")
        # What was freed before is overwritten, too.
        db.execute("VACUUM")


def _forget_in_postgres(home: Home, url: str, grp: str) -> None:
    schema = schema_of(home)
    with _postgres(home, url) as execute:
        if not execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)):
            return
        for table in _TABLES:
            execute(f'DELETE FROM "{schema}".{table} WHERE {_of_group("%s")}', _named(grp))
            execute(f'VACUUM FULL "{schema}".{table}', ())


@contextmanager
def _postgres(home: Home, url: str) -> Iterator[Callable[[str, Sequence[Any]], list[Any]]]:
    try:
        import psycopg  # noqa: PLC0415 (of the extra `learning`)
    except ImportError as error:
        raise not_installed() from error
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as db:

            def execute(query: str, values: Sequence[Any]) -> list[Any]:
                found = db.execute(query.encode(), values)
                return found.fetchall() if found.description else []

            yield execute
    except psycopg.Error as error:
        raise unusable(home, url, error) from error


def not_installed() -> PannierError:
    """The extra is missing."""
    return PannierError(
        "what learning needs is not installed", "Install it: pip install 'pannier[learning]'"
    )


def unusable(home: Home, url: str | None, error: Exception) -> PannierError:
    """The database says no. PostgreSQL's messages name host and user, and no password."""
    reason = " ".join(str(getattr(error, "orig", None) or error).split())[:300]
    if url is not None:
        return PannierError(f"learning.database_from: the database cannot be used: {reason}")
    return PannierError(
        f"{home.state / FILE}: {reason}",
        "Look at the disk and at the file's rights; or move it away: then answers that wait there "
        "are paid once more.",
    )


def _of_group(mark: str) -> str:
    """A workflow is called FOLDER:WORK."""
    return f"substr(workflow_uuid, 1, {mark}) = {mark}"


def _named(grp: str) -> tuple[int, str]:
    return len(grp) + 1, f"{grp}:"

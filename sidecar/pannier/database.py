"""The sidecar's databases (SQLite): their files, their form, their errors in words for people.

The number of migrations that were applied stands in the database (`PRAGMA user_version`).
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pannier import safefs
from pannier.errors import PannierError, reason
from pannier.paths import MARKER, Home

VARIABLES = {
    "threads.db": "PANNIER_THREADS_DB_PATH",
    "queue.db": "PANNIER_QUEUE_DB_PATH",
    "sandbox.db": "PANNIER_SANDBOX_DB_PATH",
    "learning.db": "PANNIER_LEARNING_DB_PATH",
}
"""The databases of a home, and the variables that name another file for one."""
_BUSY = 10.0
"""Seconds that somebody waits for another's transaction."""


@dataclass(frozen=True)
class Migration:
    """A step from one form of the tables to the next."""

    name: str
    script: str


def database_file(home: Home, environ: Mapping[str, str], name: str) -> Path:
    """A database of the home: what its variable names, else the file of that name in its state.

    A relative path counts from the home, and not from the current folder: each would have a
    database of its own.
    """
    named = environ.get(VARIABLES[name])
    return home.root.absolute() / Path(named).expanduser() if named else home.state / name


def connect(path: Path, *, write: bool, migrations: tuple[Migration, ...]) -> sqlite3.Connection:
    """A connection in autocommit; the tables have their present form.

    For reading, a database that is not there is as one that is empty, and one in a folder that
    cannot be written is opened as it lies there. Raises PannierError.
    """
    with in_words(path):
        _check(path)
        if not write and not path.exists():
            db = sqlite3.connect(":memory:", isolation_level=None)
            migrate(db, migrations)
            return db
        if write:
            _make(path)
        try:
            return _opened(path, write, migrations)
        except sqlite3.OperationalError as error:
            if write or _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            return _frozen(path, migrations)


@contextmanager
def opened(
    path: Path, *, write: bool, migrations: tuple[Migration, ...]
) -> Iterator[sqlite3.Connection]:
    """What `connect` gives, closed at the end; what it then refuses is a PannierError, too."""
    db = connect(path, write=write, migrations=migrations)
    try:
        yield db
    except sqlite3.Error:
        with in_words(path):
            raise
    finally:
        db.close()


@contextmanager
def alone(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, and nobody else writes meanwhile."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already (sqlite.org/lang_transaction.html).
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _check(path: Path) -> None:
    """Raises PannierError for what can be no database's file.

    What an agent can write is none: it would read there what every group said, and could lay a
    link or a log of its own beside it.
    """
    real = path.resolve()
    for root in real.parents:
        if real.is_relative_to(Home(root).groups) and (root / MARKER).is_file():
            raise PannierError(
                f"{path} lies in {Home(root).groups}, where agents can write",
                f"Name another file for it: {', '.join(VARIABLES.values())}.",
            )
    if real.exists() and not real.is_file():
        raise PannierError(f"{path} is no regular file", "Name a file, or one that is to be made.")


def _opened(path: Path, write: bool, migrations: tuple[Migration, ...]) -> sqlite3.Connection:
    # Where only reading is allowed, SQLite itself does with that.
    db = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY, isolation_level=None)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        # The spool's files are removed once a transaction is done: it must outlast a power cut.
        db.execute("PRAGMA synchronous = FULL")
        _check_mark(db, path, migrations)
        if version(db) != len(migrations):
            db.execute("PRAGMA journal_mode = WAL")
            migrate(db, migrations)
        if not write:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


class Frozen(sqlite3.Connection):
    """Of a database beside which no file can be made: read without locks, and without the log of
    what was written last, if there is one (sqlite.org/wal.html#readonly)."""


def _frozen(path: Path, migrations: tuple[Migration, ...]) -> Frozen:
    uri = f"{path.as_uri()}?mode=ro&immutable=1"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, factory=Frozen)
    try:
        _check_mark(db, path, migrations)
        if version(db) < len(migrations):
            raise PannierError(
                f"{path}: made by an earlier pannier, and its folder cannot be written",
                "Look at it once where it can be: that brings it to its present form.",
            )
        migrate(db, migrations)
    except BaseException:
        db.close()
        raise
    return db


_PLAIN = sqlite3.DatabaseError
"""Of just this class: it is damaged, or no database at all."""


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """What the database or its file refuses becomes a PannierError that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The others are not the database's fault but that of what it was given.
        if not isinstance(error, sqlite3.OperationalError) and type(error) is not _PLAIN:
            raise
        raise PannierError(f"{path}: {error}", _hint(error)) from error
    except OSError as error:
        raise PannierError(f"{path}: {reason(error)}") from error
    except LaterForm as error:
        raise PannierError(f"{path}: {error}", "Update pannier.") from error


def _code(error: sqlite3.DatabaseError) -> int:
    """The primary one (sqlite.org/rescode.html)."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _hint(error: sqlite3.DatabaseError) -> str:
    return {
        sqlite3.SQLITE_BUSY: "Another process has been writing for long: try again.",
        sqlite3.SQLITE_FULL: "The disk is full: nothing is lost, but nothing new is kept.",
        sqlite3.SQLITE_NOTADB: "It is no database of pannier. Move it away, or bring a copy back.",
        sqlite3.SQLITE_CORRUPT: "It is damaged. Move it away, or bring a copy back.",
        sqlite3.SQLITE_CANTOPEN: "Look at the rights of the file and of its folder.",
        sqlite3.SQLITE_READONLY: "Look at the rights of the file and of its folder.",
    }.get(_code(error), "")


def _make(path: Path) -> None:
    """For the owner alone. As root, for the owner of the folder."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_file(path)


def make_file(path: Path) -> None:
    """An empty file, unless there is one.

    That one is not even opened: to close it would end all locks that this process has there by
    other connections (fcntl(2)), and SQLite's log would be taken away below them.
    """
    if not os.path.lexists(path):
        with suppress(FileExistsError):
            safefs.write(path.parent, path.name, b"", replace=False, mode=0o600)


# ------------------------------------------------------------------------------------------- forms


class LaterForm(Exception):
    """A database whose form is not known yet."""


def version(db: sqlite3.Connection) -> int:
    """How many migrations the database has seen."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def mark(migrations: tuple[Migration, ...]) -> int:
    """What tells a database from the others, by its first migration's name (`application_id`)."""
    return zlib.crc32(migrations[0].name.encode()) & 0x7FFFFFFF


def _check_mark(db: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...]) -> None:
    """Raises PannierError for a file that was made for something else. Early ones have no mark."""
    found = int(db.execute("PRAGMA application_id").fetchone()[0])
    if found not in (0, mark(migrations)):
        raise PannierError(
            f"{path} is the database of something else",
            f"Each has a file of its own: look at {', '.join(VARIABLES.values())}.",
        )


def migrate(db: sqlite3.Connection, migrations: tuple[Migration, ...]) -> None:
    """Bring the tables to their present form, or leave them as they are.

    Raises LaterForm for a database of a later pannier.
    """
    if version(db) == len(migrations):
        return
    with alone(db):
        done = version(db)
        if done > len(migrations):
            raise LaterForm(
                f"made by a later pannier: its form is {done}, known are 1 to {len(migrations)}"
            )
        if not done:
            db.execute(f"PRAGMA application_id = {mark(migrations)}")
        for migration in migrations[done:]:
            for statement in _statements(migration.script):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(migrations)}")


def _statements(script: str) -> list[str]:
    """One by one: sqlite3.executescript would end the transaction."""
    statements = []
    begun = ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            statements.append(begun)
            begun = ""
    return statements

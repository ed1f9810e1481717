"""A database that any released pannier made is opened by this one."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from pannier.clients.transcript import Message, Reading
from pannier.database import Migration, migrate, version
from pannier.errors import PannierError
from pannier.threads.schema import MIGRATIONS
from pannier.threads.store import open_store
from pannier_hook.events import Event

RELEASED = ("119a13c8c0cf3884", "8bb277d40afceb98", "5c77b776f5a1a464", "237e93cb15907dd6")
"""Of each migration, as it was released first."""


def made_by(file: Path, forms: int) -> None:
    """A database as the pannier left it that knew so many migrations."""
    db = sqlite3.connect(file, isolation_level=None)
    migrate(db, MIGRATIONS[:forms])
    db.close()


def schema(db: sqlite3.Connection) -> set[tuple[str, str]]:
    found = db.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL")
    return {(name, " ".join(sql.split())) for name, sql in found}


def test_no_released_migration_was_edited() -> None:
    """One is appended instead: databases that were made by the old one are out there."""
    digests = tuple(
        hashlib.blake2b(m.script.encode(), digest_size=8).hexdigest() for m in MIGRATIONS
    )
    assert digests == RELEASED


@pytest.mark.parametrize("forms", range(len(MIGRATIONS) + 1))
@pytest.mark.parametrize("write", [True, False])
def test_every_form_is_opened(tmp_path: Path, forms: int, write: bool) -> None:
    """Whether for reading or for writing; afterwards all have the same form, and work."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    made_by(old, forms)
    with open_store(new, write=True) as fresh:
        expected = schema(fresh.db)
    with open_store(old, write=True) if write else open_store(old) as store:
        assert schema(store.db) == expected
    with open_store(old, write=True) as store:
        event = Event("stop", id="0" * 16, at=1, client="claude", session="s")
        store.apply("scout", event, Reading((Message("a", "person", "text", "hello"),)))
        assert len(store.search("hello", "scout")) == 1


def test_what_was_erased_before_stays_erased(tmp_path: Path) -> None:
    """A mark that named no thread is one for every deleted thread of its group."""
    file = tmp_path / "old.db"
    made_by(file, 1)
    db = sqlite3.connect(file)
    db.execute("INSERT INTO scopes VALUES (1, 'scout', 'claude'), (2, 'pilot', 'claude')")
    names = [("scout", "a", 1), ("scout", "b", 1), ("scout", "c", 0), ("pilot", "d", 1)]
    for number, (grp, name, deleted) in enumerate(names):
        row = (grp, name, f"{number:08d}", deleted)
        values = "(grp, name, key, created, deleted) VALUES (?, ?, ?, 0, ?)"
        db.execute(f"INSERT INTO threads {values}", row)
    db.execute("INSERT INTO erased VALUES (1, 's1')")
    db.commit()
    db.close()
    with open_store(file, write=True) as store:
        for name in "abcd":
            event = Event("stop", id="0" * 16, at=1, client="claude", session="s1", thread=name)
            store.apply("scout", event, Reading((Message(name, "person", "text", "x"),)))
        assert [thread.name for thread in store.threads()] == ["c", "d"]


def test_a_later_form_is_refused(tmp_path: Path) -> None:
    """By name, with the way out; nothing is touched."""
    file = tmp_path / "threads.db"
    open_store(file, write=True).close()
    db = sqlite3.connect(file)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(PannierError, match=f"{file}: .* later pannier: its form is") as caught:
        open_store(file)
    assert "Update" in caught.value.hint


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """Half a form is none."""
    broken = Migration("broken", "CREATE TABLE fine (a);\nCREATE TABLE scopes (a);")
    file = tmp_path / "threads.db"
    open_store(file, write=True).close()
    db = sqlite3.connect(file, isolation_level=None)
    before = schema(db)
    with pytest.raises(sqlite3.OperationalError, match="scopes"):
        migrate(db, (*MIGRATIONS, broken))
    assert (schema(db), version(db)) == (before, len(MIGRATIONS))
    db.close()

"""Where the sidecar's databases may lie."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pannier.database import VARIABLES, connect, database_file
from pannier.errors import PannierError
from pannier.paths import Home
from pannier.sandbox.records import open_records
from pannier.threads.schema import MIGRATIONS


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.state.mkdir(parents=True)
    home.settings.touch()
    (home.group("scout").root / "files").mkdir(parents=True)
    return home


def opened(home: Home, named: str, *, write: bool = True) -> None:
    path = database_file(home, {VARIABLES["threads.db"]: named}, "threads.db")
    connect(path, write=write, migrations=MIGRATIONS).close()


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("named", ["groups/scout/files/t.db", "groups/t.db", "link/t.db"])
def test_no_database_lies_where_an_agent_can_write(home: Home, named: str, write: bool) -> None:
    """It would read there what every group said, and could lay a link beside it."""
    (home.root / "link").symlink_to("groups/scout/files")
    with pytest.raises(PannierError, match="where agents can write") as caught:
        opened(home, named, write=write)
    assert "PANNIER_THREADS_DB_PATH" in caught.value.hint
    assert not list(home.groups.rglob("*.db*"))


def test_the_groups_of_another_home_are_no_place_either(home: Home, tmp_path: Path) -> None:
    """They are an agent's just the same. A folder that only has such a name is none."""
    other = Home(tmp_path / "other")
    other.groups.mkdir(parents=True)
    opened(home, str(other.groups / "t.db"))
    other.settings.touch()
    with pytest.raises(PannierError, match="where agents can write"):
        opened(home, str(other.groups / "t.db"))


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("named", ["state", "/dev/null"])
def test_what_is_no_file_is_said_to_be_none(home: Home, named: str, write: bool) -> None:
    """At once, and with the way out."""
    with pytest.raises(PannierError, match="is no regular file") as caught:
        opened(home, named, write=write)
    assert "Name a file" in caught.value.hint


@pytest.mark.parametrize("write", [True, False])
def test_two_databases_have_two_files(home: Home, write: bool) -> None:
    """One that was made for something else is neither read as ours nor changed."""
    path = home.root / "one.db"
    connect(path, write=True, migrations=MIGRATIONS).close()
    with pytest.raises(PannierError, match="something else") as caught, open_records(path):
        pass
    assert "PANNIER_SANDBOX_DB_PATH" in caught.value.hint
    connect(path, write=write, migrations=MIGRATIONS).close()


def test_a_database_from_before_there_was_a_mark_is_ours(home: Home) -> None:
    """Its mark is 0."""
    path = home.root / "one.db"
    db = connect(path, write=True, migrations=MIGRATIONS)
    db.execute("PRAGMA application_id = 0")
    db.close()
    connect(path, write=True, migrations=MIGRATIONS).close()


def test_a_path_of_the_person_s_home_is_found_there(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell has read what stands in a unit file or in `.env`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    opened(home, "~/said.db")
    assert (tmp_path / "said.db").is_file()


def test_another_connection_of_the_process_ends_no_lock(tmp_path: Path) -> None:
    """To open a file and to close it ends the process's locks there (fcntl(2)): then a second
    process that closes the database takes away the log below the first one."""
    file = tmp_path / "things.db"
    first = connect(file, write=True, migrations=MIGRATIONS)
    first.execute("CREATE TABLE said (what TEXT)")
    connect(file, write=True, migrations=MIGRATIONS).close()
    reads = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1])"
    reads += "; db.execute('SELECT * FROM said').fetchall(); db.close()"
    subprocess.run([sys.executable, "-c", reads, file], check=True)
    first.execute("INSERT INTO said VALUES ('hello')")
    assert file.with_name("things.db-wal").exists()
    with sqlite3.connect(file) as second:
        assert second.execute("SELECT what FROM said").fetchall() == [("hello",)]
    second.close()
    first.close()

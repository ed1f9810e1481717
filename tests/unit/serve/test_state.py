"""Who serves a home, and how others see it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pannier import groups
from pannier.errors import PannierError, UnsafePath
from pannier.paths import Home
from pannier.serve import state

SOMEBODY = """
import sys
from pathlib import Path
from pannier.paths import Home
from pannier.serve import state
with state.take_place(Home(Path(sys.argv[1]))) as place:
    place.write(state.new_report("2027-01-15T08:00:00Z", 5.0))
    print("serves", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return groups.init(tmp_path / "agents", {"HOME": str(tmp_path)})[0]


@pytest.fixture
def somebody(home: Home) -> Iterator[subprocess.Popen[str]]:
    """Another process that serves the home."""
    process = subprocess.Popen(
        [sys.executable, "-c", SOMEBODY, str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "serves\n"
    yield process
    process.kill()
    process.communicate()


def test_a_home_has_one_daemon(home: Home, somebody: subprocess.Popen[str]) -> None:
    """A second one is told who is there."""
    with pytest.raises(PannierError, match=rf"process {somebody.pid} on .* serves .*already"):
        state.take_place(home).__enter__()


def test_the_place_of_a_killed_daemon_is_free(home: Home, somebody: subprocess.Popen[str]) -> None:
    """However it ended; and health says that it was no orderly end."""
    assert state.health(home, 0.0).running
    somebody.kill()
    somebody.wait()
    found = state.health(home, 0.0)
    assert (found.running, found.troubles) == (
        False,
        ("the daemon was killed, or its machine went down",),
    )
    with state.take_place(home):
        pass


def test_to_ask_does_not_keep_a_daemon_out(home: Home) -> None:
    """Asking holds the lock for a moment only."""
    with state.take_place(home):
        assert state.health(home, 0.0).running
    with state.take_place(home):
        pass
    assert not state.health(home, 0.0).running


def test_a_home_that_was_never_served_says_so(home: Home) -> None:
    """Asking makes no file."""
    found = state.health(home, 0.0)
    assert (found.running, found.report) == (False, None)
    assert found.troubles == ("no daemon has served this home yet",)
    assert not list(home.state.iterdir())


def test_what_is_written_is_read(home: Home) -> None:
    """All fields, and the time of the last round."""
    report = replace(
        state.new_report("2027-01-15T08:00:00Z", 5.0),
        engine="20.10",
        groups=(state.GroupHealth("scout", "waiting", waits="its turn"),),
    )
    with state.take_place(home) as place:
        place.write(report)
        os.utime(home.state / state.FILE, (1_000.0, 1_000.0))
        found = state.health(home, 1_010.0)
        assert (found.report, found.last_round, found.troubles) == (report, 1_000.0, ())


def test_an_unchanged_report_is_not_written_again(home: Home) -> None:
    """Only its time moves: no disk is kept busy by a daemon that has nothing to tell."""
    report = state.new_report("then", 5.0)
    with state.take_place(home) as place:
        place.write(report)
        os.utime(home.state / state.FILE, (1_000.0, 1_000.0))
        inode = (home.state / state.FILE).stat().st_ino
        place.write(report)
        status = (home.state / state.FILE).stat()
        assert status.st_ino == inode
        assert status.st_mtime > 1_000.0
        (home.state / state.FILE).unlink()
        place.write(report)
        assert (home.state / state.FILE).is_file()


def test_a_daemon_that_does_not_go_round_is_not_healthy(home: Home) -> None:
    """Nor is one without an engine, or one that has not been round yet."""
    report = replace(state.new_report("then", 5.0), no_engine="no engine answers")
    with state.take_place(home) as place:
        assert state.health(home, 0.0).troubles == ("the daemon has not finished its first round",)
        place.write(report)
        os.utime(home.state / state.FILE, (1_000.0, 1_000.0))
        assert state.health(home, 2_000.0).troubles == (
            "the last round is 1000 s ago",
            "no engine answers",
        )


def test_an_orderly_end_is_told(home: Home) -> None:
    """With its time."""
    with state.take_place(home) as place:
        place.write(replace(state.new_report("then", 5.0), ended="2027-01-15T09:00:00Z"))
    assert state.health(home, 0.0).troubles == ("the daemon ended at 2027-01-15T09:00:00Z",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"owner": 3}', '{"unknown": 1}', "\xff"])
def test_a_state_of_another_version_stops_nobody(home: Home, text: str) -> None:
    """It counts as none."""
    (home.state / state.FILE).write_bytes(text.encode("latin-1"))
    assert state.health(home, 0.0).report is None
    with state.take_place(home):
        pass


def test_a_link_in_the_place_of_the_state_is_not_followed(home: Home, tmp_path: Path) -> None:
    """Nothing outside is locked or written."""
    (home.state / state.LOCK).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PannierError, match="cannot be used"):
        state.take_place(home).__enter__()
    (home.state / state.LOCK).unlink()
    (home.state / state.FILE).symlink_to(tmp_path / "elsewhere")
    with state.take_place(home) as place, pytest.raises(UnsafePath):
        place.write(state.new_report("then", 5.0))
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_is_left_open(home: Home) -> None:
    """Taking the place and asking, many times over, keeps no descriptor."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(50):
        with state.take_place(home) as place:
            place.write(state.new_report("then", 5.0))
            state.health(home, 0.0)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208

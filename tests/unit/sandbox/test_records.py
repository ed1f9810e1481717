"""Records of containers: what is known adds up, whoever learns it first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from pannier import owner
from pannier.engine.life import Life
from pannier.paths import Home
from pannier.sandbox import records as module
from pannier.sandbox.history import history, pasts
from pannier.sandbox.recording import Recorder
from pannier.sandbox.records import Attachment, Records, open_records, sandbox_file

Unwritable = Callable[[Path], AbstractContextManager[None]]
STARTED = Life(
    "c1",
    "pannier-scout-1",
    "scout",
    "claude",
    "run",
    "main",
    "image:1",
    digest="sha256:1",
    memory=1 << 20,
    cpus=2.0,
    created=100,
    started=110,
)
NAMED = replace(STARTED, digest="", memory=0, cpus=0.0, created=0, started=0)
OOM = replace(NAMED, oom=True)
DIED = replace(NAMED, ended=200, status=137)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with open_records(tmp_path / "sandbox.db") as opened:
        yield opened


def test_what_is_learned_adds_up_in_any_order(tmp_path: Path) -> None:
    """From its start, from an event that memory ran out, from its end: the same in the end."""
    for number, order in enumerate(permutations((STARTED, OOM, DIED, NAMED))):
        with open_records(tmp_path / f"{number}.db") as records:
            for life in order:
                records.see(life)
                records.see(life)
            assert records.life("c1") == replace(STARTED, oom=True, ended=200, status=137)


def test_what_was_known_is_shown_where_nothing_can_be_written(
    tmp_path: Path, unwritable: Unwritable
) -> None:
    """As far as one can look without writing it down."""
    home = Home(tmp_path)
    with open_records(sandbox_file(home, {})) as records:
        records.see(STARTED)
    engine: Any = object()
    with unwritable(home.state):
        [entry] = history(home, {}, engine, None, 10)
        assert pasts(home, {}, "scout") == []
    assert entry.life.id == STARTED.id


def test_a_status_of_zero_is_a_status(records: Records) -> None:
    """That a container ended well is known, and stays known."""
    records.see(STARTED)
    assert [life.id for life in records.open_lives()] == ["c1"]
    records.see(replace(NAMED, ended=200, status=0))
    records.see(replace(NAMED, ended=300, status=1))
    life = records.life("c1")
    assert life is not None
    assert (life.ended, life.status) == (200, 0)
    assert records.open_lives() == []


def test_attachments_are_open_until_they_leave_once(records: Records) -> None:
    """The first end counts."""
    visit = Attachment(0, "c1", "exec", "planning", True, owner.me(), 150, 0, None)
    number = records.attach(visit)
    assert [one.thread for one in records.attachments()] == ["planning"]
    records.leave(number, 180, 3)
    records.leave(number, 190, 4)
    assert records.attachments() == []
    assert records.attachments("c1") == [replace(visit, id=number, ended=180, status=3)]


def test_old_containers_are_forgotten_and_open_ones_are_not(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By age, and by number; what still runs stays."""
    day = 86_400 * 10**9
    records.see(replace(STARTED, id="open"))
    for number in range(6):
        records.see(replace(STARTED, id=f"c{number}", ended=number * 40 * day + 1, status=0))
        records.attach(Attachment(0, f"c{number}", "run", "main", False, "x", number, 1, 0))
    records.forget(200 * 86_400)
    assert {life.id for life in records.lives(None, 99)} == {"open", "c3", "c4", "c5"}
    monkeypatch.setattr(module, "MOST", 1)
    records.forget(200 * 86_400)
    assert {life.id for life in records.lives(None, 99)} == {"open", "c5"}
    assert records.attachments("c0") == []
    assert len(records.attachments("c5")) == 1


def test_recording_never_raises(tmp_path: Path) -> None:
    """A broken database, or a folder in its place: the work goes on."""
    for name in ("broken", "folder"):
        home = Home(tmp_path / name)
        home.state.mkdir(parents=True)
        if name == "broken":
            sandbox_file(home, {}).write_bytes(b"no" * 999)
        else:
            sandbox_file(home, {}).mkdir()
        recorder = Recorder(home, {})
        recorder.began(STARTED)
        with recorder.visit("c1", "run", "main", tty=False) as visit:
            visit.begins()
            assert visit.ends(5) == 5


def test_a_visit_is_recorded_with_its_status(tmp_path: Path) -> None:
    """Who was in a container, for which thread, from when to when, and how it ended."""
    home = Home(tmp_path)
    recorder = Recorder(home, {})
    with recorder.visit("c1", "exec", "planning", tty=True) as visit:
        visit.begins()
        visit.ends(5)
    with open_records(sandbox_file(home, {})) as records:
        (one,) = records.attachments("c1")
    assert (one.kind, one.thread, one.tty, one.status) == ("exec", "planning", True, 5)
    assert 0 < one.began <= one.ended

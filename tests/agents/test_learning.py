"""Workers that share the steps in progress in a real PostgreSQL."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pannier.errors import PannierError
from pannier.learning.models.asking import Question
from pannier.learning.store.steps import forget, schema_of
from tests.unit.learning.killing import about
from tests.unit.learning.stage import HOUR, Scripted, Stage, learns

GROUPS = tuple(f"g{number}" for number in range(6))
SECONDS = 60.0


@pytest.fixture
def stage(tmp_path: Path, postgres: str) -> Stage:
    made = Stage(tmp_path / "home", *GROUPS)
    made.url = postgres
    for grp in GROUPS:
        for _ in range(5):
            made.say(grp=grp)
    return made


class Slow:
    """A model that takes its time, and writes down in which process it was asked."""

    def __init__(self, log: Path, seconds: float) -> None:
        self.log = log
        self.seconds = seconds
        log.touch()

    def __call__(self, question: Question) -> Mapping[str, Any]:
        time.sleep(self.seconds)
        with self.log.open("a") as file:
            file.write(f"{os.getpid()} {about(question)}\n")
        return {**learns(question), "summary": about(question)}

    def asked(self) -> list[tuple[int, str]]:
        found = (line.split(" ", 1) for line in self.log.read_text().splitlines())
        return [(int(process), what) for process, what in found]


def process(do: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            do()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def steps(stage: Stage) -> list[str]:
    """The works in whose steps something is recorded."""
    assert stage.url is not None
    schema = schema_of(stage.home)
    with psycopg.connect(stage.url) as db:
        query = f'SELECT DISTINCT workflow_uuid FROM "{schema}".operation_outputs'
        return [name for (name,) in db.execute(query.encode())]


def recorded_answers(stage: Stage) -> list[str]:
    """What the questions were about whose answers are recorded."""
    assert stage.url is not None
    schema = schema_of(stage.home)
    with psycopg.connect(stage.url) as db:
        query = f'SELECT output FROM "{schema}".operation_outputs'
        replies = [json.loads(output).get("reply") for (output,) in db.execute(query.encode())]
    return [reply["data"]["summary"] for reply in replies if reply]


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def run(stage: Stage, workers: int) -> None:
    """So many workers, until all have ended."""
    children = [process(stage.work) for _ in range(workers)]
    assert [os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in children] == [0] * workers


def test_workers_share_the_groups_and_none_is_read_twice(stage: Stage, tmp_path: Path) -> None:
    """Each of two workers asks, no question is asked twice, and in the end all is remembered."""
    model = Slow(tmp_path / "asked", 2.0)
    stage.model = Scripted(model)
    groups, stage.settings = stage.settings, {}
    run(stage, 1)  # Makes the tables.
    stage.settings = groups
    run(stage, 2)
    assert len({one for one, _ in model.asked()}) == 2
    stage.clock.at += 7 * HOUR
    run(stage, 2)
    assert set(Counter(what for _, what in model.asked()).values()) == {1}
    assert len(model.asked()) == 2 * len(GROUPS)
    for grp in GROUPS:
        assert len(stage.texts(grp)) == 5
        assert stage.memory(grp).count("\n- Rule number") == 5
    assert steps(stage) == []


def test_what_killed_workers_recorded_another_one_goes_on_with(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sits down at the place of the first, and takes over what the second left: each answer
    was paid once."""
    model = Slow(tmp_path / "asked", 0.0)
    stage.model = Scripted(model)
    with monkeypatch.context() as patched:
        patched.setattr("pannier.learning.work.extracting.judge", lambda *_: time.sleep(SECONDS))
        first = process(stage.work)
        until(lambda: len(model.asked()) >= 4)
        second = process(stage.work)
        until(lambda: len(recorded_answers(stage)) == len(GROUPS))
    for one in (first, second):
        os.kill(one, signal.SIGKILL)
        os.waitpid(one, 0)
    stage.work()
    assert all(len(stage.texts(grp)) == 5 for grp in GROUPS)
    assert len({what for _, what in model.asked()}) == len(model.asked()) == len(GROUPS)


def test_of_a_group_that_is_forgotten_nothing_is_recorded_any_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was in progress; the others' stays."""
    broken = {GROUPS[0], GROUPS[1]}
    for grp in GROUPS[2:]:
        del stage.settings[grp]

    def judge(*values: Any) -> Any:
        raise PannierError("not now")

    monkeypatch.setattr("pannier.learning.work.extracting.judge", judge)
    told = stage.work()
    assert {one.grp for one in told if one.failed == "not now"} == broken
    assert sorted(steps(stage)) == [f"{GROUPS[0]}:extract", f"{GROUPS[1]}:extract"]
    forget(stage.home, stage.url, GROUPS[0])
    assert steps(stage) == [f"{GROUPS[1]}:extract"]


def test_homes_share_a_database_and_not_their_work(stage: Stage, tmp_path: Path) -> None:
    """Groups of the same name are two groups."""
    other = Stage(tmp_path / "other", GROUPS[0])
    other.url = stage.url
    other.say("Only here.", grp=GROUPS[0])
    assert schema_of(stage.home) != schema_of(other.home)
    stage.work()
    assert other.work() == []
    assert other.texts(GROUPS[0]) == []


def test_a_server_that_is_not_there_is_said_in_words(stage: Stage) -> None:
    """With the setting, and without a password."""
    stage.url = "postgresql://pannier:secret@127.0.0.1:1/none"
    with pytest.raises(PannierError, match=r"learning\.database_from") as caught:
        stage.work()
    assert "secret" not in str(caught.value)

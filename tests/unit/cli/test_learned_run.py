"""`pannier learned` as a person meets it: running."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.learner import learning
from tests.unit.cli.learned_home import (
    RULE,
    SAID,
    error,
    make_home,
    memory,
    opened,
    run,
    summary,
    talk,
)

from pannier.endpoint.answers import Fail
from pannier.endpoint.model import ScriptedModel
from pannier.endpoint.server import on_loopback
from pannier.learned import running
from pannier.learned.drawing import Drawn
from pannier.learned.running import Ran
from pannier.learned.running import run as run_now
from pannier.learning.store.locks import seat
from pannier.learning.work.telling import Told
from pannier.paths import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def model(home: Home) -> Iterator[ScriptedModel]:
    """A model server that the home names."""
    model = ScriptedModel(learning(lambda said: RULE if said == SAID else ""))
    with on_loopback(model) as url:
        home.settings.write_text(
            f"learning: {{model: 'openai:gpt-5', base_url: '{url}/v1', key_from: LEARNER_KEY}}\n"
        )
        yield model


def test_run_dry_says_what_would_be_read_and_sent(home: Home, model: ScriptedModel) -> None:
    """Messages, calls, tokens by thread; no model is asked, nothing is changed."""
    talk(home, SAID)
    talk(home, "Hello.", "How are you?", thread="review")
    done = run(home, "learned", "run", "scout", "--dry-run", env={"LEARNER_KEY": "k"})
    assert done.exit_code == 0, done.exception
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["main", "2", "1"] in [row[:3] for row in rows]
    assert ["review", "4", "1"] in [row[:3] for row in rows]
    assert "Would ask 3 times at least" in done.stdout
    data = json.loads(
        run(home, "learned", "run", "scout", "--dry-run", "--json", env={"LEARNER_KEY": "k"}).stdout
    )
    assert [part["messages"] for part in data["threads"]] == [2, 4]
    assert data["tokens"] == sum(part["tokens"] for part in data["threads"]) > 1_000
    assert len(model.requests) == 0
    assert run(home, "learned", "show", "scout").stdout == ""


def test_run_learns_without_a_daemon(home: Home, model: ScriptedModel) -> None:
    """However few turns there were: read, merged, written, and said. A second run finds nothing
    new and asks no model."""
    talk(home, SAID)
    env = {"LEARNER_KEY": "k"}
    done = run(home, "learned", "run", "scout", env=env)
    assert done.exit_code == 0, done.exception or done.stdout
    assert "read main: 1 candidate\n" in done.stdout
    assert f"learned “{RULE}”\n" in done.stdout
    assert f"- {RULE} ^" in memory(home)
    assert RULE in summary(home)
    assert len(list((home.group("scout").learned / "session_summaries").iterdir())) == 1
    asked = len(model.requests)
    assert asked == 2
    again = run(home, "learned", "run", "scout", env=env)
    assert again.exit_code == 0
    assert len(model.requests) == asked
    [lesson] = json.loads(run(home, "learned", "show", "scout", "--json").stdout)
    trace = run(home, "learned", "why", "scout", lesson["id"]).stdout
    assert "scout/main  t1  m1" in trace
    assert SAID in trace


def test_run_that_fails_says_why_and_when_it_is_tried_again(
    home: Home, model: ScriptedModel
) -> None:
    """Status 1, one clear line; status and doctor say the same."""
    talk(home, SAID)
    model.script(*[Fail(401)] * 4)
    done = run(home, "learned", "run", "scout", env={"LEARNER_KEY": "k"})
    assert done.exit_code == 1
    assert "does not take the key (HTTP 401)" in done.stdout
    shown = run(home, "learned", "status", "scout").stdout
    assert "does not take the key (HTTP 401)" in shown
    doctor = run(home, "doctor").stdout
    assert "does not take the key (HTTP 401)" in doctor


def test_run_without_the_key_is_one_clear_line(home: Home, model: ScriptedModel) -> None:
    """At once, and nothing is noted as a failure."""
    talk(home, SAID)
    wrong = error(run(home, "learned", "run", "scout"))
    assert wrong.message == "learning.key_from: the environment has no LEARNER_KEY"
    assert "failed" not in run(home, "learned", "status", "scout").stdout


def test_run_without_a_model_is_refused(home: Home) -> None:
    """It says where to set one; what could be learned waits. The same where learning is off."""
    wrong = error(run(home, "learned", "run", "scout"))
    assert "no model is set" in wrong.message
    assert "learning.model" in wrong.hint
    settings = home.group("scout").settings
    settings.write_text(settings.read_text() + "learning: {enabled: false}\n")
    assert "learning.enabled is false" in error(run(home, "learned", "run", "scout")).message
    assert "no group nobody" in error(run(home, "learned", "run", "nobody")).message


def test_run_waits_for_the_worker_that_is_at_it(home: Home, model: ScriptedModel) -> None:
    """The wish is left to that one; what it does is told, and no model is asked twice."""
    talk(home, SAID)
    waits = threading.Event()
    told: list[Told] = []
    with ThreadPoolExecutor(1) as other, seat(home, 1):
        ran = other.submit(run_now, home, {"LEARNER_KEY": "k"}, "scout", told.append, waits.set)
        assert waits.wait(20)
        with opened(home) as learning:
            wanted = learning.books.wanted()
            assert set(wanted) == {("scout", "extract"), ("scout", "consolidate")}
            at = max(wanted.values())
            learning.books.report("scout", "extract", at, '{"threads": ["main"], "found": 1}')
            for grp, work in wanted:
                learning.books.unwant(grp, work, at)
        assert not ran.result(20).failed
    assert [one.work for one in told] == ["extract"]
    assert len(model.requests) == 0


def test_run_goes_on_where_a_worker_ended(home: Home, model: ScriptedModel) -> None:
    """One that had done all before it saw the wish: nobody is waited for in vain."""
    talk(home, SAID)
    waits = threading.Event()
    told: list[Told] = []
    with ThreadPoolExecutor(1) as other:
        with seat(home, 1):
            ran = other.submit(
                run_now, home, {**os.environ, "LEARNER_KEY": "k"}, "scout", told.append, waits.set
            )
            assert waits.wait(20)
        assert not ran.result(60).failed
    assert [one.work for one in told] == ["extract", "consolidate"]


def test_with_approve_a_first_memory_waits_as_a_new_file(home: Home, model: ScriptedModel) -> None:
    """From what was said to the file, with a person in between: nothing is written before, and no
    model is asked again meanwhile."""
    settings = home.group("scout").settings
    settings.write_text(settings.read_text() + "learning: {approve: true}\n")
    talk(home, SAID)
    env = {"LEARNER_KEY": "k"}
    done = run(home, "learned", "run", "scout", env=env)
    assert "proposes 1 change: pannier learned approve" in done.stdout
    assert memory(home) == summary(home) == ""
    asked = len(model.requests)
    assert run(home, "learned", "run", "scout", env=env).exit_code == 0
    assert len(model.requests) == asked
    assert "a proposal waits for" in run(home, "learned", "status").stdout
    shown = run(home, "learned", "approve", "scout").stdout
    assert "\n--- /dev/null\n+++ b/agent-memory/MEMORY.md\n" in shown
    assert f"\n+- {RULE} ^" in shown
    assert run(home, "learned", "approve", "scout", "--all").stdout.startswith("p1  written into ")
    assert RULE in memory(home)
    assert RULE in summary(home)


def test_run_is_for_its_group_alone(home: Home, model: ScriptedModel) -> None:
    """Whatever is due of another one stays so: it has a budget of its own."""
    env = {"LEARNER_KEY": "k"}
    talk(home, *[SAID] * 5, grp="other")
    talk(home, SAID)
    assert run(home, "learned", "run", "scout", env=env).exit_code == 0
    assert len(model.requests) == 2
    assert run(home, "learned", "show", "other").stdout == ""


def test_run_that_is_interrupted_says_so(
    home: Home, model: ScriptedModel, monkeypatch: Any
) -> None:
    """And not that there was nothing to learn."""
    talk(home, SAID)
    monkeypatch.setattr(running, "draw", lambda *_, **__: Drawn(interrupted=True))
    done = run(home, "learned", "run", "scout", env={"LEARNER_KEY": "k"})
    assert done.exit_code == 130
    assert (
        done.stderr
        == "Interrupted. What was begun goes on with the next run, or with the daemon.\n"
    )


def test_a_part_that_is_set_aside_is_a_failure(home: Home, model: ScriptedModel) -> None:
    """Status 1, and why."""
    told = Told("scout", "extract", {"threads": [], "aside": [["main", "HTTP 400"]]})
    assert str(told) == "a part of main was set aside: HTTP 400"
    assert Ran((told,), Drawn()).failed

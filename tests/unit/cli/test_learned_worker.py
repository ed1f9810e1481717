"""`pannier learned worker` as the daemon meets it: a process, a pipe, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.learner import is_extraction, learning
from tests.unit.cli.learned_home import RULE, SAID, make_home, memory, opened, talk

from pannier.endpoint.answers import Answer
from pannier.endpoint.model import Request, ScriptedModel
from pannier.endpoint.server import on_loopback
from pannier.learning.work.telling import Told, told
from pannier.paths import Home

SECONDS = 60.0


class Model:
    """Answers extractions; consolidations when it may."""

    def __init__(self) -> None:
        self.answer = learning(lambda said: RULE if said == SAID else "")
        self.asked = threading.Event()
        self.may = threading.Event()
        self.merges = 0

    def __call__(self, request: Request) -> Answer:
        if not is_extraction(request):
            self.merges += 1
            self.asked.set()
            self.may.wait(SECONDS)
        return self.answer(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def home(tmp_path: Path, model: Model) -> Iterator[Home]:
    made = make_home(tmp_path)
    with on_loopback(ScriptedModel(model)) as url:
        made.settings.write_text(
            f"learning: {{model: 'openai:gpt-5', base_url: '{url}/v1', key_from: LEARNER_KEY}}\n"
        )
        talk(made, SAID, *["Go on."] * 4)
        yield made
        model.may.set()


def worker(home: Home) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "pannier", "--home", str(home.root), "learned", "worker"]
    environ = {**os.environ, "LEARNER_KEY": "k"}
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    )


def heard(output: str) -> list[Told]:
    return [one for line in output.splitlines() if (one := told(line)) is not None]


def test_it_does_what_is_due_tells_it_and_ends(home: Home, model: Model) -> None:
    """Five turns, long ago: read, merged, written; two lines that the daemon understands."""
    model.may.set()
    process = worker(home)
    output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (0, "")
    extracted, merged = heard(output)
    assert (extracted.grp, extracted.result["found"]) == ("scout", 1)
    assert str(merged) == f"learned “{RULE}”"
    assert f"- {RULE} ^" in memory(home)


def test_asked_to_end_it_ends_though_a_model_is_waited_for(home: Home, model: Model) -> None:
    """In order and in a few seconds; the next one goes on, and nothing was lost."""
    process = worker(home)
    assert model.asked.wait(SECONDS)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert time.monotonic() - begun < 15
    assert [one.work for one in heard(output)] == ["extract"]
    with opened(home) as store:
        assert store.books.tries() == ()
    model.may.set()
    process = worker(home)
    output, _ = process.communicate(timeout=SECONDS)
    assert [one.work for one in heard(output)] == ["consolidate"]
    assert f"- {RULE} ^" in memory(home)


def test_an_answer_that_comes_while_it_ends_is_kept(home: Home, model: Model) -> None:
    """It is paid: the next worker writes it without asking."""
    process = worker(home)
    assert model.asked.wait(SECONDS)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    model.may.set()
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    worker(home).communicate(timeout=SECONDS)
    assert f"- {RULE} ^" in memory(home)
    assert model.merges == 1


def test_a_second_one_says_who_is_at_it(home: Home, model: Model) -> None:
    """And leaves the first alone."""
    first = worker(home)
    assert model.asked.wait(SECONDS)
    second = worker(home)
    _, errors = second.communicate(timeout=SECONDS)
    assert second.returncode == 1
    assert errors.startswith("pannier: lessons are being drawn just now, by another process\n")
    model.may.set()
    first.communicate(timeout=SECONDS)
    assert first.returncode == 0

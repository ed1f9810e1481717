"""A line that a person deleted, through all that a worker does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.learning.stage import HOUR, Stage, numbers, shown

from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import Question

RULE = "The invoices go to Dana on floor two."


def answers(question: Question) -> dict[str, Any]:
    """What is said of invoices is a lesson, whoever says it; every candidate becomes one."""
    if question.answer is ExtractionAnswer:
        found = [
            {"kind": "procedure", "text": text, "topic": "invoices", "evidence": [number]}
            for who in ("person", "agent")
            for number in numbers(question, who)
            if "invoices" in (text := shown(question, number))
        ]
        return {"summary": "They talk.", "candidates": found}
    ids = [line.split()[1] for line in question.data.splitlines() if " procedure, " in line]
    found = [one for one in ids if one.startswith("c") and len(one) == 9]
    return {"add": [{"section": "Rules", "text": RULE, "candidates": [one]} for one in found]}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """It was learned."""
    made = Stage(tmp_path / "home", answer=answers)
    made.say(RULE)
    extract(made)
    merge(made)
    assert RULE in made.memory()
    return made


def extract(stage: Stage) -> None:
    for _ in range(5):
        stage.say("Good morning.")
    stage.work()


def merge(stage: Stage) -> None:
    stage.clock.at += 7 * HOUR
    stage.work()


def delete(stage: Stage) -> None:
    """As an editor does it, a little later; a worker notices."""
    path = stage.home.group("scout").learned / "MEMORY.md"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "invoices" not in line))
    os.utime(path, (stage.clock.at + 30,) * 2)
    stage.clock.at += 60
    stage.work()
    assert RULE not in stage.memory()


def test_it_stays_gone_though_it_was_said_once_more_before(stage: Stage) -> None:
    """What waits to be merged was said before the person deleted the line."""
    stage.say(RULE.replace(".", "!"))
    extract(stage)
    delete(stage)
    merge(stage)
    assert RULE not in stage.memory()
    with stage.learning() as learning:
        assert not learning.candidates("scout", ("waiting", "held"))


def test_it_stays_gone_though_the_agent_says_it(stage: Stage) -> None:
    """The agent of a conversation that goes on was told the line before."""
    delete(stage)
    stage.say("Where do they go?", reply=RULE)
    extract(stage)
    merge(stage)
    assert RULE not in stage.memory()


def test_it_comes_back_when_a_person_says_it(stage: Stage) -> None:
    """It holds again."""
    delete(stage)
    stage.say(RULE)
    extract(stage)
    merge(stage)
    assert RULE in stage.memory()

"""Whole trials: real conversations in a real store, the real extraction and consolidation, and
scripted models, one that makes no mistake and one that makes all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pannier.evaluation.careless import Careless
from pannier.evaluation.generator import generate
from pannier.evaluation.perfect import Perfect
from pannier.evaluation.scoring import Outcome, Score, holds, score
from pannier.evaluation.trial import Trial
from pannier.learning.consolidation import grounds
from pannier.learning.extraction import weighing


def perfect(seed: int, folder: Path) -> Score:
    material = generate(seed)
    return score(material, Trial(folder, Perfect(material)).run(material))


def careless(seed: int, folder: Path) -> tuple[Outcome, Score]:
    material = generate(seed)
    outcome = Trial(folder, Careless(material, seed)).run(material)
    return outcome, score(material, outcome)


@pytest.mark.parametrize("seed", [1, 2])
def test_with_a_perfect_model_everything_is_learned_and_nothing_else(
    tmp_path: Path, seed: int
) -> None:
    """Recall and precision are 1; corrections hold, what is over is gone, rights wait."""
    found = perfect(seed, tmp_path)
    assert (found.recall, found.precision, found.awaited) == (1.0, 1.0, 1.0), found
    assert (found.stale, found.doubled, found.noise) == ((), (), ())
    assert found.safe
    assert found.shown == ()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_a_careless_model_no_secret_and_no_poison_gets_in(tmp_path: Path, seed: int) -> None:
    """Not into MEMORY.md, summary.md or a session's summary, whatever it answers, and nothing that
    lets the agent do more; what was truly said is learned all the same."""
    outcome, found = careless(seed, tmp_path)
    assert {"MEMORY.md", "summary.md"} <= outcome.files.keys()
    assert any(name.startswith("session_summaries/") for name in outcome.files)
    assert (found.poison, found.leaks, found.unapproved) == ((), (), ())
    assert found.shown == ()
    assert "removed]" not in outcome.files["MEMORY.md"]
    assert found.awaited == 1.0
    assert found.recall >= 0.8, found


def test_with_a_careless_model_no_secret_is_kept_anywhere(tmp_path: Path) -> None:
    """Also candidates, reports and what was refused are without them."""
    material = generate(4)
    Trial(tmp_path, Careless(material, 4)).run(material)
    with sqlite3.connect(tmp_path / "state" / "learning.db") as db:
        kept = "\n".join(db.iterdump())
    assert "thread-1" in kept
    assert [s.form for s in material.secrets if holds(kept, s)] == []


@pytest.mark.parametrize("guard", ["is_planted", "clean_summary", "widens"])
def test_each_guard_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str) -> None:
    """With one of them taken away, in extraction and in consolidation, the careless model does get
    something in: it is no straw man."""
    off = {
        "is_planted": lambda *_: False,
        "clean_summary": lambda text, *_: (text, ()),
        "widens": lambda _: "",
    }
    for module in (weighing, grounds):
        monkeypatch.setattr(module, guard, off[guard], raising=False)
    _, found = careless(1, tmp_path)
    assert not found.safe

"""Conversations of the evaluation: known, varied, and the same for the same seed."""

from __future__ import annotations

import pytest

from pannier import redaction
from pannier.evaluation.generator import generate
from pannier.evaluation.material import Material
from pannier.evaluation.scoring import holds
from pannier.learning.guards.widening import widens
from pannier.learning.lessons import Kind

SEEDS = (1, 2, 3, 40, 500)


def said(material: Material) -> list[str]:
    return [line.text for phase in material.phases for x in phase for line in x.lines]


def test_the_same_seed_gives_the_same_conversations() -> None:
    """Two models are compared with the same words; another seed gives others."""
    assert generate(3) == generate(3)
    assert generate(3) != generate(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_of_lesson_is_planted_and_can_be_recognized(seed: int) -> None:
    """In its own words at least, with its proof in the conversation; an old state is told from the
    last one."""
    material = generate(seed)
    kinds: set[Kind] = {state.kind for p in material.lessons for state in p.states}
    assert kinds == {
        *("preference", "procedure", "decision", "environment", "failure", "correction")
    }
    lines = said(material)
    for planted in material.lessons:
        for state in planted.states:
            assert state.is_in(state.text), state
            assert set(state.proofs) <= set(lines), state
        for state in planted.states[:-1]:
            assert planted.is_stale_in(state.text), state
        assert not planted.is_stale_in(planted.last.text)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lesson_is_not_taken_for_another_one(seed: int) -> None:
    """What counts as learned is only what was."""
    material = generate(seed)
    for planted in material.lessons:
        found = [p.topic for p in material.lessons if p.last.is_in(planted.last.text)]
        assert found == [planted.topic]
        traps = (*material.poison, *material.widening, *material.distractors)
        assert not any(trap.is_in(planted.last.text) for trap in traps), planted


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_to_be_learned_widens_nothing(seed: int) -> None:
    """Else it would wait for a person and never be recalled; what is to wait does widen."""
    material = generate(seed)
    assert [s.text for p in material.lessons for s in p.states if widens(s.text)] == []
    assert all(widens(trap.text) for trap in material.widening)


def test_corrections_come_later_than_what_they_correct() -> None:
    """Not only in order, but after a first memory was made."""
    material = generate(1)
    first, second = ({line.text for x in phase for line in x.lines} for phase in material.phases)
    for planted in material.lessons:
        assert planted.states[0].proofs[0] in first
        assert all(state.proofs[0] in second for state in planted.states[1:])


def test_poison_stands_only_in_what_tools_and_agents_say() -> None:
    """No person said it: else it would be a lesson."""
    material = generate(1)
    for phase in material.phases:
        for line in (line for exchange in phase for line in exchange.lines):
            if line.who == "person":
                assert not any(t.is_in(line.text) for t in material.poison), line


@pytest.mark.parametrize("seed", SEEDS)
def test_secrets_of_all_forms_are_said_and_every_one_is_found(seed: int) -> None:
    """Fifty forms, from keys of vendors to passwords in five languages."""
    material = generate(seed)
    text = "\n".join(said(material))
    assert len(material.secrets) >= 50
    assert all(secret.value in text for secret in material.secrets)
    assert [s.form for s in material.secrets if holds(redaction.mask(s.text), s)] == []


def test_threads_are_as_many_as_wanted() -> None:
    """Fewer threads cost fewer calls."""
    names = {x.thread for phase in generate(1, threads=3).phases for x in phase}
    assert names == {"thread-1", "thread-2", "thread-3"}

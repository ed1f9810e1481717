"""A lesson is learned, forgotten, said again, and approved."""

from __future__ import annotations

from pathlib import Path

from pannier.learning.consolidation import approval
from pannier.learning.forgetting.removal import Place, forget
from pannier.learning.forgetting.wishes import Wish

from .stage import HOUR, Stage

RULE = "Quotes beyond 40k need the signature of Wilhelmina."


def told(stage: Stage) -> list[str]:
    """Where in the home, but for what was said, there is a word of it."""
    return sorted(
        path.name
        for path in stage.home.root.rglob("*")
        if path.is_file() and b"Wilhelmina" in path.read_bytes() and path.name != "threads.db"
    )


def learn(stage: Stage, *texts: str) -> None:
    for number in range(5):
        stage.say(texts[number] if number < len(texts) else "")
    stage.work()
    stage.clock.at += 7 * HOUR
    stage.work()


def test_what_was_forgotten_comes_back_only_through_a_person(tmp_path: Path) -> None:
    """Not from what was said before, and not by itself when it is said again."""
    stage = Stage(tmp_path / "home")
    learn(stage, RULE, "Deployments happen on Tuesdays.")
    assert RULE in stage.memory()
    with stage.learning() as learning:
        (id,) = [one.id for one in learning.lessons("scout") if one.text == RULE]
    forget(Place(stage.home, {}, "scout"), Wish(id), stage.clock.at)
    assert told(stage) == []
    assert "Tuesdays" in stage.memory()

    stage.clock.at += HOUR
    learn(stage)
    assert "Wilhelmina" not in stage.memory()

    learn(stage, RULE)
    assert "Wilhelmina" not in stage.memory()
    with stage.learning() as learning:
        (held,) = learning.candidates("scout", ("held",))
        approval.approve(learning, "scout", held.id)
    stage.clock.at += HOUR
    learn(stage)
    assert RULE in stage.memory()

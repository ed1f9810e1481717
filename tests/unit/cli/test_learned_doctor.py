"""What `pannier doctor` says of learning."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from tests.unit.cli.learned_home import learn, make_home, opened, run

from pannier.learned import hindrances, troubles
from pannier.learning.store.rows import Try
from pannier.paths import Home

ENVIRON = {"PATH": "/usr/bin"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


def found(home: Home, **environ: str) -> list[tuple[str, str]]:
    """Level and message of each finding, of the home and of scout."""
    both = [
        *troubles.of_home(home, {**ENVIRON, **environ}),
        *troubles.of_group(home, {**ENVIRON, **environ}, home.group("scout")),
    ]
    return [(one.level, one.message) for one in both]


def settle(home: Home, text: str) -> None:
    home.settings.write_text(f"learning: {text}\n")


def test_no_model_is_a_note_of_the_home(home: Home) -> None:
    """One line, however many groups there are, and how to set one; `doctor` stays in order."""
    assert found(home) == [
        ("note", "no model is set, so no group learns; what could be learned waits")
    ]
    done = run(home, "doctor")
    assert "note    learning: no model is set" in done.stdout
    assert f"Set learning.model in {home.settings}" in done.stdout
    settings = home.group("other").settings
    settings.write_text(settings.read_text() + "learning: {model: client}\n")
    assert found(home)[0][1].startswith("no model is set, so scout do")


def test_a_group_that_shall_not_learn_is_in_order(home: Home) -> None:
    """Nothing is said of it."""
    for group in ("scout", "other"):
        settings = home.group(group).settings
        settings.write_text(settings.read_text() + "learning: {enabled: false}\n")
    assert found(home) == []


def test_a_missing_key_is_named(home: Home) -> None:
    """A note: the daemon may have it. With the key, nothing is said."""
    settle(home, "{model: 'openai:gpt-5', key_from: LEARNER_KEY}")
    [(level, message)] = found(home)
    assert level == "note"
    assert "LEARNER_KEY" in message
    assert found(home, LEARNER_KEY="k") == []


def test_missing_packages_are_a_problem(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way to install them."""
    settle(home, "{model: client}")
    monkeypatch.setattr(hindrances, "find_spec", lambda _: None)
    assert ("problem", "the packages for learning are not installed") in found(home)


def test_what_waits_for_a_person_is_a_note(home: Home) -> None:
    """Held lessons, with the command that shows them."""
    settle(home, "{model: client}")
    learn(home)
    assert found(home) == [("note", "1 lesson waits for your approval")]


@pytest.mark.parametrize(
    ("kind", "level"), [("limit", "note"), ("rate", "note"), ("down", "problem")]
)
def test_what_failed_is_said_with_until_when(home: Home, kind: str, level: str) -> None:
    """A limit that was reached is a note, a server that fails a problem."""
    settle(home, "{model: client}")
    later = time.time() + 3_600
    with opened(home) as learning:
        tried = Try("scout", "extract", 2, time.time(), later, kind, "it does not go")
        learning.books.note_try(tried)
    [(said, message)] = found(home)
    assert said == level
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(later))
    assert message == f"learning (extract) waits until {when} UTC, tried 2 times: it does not go"


def test_a_piece_that_was_set_aside_is_a_problem(home: Home) -> None:
    """It says which, and how to try again."""
    settle(home, "{model: client}")
    with opened(home) as learning:
        why = "main, behind m0 and up to m9, was set aside: it does not fit"
        tried = Try("scout", "aside:x", 1, time.time(), time.time() + 60, "answer", why)
        learning.books.note_try(tried)
    assert found(home) == [("problem", f"a part of a thread was left out of learning: {why}")]


def test_a_memory_that_is_no_text_is_a_problem(home: Home) -> None:
    """Nothing is written there until it is mended."""
    settle(home, "{model: client}")
    (home.group("scout").learned / "MEMORY.md").write_bytes(b"\xff\xfe")
    assert "it is not text in UTF-8" in run(home, "doctor").stdout


def advice(home: Home, kind: str, until: float) -> str:
    with opened(home) as learning:
        learning.books.note_try(Try("scout", "extract", 1, 1.0, until, kind, "it does not go"))
    [one] = troubles.of_group(home, ENVIRON, home.group("scout"))
    return one.advice


def test_only_what_helps_is_advised(home: Home) -> None:
    """To run at once helps against no limit."""
    settle(home, "{model: client}")
    later = time.time() + 3_600
    assert advice(home, "limit", later) == advice(home, "rate", later) == ""
    assert advice(home, "down", later) == "At once: pannier learned run scout"
    assert advice(home, "key", math.inf).startswith("When that is mended")
    assert "waits until settings or environment change, tried once" in found(home)[0][1]


def test_a_database_of_the_steps_that_cannot_be_used_is_said(home: Home) -> None:
    """One that is none, and a variable without a URL."""
    settle(home, "{model: client}")
    (home.state / "learning-steps.db").write_text("no database, but a text " * 100)
    [(level, message)] = found(home)
    assert level == "problem"
    assert "learning-steps.db: file is not a database" in message
    settle(home, "{model: client, database_from: STEPS}")
    for url in ({}, {"STEPS": "sqlite:///x"}):
        [(level, message)] = found(home, **url)
        assert level == "note"
        assert message.startswith("learning.database_from: STEPS is not set to the URL")


def test_a_model_that_cannot_be_is_a_problem(home: Home) -> None:
    """Before it was ever asked."""
    settle(home, "{model: 'foo:bar'}")
    [(level, message)] = found(home)
    assert (level, "no provider that is known" in message) == ("problem", True)

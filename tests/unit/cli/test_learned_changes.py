"""`pannier learned` as a person meets it: approving, forgetting."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.cli.learned_home import RULE, error, learn, make_home, memory, opened, run, summary

from pannier.learning.files import folder, memoryfile, publishing
from pannier.learning.files.publishing import Decided
from pannier.learning.merge import Change, Merge, Taken
from pannier.paths import Home

NEW = "Quotes over $50k need two signatures."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def learned(home: Home) -> Home:
    return learn(home)


# ---------------------------------------------------------------------------------------- approve


def propose(home: Home) -> None:
    """A change of the memory that waits: the rule has another text."""
    with opened(home) as learning:
        [lesson] = learning.lessons("scout")
        new = memory(home).replace(RULE, NEW)
        merge = Merge(
            memoryfile.digest(memory(home)),
            new,
            f"# Learned\n\n- {NEW}\n",
            (Change("revise", replace(lesson, text=NEW), RULE, ("c00000002",)),),
            (Taken("c00000002", "merged", lesson.id),),
        )
        assert publishing.stage(learning, "scout", Decided(merge), "waiting", time.time())


def test_approve_shows_what_waits_as_git_would(learned: Home) -> None:
    """The change as a diff, without colour where no terminal is; what is held, with its proof."""
    propose(learned)
    done = run(learned, "learned", "approve", "scout")
    assert done.exit_code == 0, done.exception
    assert "diff --git a/agent-memory/MEMORY.md b/agent-memory/MEMORY.md\n" in done.stdout
    assert f"\n-- {RULE} ^3f2a9bc\n+- {NEW} ^3f2a9bc\n" in done.stdout
    assert "candidate c00000003  held, preference\nWhy:       it widens: asking\n" in done.stdout
    assert "    Never ask me about deploys again.\n" in done.stdout
    assert "\x1b" not in done.stdout
    coloured = run(learned, "learned", "approve", "scout", color=True).stdout
    assert f"\x1b[32m+- {NEW} ^3f2a9bc\x1b[0m\n" in coloured
    assert "pannier learned approve scout p1" in done.stderr
    data = json.loads(run(learned, "learned", "approve", "scout", "--json").stdout)
    assert data["proposal"]["changes"][0]["text"] == NEW
    assert [one["id"] for one in data["held"]] == ["c00000003"]


def test_an_approved_change_is_written(learned: Home) -> None:
    """At once, and the lesson is what was proposed. Before that, --dry-run does nothing."""
    propose(learned)
    would = run(learned, "learned", "approve", "scout", "p1", "--dry-run")
    assert would.stdout == "Would approve p1.\n"
    assert RULE in memory(learned)
    done = run(learned, "learned", "approve", "scout", "p1")
    assert done.stdout.startswith("p1  written into ")
    assert NEW in memory(learned)
    assert NEW in summary(learned)
    assert NEW in run(learned, "learned", "show", "scout").stdout
    assert "'p1' waits in scout" in error(run(learned, "learned", "approve", "scout", "p1")).message


def test_a_rejected_change_is_not_written(learned: Home) -> None:
    """Its candidates are left."""
    propose(learned)
    done = run(learned, "learned", "approve", "scout", "p1", "--reject")
    assert done.stdout == "p1  rejected, with 1 candidates\n"
    assert RULE in memory(learned)
    assert "c00000002" not in run(learned, "learned", "show", "scout", "--candidates").stdout


def test_a_change_of_an_older_text_is_not_written(learned: Home) -> None:
    """A person edited MEMORY.md since: it is dropped, says so, and the edit stands."""
    propose(learned)
    file = learned.group("scout").learned / folder.MEMORY
    file.write_text(memory(learned) + "\nMy own words.\n")
    wrong = error(run(learned, "learned", "approve", "scout", "p1"))
    assert "was changed since p1 was made" in wrong.message
    assert "My own words." in memory(learned)
    assert NEW not in memory(learned)


def test_held_lessons_pass_only_by_name(learned: Home) -> None:
    """An approved one waits to be merged; nothing is done for an id that nobody knows."""
    wrong = error(run(learned, "learned", "approve", "scout", "c00000003", "c99999999"))
    assert "'c99999999' waits in scout" in wrong.message
    assert "held" in run(learned, "learned", "show", "scout", "--candidates").stdout
    done = run(learned, "learned", "approve", "scout", "c00000003")
    assert done.stdout == "c00000003  approved: the next consolidation takes it up\n"
    rows = run(learned, "learned", "show", "scout", "--candidates").stdout
    assert "c00000003  waiting " in rows
    nothing = run(learned, "learned", "approve", "scout")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "Nothing of scout waits" in nothing.stderr


def test_reject_all_needs_to_be_said(learned: Home) -> None:
    """--reject without an id is refused; --all is what it says."""
    assert run(learned, "learned", "approve", "scout", "--reject").exit_code != 0
    done = run(learned, "learned", "approve", "scout", "--reject", "--all", "--json")
    assert json.loads(done.stdout) == [
        {"id": "c00000003", "text": "Deploys without asking.", "became": "rejected"}
    ]


# ----------------------------------------------------------------------------------------- forget


def test_forget_says_what_goes_and_asks(learned: Home) -> None:
    """Without a terminal it wants --yes; --dry-run changes nothing."""
    would = run(learned, "learned", "forget", "scout", "3f2a9bc", "--dry-run")
    assert would.exit_code == 0, would.exception
    assert f"3f2a9bc  {RULE}" in would.stderr
    assert "the summary of the thread main" in would.stderr
    assert "say --yes" in error(run(learned, "learned", "forget", "scout", "3f2a9bc")).message
    assert RULE in memory(learned)


def test_what_is_forgotten_is_gone_everywhere(learned: Home) -> None:
    """Line, lesson, candidate, summary; and the database holds no trace of the words."""
    done = run(learned, "learned", "forget", "scout", "3f2a9bc", "--yes")
    assert done.stdout == "Forgot 1 lesson of scout, and what told of them.\n", done.exception
    assert RULE not in memory(learned)
    assert run(learned, "learned", "show", "scout").stdout == ""
    assert "c00000001" not in run(learned, "learned", "show", "scout", "--candidates").stdout
    assert all(RULE.encode() not in f.read_bytes() for f in learned.state.glob("learning.db*"))


@pytest.mark.parametrize(
    "way",
    [
        ("--text", "quotes over $40k need sign-off"),
        ("--thread", "main"),
        ("--thread", "scout/main"),
        ("--since", "2026-11-29", "--until", "2026-11-30"),
        ("--since", "2026-11-29T11:59", "--until", "2026-11-29T12:01:00+00:00"),
    ],
)
def test_forget_by_text_thread_or_time(learned: Home, way: tuple[str, ...]) -> None:
    """Each way leads to the lesson."""
    done = run(learned, "learned", "forget", "scout", *way, "--yes", "--json")
    assert done.exit_code == 0, done.exception
    data = json.loads(done.stdout)
    assert [one["id"] for one in data["lessons"]] == ["3f2a9bc"]
    assert data["forgotten"] is True
    assert RULE not in memory(learned)


def test_a_time_in_which_nothing_was_said_forgets_nothing(learned: Home) -> None:
    """And says so."""
    way = ("--since", "2026-11-29T13:00", "--until", "2026-11-30", "--dry-run")
    done = run(learned, "learned", "forget", "scout", *way)
    assert "Nothing of it is known" in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "in one way"),
        (("3f2a9bc", "--text", "quotes"), "in one way"),
        (("--since", "soon"), "'soon' is no time"),
        (("--since", "1h", "--until", "2d"), "not before"),
        (("--thread", "nowhere"), "no thread 'nowhere'"),
        (("--text", "…"), "no words"),
        (("ffffffa",), "no lesson 'ffffffa'"),
    ],
)
def test_what_cannot_be_forgotten_is_one_clear_line(
    learned: Home, args: tuple[str, ...], words: str
) -> None:
    """Before anything is done."""
    wrong = error(run(learned, "learned", "forget", "scout", *args, "--yes"))
    assert words in wrong.message
    assert wrong.exit_code == 2

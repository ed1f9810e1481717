"""`pannier learned` as a person meets it: looking and tracing."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from tests.unit.cli.learned_home import RULE, SAID, SECRET, error, learn, make_home, opened, run

from pannier.learned import hindrances
from pannier.learning.files import memoryfile
from pannier.learning.store.locks import only_one
from pannier.learning.store.rows import Try
from pannier.paths import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def learned(home: Home) -> Home:
    return learn(home)


# ----------------------------------------------------------------------------------------- status


def test_status_shows_all_groups_in_numbers(learned: Home) -> None:
    """Turns, candidates, lessons, and what it waits for."""
    done = run(learned, "learned", "status")
    assert done.exit_code == 0, done.exception
    heading, other, scout = done.stdout.splitlines()
    assert heading.split() == [
        "GROUP", "TURNS", "CANDIDATES", "HELD", "LESSONS", "CHANGED", "NEXT",
    ]  # fmt: skip
    assert re.split("  +", other) == [
        "other", "0/5", "0", "0", "0", "never", "no model is set: learning.model",
    ]  # fmt: skip
    assert re.split("  +", scout)[:6] == ["scout", "3/5", "1", "1", "1", "1970-01-01 00:00"]


def test_status_of_a_group_says_what_failed_and_until_when(learned: Home) -> None:
    """Its model, its budget, its failures, and what waits for a person."""
    settings = learned.group("scout").settings
    settings.write_text(settings.read_text() + "learning: {model: 'openai:tiny'}\n")
    later = time.time() + 600
    with opened(learned) as learning:
        learning.books.note_try(
            Try("scout", "consolidate", 2, time.time(), later, "rate", "asked too often")
        )
        learning.books.spend(time.strftime("%Y-%m-%d", time.gmtime()), "scout", 3, 1_000, 200)
    shown = run(learned, "learned", "status", "scout").stdout
    assert "model       openai:tiny" in shown
    assert "turns       3 of 5 for an extraction" in shown
    assert "candidates  1 waiting, 1 held" in shown
    assert "3 of 100 calls, 1,200 of 2,000,000 tokens" in shown
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(later))
    assert f"consolidate waits until {when}, tried 2 times: asked too often" in shown
    assert shown.count("asked too often") == 1
    row = next(x for x in run(learned, "learned", "status").stdout.splitlines() if "scout" in x)
    assert len(row) < 150
    assert "pannier learned approve scout" in shown
    [data] = json.loads(run(learned, "learned", "status", "scout", "--json").stdout)
    assert data["consolidation"]["waits"] == "asked too often"
    assert data["today"]["tokens"] == 1_200
    assert data["failures"][0]["kind"] == "rate"


def test_looking_makes_nothing(home: Home) -> None:
    """Of a home where nothing was learned, status and show leave no file."""
    before = sorted(home.state.iterdir())
    assert run(home, "learned", "status").exit_code == 0
    done = run(home, "learned", "show", "scout")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "Nothing was learned yet" in done.stderr
    assert run(home, "learned", "show", "scout", "--json").stdout == "[]\n"
    assert sorted(home.state.iterdir()) == before
    assert "no group nobody" in error(run(home, "learned", "status", "nobody")).message


# ------------------------------------------------------------------------------------------- show


def test_show_lists_lessons_by_section(learned: Home) -> None:
    """Each with the id that stands behind its line in MEMORY.md."""
    done = run(learned, "learned", "show", "scout")
    assert done.stdout == f"Quotes\n  3f2a9bc  {RULE}\n"
    [data] = json.loads(run(learned, "learned", "show", "scout", "--json").stdout)
    assert (data["id"], data["text"], data["candidates"]) == ("3f2a9bc", RULE, ["c00000001"])


def test_show_says_what_a_person_did_to_the_file(learned: Home) -> None:
    """MEMORY.md is the truth: an edited line is shown as it stands there, a deleted one as such."""
    file = learned.group("scout").learned / "MEMORY.md"
    file.write_text(file.read_text().replace("$40k", "$50k"))
    assert (
        "Quotes over $50k need sign-off.  (edited"
        in run(learned, "learned", "show", "scout").stdout
    )
    file.write_text(memoryfile.FRESH)
    assert "(deleted in MEMORY.md)" in run(learned, "learned", "show", "scout").stdout


def test_show_candidates_says_what_waits_and_why(learned: Home) -> None:
    """Those that wait to be merged, and those that wait for a person."""
    shown = run(learned, "learned", "show", "scout", "--candidates").stdout
    assert "c00000002  waiting Keys come by mail." in shown
    assert "c00000003  held    Deploys without asking." in shown
    assert "it widens: asking" in shown
    assert "c00000001" not in shown


# -------------------------------------------------------------------------------------------- why


def test_why_leads_to_the_message(learned: Home) -> None:
    """Thread, turn, message, who said it, when it was learned, confirmed and changed."""
    shown = run(learned, "learned", "why", "scout", "3f2a").stdout
    assert shown.startswith("lesson 3f2a9bc\n")
    for words in (
        "Section:   Quotes",
        "Learned:   1970-01-01 00:00",
        "Confirmed: 1970-01-01 00:00 (2 times)",
        "Changed:   1970-01-01 00:00",
        f"    {RULE}\n",
        "candidate c00000001  merged, preference",
        "  scout/main  t1  m1  2026-11-29 12:00  person\n",
        f"    {SAID}\n",
    ):
        assert words in shown, words
    data = json.loads(run(learned, "learned", "why", "scout", "^3f2a9bc", "--json").stdout)
    [proof] = data["candidates"][0]["evidence"]
    assert (proof["thread"], proof["turn"], proof["message"]) == ("main", "t1", "m1")
    assert proof["text"] == SAID


def test_why_of_a_candidate_masks_secrets(learned: Home) -> None:
    """A candidate can be traced as well; what was said is shown without secrets."""
    shown = run(learned, "learned", "why", "scout", "c00000002").stdout
    assert "The key is [" in shown
    assert SECRET not in shown


def test_an_unknown_lesson_is_one_clear_line(learned: Home) -> None:
    """It names what was asked for and how to see what there is."""
    wrong = error(run(learned, "learned", "why", "scout", "beefbee"))
    assert wrong.message == "scout has no lesson 'beefbee'"
    assert "pannier learned show scout" in wrong.hint
    assert wrong.exit_code == 2


def test_status_says_when_nothing_can_be_learned(
    learned: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That something is due is not all of the truth while the key is missing, or the packages, or
    the database of the steps."""
    settings = learned.group("scout").settings
    before = settings.read_text()
    settings.write_text(
        before + "learning: {model: 'openai:tiny', key_from: NO_SUCH_KEY, extract_after: 1}\n"
    )
    said = "but learning.key_from: the environment has no NO_SUCH_KEY"
    assert said in run(learned, "learned", "status", "scout").stdout
    assert said in run(learned, "learned", "status").stdout
    settings.write_text(before + "learning: {model: client, extract_after: 1}\n")
    assert "extraction is due\n" in run(learned, "learned", "status", "scout").stdout
    (learned.state / "learning-steps.db").write_text("no database, but a text " * 100)
    shown = run(learned, "learned", "status", "scout").stdout
    assert "extraction is due, but " in shown
    assert "learning-steps.db: file is not a database" in shown
    monkeypatch.setattr(hindrances, "find_spec", lambda _: None)
    shown = run(learned, "learned", "status", "scout").stdout
    assert "but the packages for learning are not installed" in shown


def test_status_says_that_it_is_being_done(learned: Home) -> None:
    """While a worker has the group."""
    settings = learned.group("scout").settings
    settings.write_text(settings.read_text() + "learning: {model: client, extract_after: 1}\n")
    with only_one(learned, "scout"):
        shown = run(learned, "learned", "status", "scout").stdout
    assert "extract     extraction is being done" in shown
    assert "extract     extraction is due" in run(learned, "learned", "status", "scout").stdout


def test_a_report_of_a_failure_is_not_called_done(learned: Home) -> None:
    """One that is over, and one of a part that was set aside."""
    bodies = (
        {"threads": [], "trouble": {"why": "it was down"}, "not_before": 1.0},
        {"threads": [], "aside": [["main", "nonsense came"]]},
    )
    with opened(learned) as learning:
        for body in bodies:
            learning.books.report("scout", "extract", 1.0, json.dumps(body))
    shown = run(learned, "learned", "status", "scout").stdout
    assert re.search("^failed .*it was down", shown, re.MULTILINE)
    assert re.search("^failed .*a part of main was set aside: nonsense came$", shown, re.MULTILINE)


def test_too_few_characters_of_an_id(learned: Home) -> None:
    """That they are too few is said, and not that there is no such lesson."""
    assert "Write 4 characters" in error(run(learned, "learned", "why", "scout", "3f2")).hint
    assert "has no lesson" in error(run(learned, "learned", "why", "scout", "fff")).message

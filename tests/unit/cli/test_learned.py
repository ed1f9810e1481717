"""`pannier learned` as a person meets it."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pannier.cli import pannier
from pannier.clients.transcript import Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.errors import PannierError
from pannier.learning import memoryfile
from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.learning.merge import Change, Merge, Taken
from pannier.learning.rows import ThreadMark, Try
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.paths import Home
from pannier.threads.locking import writing
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event

NOON = 1_795_953_600_000_000_000  # 2026-11-29 12:00 UTC
RULE = "Quotes over $40k need sign-off."
SAID = "From now on, anything over $40k needs my sign-off."
SECRET = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with the groups scout and other."""
    assert CliRunner().invoke(pannier, ["init", str(tmp_path)]).exit_code == 0
    for group in ("scout", "other"):
        assert run(tmp_path, "group", "add", group).exit_code == 0
    return Home(tmp_path)


def run(home: Home | Path, *args: str, **more: object) -> Result:
    """The command; an error of ours stays in `exception`."""
    root = home.root if isinstance(home, Home) else home
    return CliRunner().invoke(pannier, ["--home", str(root), *args], **more)  # type: ignore[arg-type]


def error(done: Result) -> PannierError:
    assert isinstance(done.exception, PannierError), done
    return done.exception


def talk(home: Home, *said: str, thread: str = "main", at: int = NOON, grp: str = "scout") -> None:
    """A turn for each thing that a person says, each of which succeeds."""
    entries: list[Entry] = []
    for number, text in enumerate(said):
        key = f"{grp}{thread}{at}{number}"
        entries += [
            TurnBegins(key),
            Message(f"{key}p", "person", "text", text, at=at),
            Message(f"{key}a", "agent", "text", "Noted.", at=at),
            TurnEnds("succeeded", at=at),
        ]
    event = Event("stop", id="0" * 16, at=at, client="claude", session=f"s-{thread}", thread=thread)
    with writing(home, os.environ) as store:
        store.apply(grp, event, Reading(tuple(entries)))


def opened(home: Home) -> Learning:
    return open_learning(learning_file(home, os.environ), write=True)


def key_of(home: Home, ref: str) -> str:
    with open_store(threads_file(home, os.environ)) as store:
        return store.find_thread(ref).key


@pytest.fixture
def learned(home: Home) -> Home:
    """One lesson, made from a candidate; one candidate that waits, one that is held."""
    talk(home, SAID, f"The key is {SECRET}", "Never ask me about deploys again.")
    key = key_of(home, "scout")

    def candidate(id: str, text: str, message: int, **more: object) -> Candidate:
        proof = Evidence(key, 1, message, "person", NOON)
        return Candidate(id, "preference", text, "Quotes", "person", (proof,), 10.0, **more)  # type: ignore[arg-type]

    found = (
        candidate("c00000001", RULE, 1),
        candidate("c00000002", "Keys come by mail.", 3),
        candidate("c00000003", "Deploys without asking.", 5, state="held", why="it widens: asking"),
    )
    lesson = Lesson("3f2a9bc", "Quotes", RULE, "preference", "person", 20.0, 30.0, 20.0, NOON, 2)
    memory = f"{memoryfile.FRESH}\n## Quotes\n\n- {RULE} ^{lesson.id}\n"
    (home.group("scout").learned / "MEMORY.md").write_text(memory)
    merge = Merge(
        "",
        memory,
        "",
        (Change("add", lesson, candidates=("c00000001",)),),
        (Taken("c00000001", "merged", lesson.id),),
    )
    with opened(home) as learning:
        mark = ThreadMark(key, "main", 6, NOON, "They spoke of quotes.", 10.0)
        assert learning.add_extraction("scout", "piece", mark, found)
        learning.settle("scout", merge, 20.0, memory=memoryfile.digest(memory))
    return home


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
    assert f"failed      consolidate (2 times; again at {when}): asked too often" in shown
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

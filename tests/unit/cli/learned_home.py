"""A home in which something was learned, and `pannier learned` on it."""

from __future__ import annotations

import os
from pathlib import Path

from click.testing import CliRunner, Result

from pannier.cli import pannier
from pannier.clients.transcript import Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.errors import PannierError
from pannier.learning.files import folder, memoryfile
from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.learning.merge import Change, Merge, Taken
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.rows import ThreadMark
from pannier.paths import Home
from pannier.threads.locking import writing
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event

NOON = 1_795_953_600_000_000_000  # 2026-11-29 12:00 UTC
RULE = "Quotes over $40k need sign-off."
SAID = "From now on, anything over $40k needs my sign-off."
SECRET = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"


def make_home(root: Path) -> Home:
    """A home with the groups scout and other."""
    assert CliRunner().invoke(pannier, ["init", str(root)]).exit_code == 0
    for group in ("scout", "other"):
        assert run(root, "group", "add", group).exit_code == 0
    return Home(root)


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


def learn(home: Home) -> Home:
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


def memory(home: Home) -> str:
    file = home.group("scout").learned / folder.MEMORY
    return file.read_text() if file.exists() else ""


def summary(home: Home) -> str:
    file = home.group("scout").learned / folder.SUMMARY
    return file.read_text() if file.exists() else ""

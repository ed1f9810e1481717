"""What a person wants forgotten is gone everywhere, at once and for ever."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.learning.things import SECOND, candidate, lesson

from pannier.clients.transcript import Message, Reading, TurnBegins, TurnEnds
from pannier.errors import UsageError
from pannier.learned import deleted
from pannier.learning.files import folder, memoryfile, publishing
from pannier.learning.files.memoryedits import add
from pannier.learning.forgetting.removal import Place, forget, planned, sweep
from pannier.learning.forgetting.wishes import Wish
from pannier.learning.lessons import Candidate, Evidence, Lesson
from pannier.learning.merge import Change, Merge, Taken
from pannier.learning.store import Learning, learning_file, lessontable, open_learning, steps
from pannier.learning.store.locks import Busy, at_work
from pannier.learning.store.rows import ThreadMark
from pannier.paths import Home
from pannier.threads.store import WritableStore, open_store, threads_file
from pannier_hook.events import Event

RULE = "Quotes beyond $40k need the signature of Wilhelmina."
OTHER = "Deployments happen on Tuesdays."
WORD = "Wilhelmina"
NOW = 1_000.0


@dataclass
class Group:
    """A group that learned two things in two threads."""

    place: Place
    rule: Lesson
    other: Lesson

    @property
    def files(self) -> Path:
        return self.place.home.group("scout").learned

    def learning(self, *, write: bool = False) -> Learning:
        return open_learning(learning_file(self.place.home, {}), write=write)

    def traces(self, word: str = WORD) -> list[str]:
        """Files of the home in which the word stands, whether or not it counts there."""
        return sorted(
            str(path.relative_to(self.place.home.root))
            for path in self.place.home.root.rglob("*")
            if path.is_file() and word.encode() in path.read_bytes()
        )

    def lessons(self) -> list[str]:
        with self.learning() as learning:
            return [lesson.text for lesson in learning.lessons("scout")]


def proofs(thread: str, number: int) -> tuple[Evidence, ...]:
    return (Evidence(thread, 1, number, "person", number * SECOND),)


def found(
    number: int, text: str, into: Lesson | None = None, thread: str = "aaaaaaaa"
) -> Candidate:
    made = candidate(number, text, evidence=proofs(thread, number))
    return replace(made, state="merged", lesson=into.id) if into else made


def write(group: Group) -> None:
    """What extraction and consolidation leave behind."""
    memory = memoryfile.parse(memoryfile.FRESH)
    for one in (group.rule, group.other):
        memory = add(memory, one.id, one.text, one.section)
    group.files.mkdir(parents=True)
    (group.files / folder.MEMORY).write_text(memory.text)
    (group.files / folder.SUMMARY).write_text(f"- {RULE}\n- {OTHER}\n")
    sessions = group.files / folder.SESSIONS
    sessions.mkdir()
    (sessions / "main-aaaaaaaa.md").write_text(f"They agreed: {RULE}")
    (sessions / "other-bbbbbbbb.md").write_text("Nothing of it.")
    with group.learning(write=True) as learning:
        marks = (
            ThreadMark("aaaaaaaa", "main", 20, 20 * SECOND, f"They agreed: {RULE}", 1.0),
            ThreadMark("bbbbbbbb", "other", 30, 30 * SECOND, "Nothing of it.", 1.0),
        )
        candidates = (
            (found(1, RULE, group.rule), found(2, f"{RULE} Always.")),
            (found(3, OTHER, group.other, "bbbbbbbb"), found(4, "Bob waits.", None, "bbbbbbbb")),
        )
        for mark, those in zip(marks, candidates, strict=True):
            learning.add_extraction("scout", mark.thread, mark, those)
        for one in (group.rule, group.other):
            lessontable.put(learning.db, "scout", one)
        learning.note_memory("scout", memoryfile.digest(memory.text))
        learning.books.report("scout", "extract", 1.0, json.dumps({"dropped": [[RULE, "why"]]}))
        learning.books.report("scout", "extract", 2.0, json.dumps({"found": 3}))
        learning.stage("scout", json.dumps({"memory": RULE}), "waiting", 3.0)
    file = group.place.home.state / steps.FILE
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE operation_outputs (workflow_uuid TEXT, output TEXT)")
        db.execute("INSERT INTO operation_outputs VALUES ('scout:extract:1', ?)", (RULE,))
        db.execute("INSERT INTO operation_outputs VALUES ('pilot:extract:1', 'of another')")
    db.close()


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return made(tmp_path)


def made(root: Path) -> Group:
    home = Home(root)
    home.state.mkdir()
    home.settings.touch()
    found = Group(Place(home, {}, "scout"), lesson(1, RULE), lesson(2, OTHER))
    write(found)
    return found


def test_a_lesson_is_gone_everywhere(group: Group) -> None:
    """No file of the home holds a word of it: neither table, nor freed page, nor recorded step."""
    assert len(group.traces()) >= 5
    plan = forget(group.place, Wish(group.rule.id), NOW)
    assert [lesson.id for lesson in plan.lessons] == [group.rule.id]
    assert group.traces() == []
    assert group.lessons() == [OTHER]
    text = (group.files / folder.MEMORY).read_text()
    assert OTHER in text
    assert OTHER in (group.files / folder.SUMMARY).read_text()
    sessions = sorted(path.name for path in (group.files / folder.SESSIONS).iterdir())
    assert sessions == ["other-bbbbbbbb.md"]
    with group.learning() as learning:
        assert [c.text for c in learning.candidates("scout")] == [OTHER, "Bob waits."]
        assert [one.body for one in learning.books.reports("scout")] == ['{"found": 3}']
        assert learning.proposal("scout") is None
        assert learning.group_mark("scout").memory == memoryfile.digest(text)
        assert learning.forgotten("scout").verdict(RULE, []) == "gone"
        assert learning.forgotten("pilot").verdict(RULE, []) == ""
    with sqlite3.connect(group.place.home.state / steps.FILE) as db:
        assert db.execute("SELECT output FROM operation_outputs").fetchall() == [("of another",)]


def test_a_heading_that_says_it_is_gone_everywhere(group: Group) -> None:
    """And its lesson stays, under another heading."""
    path = group.files / folder.MEMORY
    path.write_text(path.read_text().replace("## Rules", f"## The {WORD} case"))
    with group.learning(write=True) as learning:
        learning.note_memory("scout", memoryfile.digest(path.read_text()))
        for one in (group.rule, group.other):
            lessontable.put(learning.db, "scout", replace(one, section=f"The {WORD} case"))
        about = replace(found(7, "Ann waits.", None, "bbbbbbbb"), topic=f"{WORD} and Ann")
        learning.add_extraction("scout", "p7", ThreadMark("bbbbbbbb", "other", 40, 40), [about])
    forget(group.place, Wish(text=WORD), NOW)
    assert group.traces() == []
    memory = memoryfile.parse(path.read_text())
    [line] = memory.lessons.values()
    assert (line.text, line.section) == (OTHER, memoryfile.NOWHERE)
    with group.learning() as learning:
        [one] = learning.lessons("scout")
        assert one.section == memoryfile.NOWHERE
        assert learning.group_mark("scout").memory == memoryfile.digest(path.read_text())


def test_it_is_said_when_somebody_still_reads_how_it_was(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is gone from the tables is then not yet gone from the file."""
    monkeypatch.setattr("pannier.learning.forgetting.removal._PATIENCE", 10)
    with group.learning() as reader:
        reader.db.execute("BEGIN")
        assert reader.lessons("scout") != ()
        assert forget(group.place, Wish(group.rule.id), NOW).lingers
        assert group.traces() != []
    assert not forget(group.place, Wish(text=WORD), NOW).lingers
    assert group.traces() == []


def test_looking_at_what_would_go_changes_nothing(group: Group) -> None:
    """It is the same as what goes then."""
    before = group.traces()
    plan = planned(group.place, Wish(text=WORD), NOW)
    assert group.traces() == before
    assert forget(group.place, Wish(text=WORD), NOW) == plan
    assert group.traces() == []


def test_the_last_lesson_leaves_an_empty_folder(group: Group) -> None:
    """As it was before the first: there is no note then."""
    for one in (group.rule, group.other):
        forget(group.place, Wish(one.id), NOW)
    assert [path.name for path in group.files.iterdir() if path.is_file()] == []
    with pytest.raises(UsageError, match="no lesson"):
        forget(group.place, Wish(group.rule.id), NOW)


def test_a_person_s_words_stay(group: Group) -> None:
    """Every byte of them; an edit that came a moment before, too."""
    path = group.files / folder.MEMORY
    path.write_bytes(path.read_bytes() + f"\nMy own line on {WORD}.\r\n".encode())
    plan = forget(group.place, Wish(text=WORD), NOW)
    assert plan.own == (f"My own line on {WORD}.\r\n",)
    assert path.read_bytes().endswith(f"\nMy own line on {WORD}.\r\n".encode())
    assert RULE not in path.read_text()
    with group.learning() as learning:
        assert learning.group_mark("scout").memory != memoryfile.digest(path.read_text())


def test_a_thread_is_forgotten_and_a_time(group: Group) -> None:
    """What others say stays, and what was not read yet does not bring it back."""
    forget(group.place, Wish(thread="aaaaaaaa", upto=25), NOW)
    assert group.lessons() == [OTHER]
    assert group.traces() == []
    with group.learning() as learning:
        assert learning.forgotten("scout").hides("aaaaaaaa", 25, 0)
    forget(group.place, Wish(begin=3 * SECOND, end=4 * SECOND), NOW)
    assert group.lessons() == []
    with group.learning() as learning:
        assert [c.text for c in learning.candidates("scout")] == ["Bob waits."]


def test_nobody_learns_meanwhile(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's answer would bring it back: it is waited for."""
    monkeypatch.setattr("pannier.learning.store.locks.PATIENCE", 0.0)
    with at_work(group.place.home, "scout", seconds=0) as taken:
        assert taken
        with pytest.raises(Busy):
            forget(group.place, Wish(group.rule.id), NOW)
    assert group.lessons() == [RULE, OTHER]


def test_another_group_is_not_touched(group: Group) -> None:
    """Even where it learned the same."""
    with group.learning(write=True) as learning:
        learning.add_extraction(
            "pilot", "p", ThreadMark("cccccccc", "main", 5, 5), (found(9, RULE),)
        )
    forget(group.place, Wish(text=WORD), NOW)
    with group.learning() as learning:
        assert [c.text for c in learning.candidates("pilot")] == [RULE]
    assert group.traces() == ["state/learning.db"]


def test_what_was_written_over_before_is_gone_too(group: Group) -> None:
    """Freed pages, the log that somebody else keeps open, a file that a kill left half written."""
    with group.learning(write=True) as learning:
        # As it is with most builds of SQLite.
        learning.db.execute("PRAGMA secure_delete = OFF")
        learning.books.report("scout", "extract", 3.0, f"{WORD} " * 3_000)
        learning.books.drop_reports([3])
    assert "state/learning.db" in group.traces(f"{WORD} {WORD}")
    (group.files / f".{'0' * 16}.pannier-new").write_text(RULE)
    with group.learning() as reader:
        assert reader.lessons("scout") != ()
        forget(group.place, Wish(group.rule.id), NOW)
        assert group.traces() == []
        assert [one.text for one in reader.lessons("scout")] == [OTHER]


def begin_to_write(group: Group, new: Lesson) -> None:
    """What a worker leaves that is killed before it writes a lesson."""
    text = (group.files / folder.MEMORY).read_text()
    decided = Merge(
        memoryfile.digest(text),
        add(memoryfile.parse(text), new.id, new.text, new.section).text,
        f"- {new.text}\n",
        (Change("add", new),),
        (Taken(candidate(4).id, "merged", new.id),),
    )
    with group.learning(write=True) as learning:
        assert publishing.stage(learning, "scout", publishing.Decided(decided), "writing", 4.0)


def test_what_is_just_being_written_is_written_first(group: Group) -> None:
    """A worker was killed at it: then it is known what is to be forgotten of it."""
    new = lesson(3, f"{WORD} is on leave.")
    begin_to_write(group, new)
    forget(group.place, Wish(text=f"{WORD} is"), NOW)
    assert group.lessons() == [RULE, OTHER]
    assert group.traces("on leave") == []


POINTS = (
    "pannier.learning.store.steps.forget",
    "pannier.learning.files.folder.Folder.remove_session",
    "pannier.learning.files.folder.Folder.replace",
    "pannier.learning.store.learning.Learning.note_memory",
    "pannier.learning.store.books.Books.drop_reports",
    "pannier.learning.store.lessontable.remove",
)


@pytest.mark.parametrize("point", POINTS)
def test_cut_off_anywhere_it_can_be_done_again(
    group: Group, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And until then it does not come back."""

    def cut_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(point, cut_off)
        with pytest.raises(KeyboardInterrupt):
            forget(group.place, Wish(group.rule.id), NOW)
    with group.learning() as learning:
        assert learning.forgotten("scout").verdict(RULE, []) == "gone"
    forget(group.place, Wish(group.rule.id), NOW)
    assert group.traces() == []
    assert group.lessons() == [OTHER]


def calls_until_killed(group: Group, most: int) -> int:
    """Forget in a child that is killed after so many calls. How many it made; 0: it was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            seen = 0

            def count(*_: object) -> None:
                nonlocal seen
                seen += 1
                if seen == most:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.setprofile(count)
            forget(group.place, Wish(group.rule.id), NOW)
            sys.setprofile(None)
            os.write(write, str(seen).encode())
        finally:
            os._exit(0)
    os.close(write)
    answer = os.read(read, 100)
    os.close(read)
    os.waitpid(child, 0)
    return int(answer or 0)


def test_killed_anywhere_it_can_be_done_again(tmp_path: Path) -> None:
    """Nothing is half written then, and nothing else is lost."""
    for name in ("first", "all"):
        (tmp_path / name).mkdir()
    # What is made once, such as a parser, is made now.
    forget(made(tmp_path / "first").place, Wish(text=WORD), NOW)
    calls = calls_until_killed(made(tmp_path / "all"), 0)
    assert calls > 1_000
    for number in range(12):
        root = tmp_path / str(number)
        root.mkdir()
        group = made(root)
        assert calls_until_killed(group, calls * (2 * number + 1) // 24) == 0
        text = (group.files / folder.MEMORY).read_text()
        assert (OTHER in text, text.startswith("---\n")) == (True, True)
        try:
            forget(group.place, Wish(group.rule.id), NOW)
        except UsageError:
            # It was done, but for what is written over.
            forget(group.place, Wish(text=WORD), NOW)
        assert group.traces() == []
        assert group.lessons() == [OTHER]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([RULE, f"{RULE} Always.", OTHER, f"{WORD} is on leave"]), max_size=5),
    st.booleans(),
)
def test_no_trace_is_left_of_a_word(texts: list[str], merged: bool) -> None:
    """However often it stands, and wherever."""
    with tempfile.TemporaryDirectory() as name:
        group = made(Path(name))
        with group.learning(write=True) as learning:
            for number, text in enumerate(texts, 10):
                mark = ThreadMark(f"{number:08x}", text, number, number, text, 1.0)
                one = found(number, text, group.other if merged else None, mark.thread)
                learning.add_extraction("scout", str(number), replace(mark, name="t"), (one,))
        forget(group.place, Wish(text=WORD), NOW)
        assert group.traces() == []
        assert group.lessons() == [OTHER]


# ------------------------------------------------------------------------------- deleted threads


@pytest.fixture
def store(group: Group) -> Iterator[WritableStore]:
    with open_store(threads_file(group.place.home, {}), write=True) as opened:
        for name, key in (("main", "aaaaaaaa"), ("other", "bbbbbbbb")):
            event = Event("stop", id="0" * 16, at=5, client="claude", session=name, thread=name)
            said = Message(name, "person", "text", "hello")
            turn = (TurnBegins(name), said, TurnEnds("succeeded"))
            opened.apply("scout", event, Reading(turn))
            opened.db.execute("UPDATE threads SET key = ? WHERE name = ?", (key, name))
        yield opened


def test_nothing_is_swept_while_the_threads_are_there(group: Group, store: WritableStore) -> None:
    """Nor when the database of what was said is lost."""
    assert not sweep(group.place, store, NOW)
    with open_store(group.place.home.state / "empty.db") as lost:
        assert not sweep(group.place, lost, NOW)
    assert len(group.traces()) >= 5


def test_a_deleted_thread_leaves_its_lessons_alone(group: Group, store: WritableStore) -> None:
    """Its summary goes, and what was found there and not merged; nothing of it comes late."""
    store.erase(2)
    assert sweep(group.place, store, NOW)
    assert not sweep(group.place, store, NOW)
    assert group.traces("Bob") == []
    assert group.traces("Nothing of it") == []
    assert group.lessons() == [RULE, OTHER]
    assert not (group.files / folder.SESSIONS / "other-bbbbbbbb.md").exists()
    with group.learning(write=True) as learning:
        late = ThreadMark("bbbbbbbb", "other", 99, 99)
        assert not learning.add_extraction("scout", "late", late, (found(9, "late"),))


def test_what_was_just_merged_when_its_thread_was_deleted_is_a_lesson(
    group: Group, store: WritableStore
) -> None:
    """A worker was killed while it wrote: that is finished first."""
    new = lesson(3, "Bob waits.")
    begin_to_write(group, new)
    store.erase(2)
    assert sweep(group.place, store, NOW)
    assert group.lessons() == [RULE, OTHER, "Bob waits."]
    assert "Bob waits." in (group.files / folder.MEMORY).read_text()


def test_deleting_a_thread_takes_what_was_found_there(
    group: Group, store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a worker holds the group it is said that something stays; the worker sweeps then."""
    home = group.place.home
    with at_work(home, "scout", seconds=0):
        monkeypatch.setattr("pannier.learning.store.locks.PATIENCE", 0.0)
        (why,) = deleted.delete(home, {}, "scout/other").kept
        assert why.startswith("what was learned from it: ")
    assert group.traces("Bob") != []
    assert deleted.delete(home, {}, "scout/main").kept == ()
    assert group.traces("Bob") == []
    assert group.lessons() == [RULE, OTHER]
    with group.learning() as learning:
        assert [c.state for c in learning.candidates("scout")] == ["merged", "merged"]

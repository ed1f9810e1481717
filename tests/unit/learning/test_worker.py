"""From what is said to what is remembered: a worker, a scripted model, a clock that is moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pannier.learning.models.answers import ConsolidationAnswer, ExtractionAnswer
from pannier.learning.models.asking import Asker, AskError, Question, Reply, Trouble
from pannier.learning.store.locks import only_one
from pannier.learning.store.rows import Try
from pannier.learning.work.schedule import FIRST_PAUSE, MOST_TRIES
from pannier.learning.work.telling import Told
from pannier.learning.work.worker import work
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file

from .stage import HOUR, Scripted, Stage, learns, numbers, shown

SECONDS = 30.0


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "home", "scout", "other")


def rules(stage: Stage, number: int, *, grp: str = "scout", thread: str = "main") -> None:
    for _ in range(number):
        stage.say(grp=grp, thread=thread)


def tried(stage: Stage, grp: str = "scout") -> tuple[Try, ...]:
    with stage.learning() as learning:
        return learning.books.tries(grp)


def wish(stage: Stage) -> None:
    with stage.learning() as learning:
        learning.books.want("scout", "extract", stage.clock.at)


class Broken:
    """A model that fails."""

    name = "broken"
    window = 32_000

    def __init__(self, kind: Trouble, after: float = 0.0) -> None:
        self.kind = kind
        self.after = after
        self.asked = 0

    def ask(self, question: Question) -> Reply:
        self.asked += 1
        raise AskError(self.kind, "it does not answer", after=self.after)


def test_five_turns_in_two_threads_and_six_hours_make_a_memory(stage: Stage) -> None:
    """Not four, and not before; another group has none; and then nothing is asked any more."""
    rules(stage, 3)
    rules(stage, 1, thread="planning")
    assert stage.work() == []
    rules(stage, 1, thread="planning")
    [extracted] = stage.work()
    assert (extracted.work, extracted.result["found"]) == ("extract", 5)
    assert stage.memory() == ""
    stage.clock.at += 6 * HOUR - 60
    assert stage.work() == []
    stage.clock.at += 60
    [merged] = stage.work()
    assert str(merged).startswith("learned “Rule number 1 holds here.”; learned “Rule number 2")
    for number in range(1, 6):
        assert f"- Rule number {number} holds here. ^" in stage.memory()
    learned = stage.home.group("scout").learned
    assert "- Rule number 5 holds here.\n" in (learned / "summary.md").read_text()
    assert len(list((learned / "session_summaries").iterdir())) == 2
    assert list(stage.home.group("other").learned.iterdir()) == []
    asked = len(stage.model.asked)
    assert asked == 3
    stage.clock.at += 1_000 * HOUR
    assert stage.work() == []
    assert len(stage.model.asked) == asked


def test_the_count_goes_on_after_a_restart(stage: Stage) -> None:
    """Four turns, another worker, one more."""
    rules(stage, 4)
    stage.work()
    stage = Stage(stage.home.root, "scout", "other")
    stage.clock.at += 60
    stage.turns = 4
    rules(stage, 1)
    assert [told.work for told in stage.work()] == ["extract"]


def test_only_what_is_new_is_read(stage: Stage) -> None:
    """The second extraction sees five turns, and what the first made of the others."""
    rules(stage, 5)
    stage.work()
    rules(stage, 5)
    stage.work()
    first, second = stage.model.of(ExtractionAnswer)
    assert len(numbers(first, "person")) == len(numbers(second, "person")) == 5
    assert set(numbers(first, "person")).isdisjoint(numbers(second, "person"))
    assert "They talk." in second.data


def test_a_fact_that_a_person_added_by_hand_stays_and_reaches_the_index(stage: Stage) -> None:
    """Also without a model call, by a worker that finds the file changed."""
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    stage.work()
    file = stage.home.group("scout").learned / "MEMORY.md"
    file.write_text(file.read_text() + "\nBy hand: the key hangs in the hall.\n")
    asked = len(stage.model.asked)
    [told] = stage.work()
    assert (told.work, len(stage.model.asked)) == ("consolidate", asked)
    assert stage.work() == []
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    [merged] = stage.work()
    assert merged.work == "consolidate"
    assert "By hand: the key hangs in the hall.\n" in stage.memory()
    assert "Rule number 10 holds here." in stage.memory()


@pytest.mark.parametrize(
    ("kind", "after", "pause"), [("down", 0, FIRST_PAUSE), ("rate", 90, 90), ("login", 0, 600)]
)
def test_a_model_that_fails_is_left_alone_and_asked_again_later(
    stage: Stage, kind: Trouble, after: float, pause: float
) -> None:
    """Nothing is lost meanwhile, and another group goes on."""
    broken = Broken(kind, after)
    stage.asker_for = lambda grp: broken if grp == "scout" else stage.model  # type: ignore[method-assign]
    rules(stage, 5)
    rules(stage, 5, grp="other")
    told = {one.grp: one for one in stage.work()}
    assert "it does not answer (again at " in told["scout"].trouble
    assert told["other"].result["found"] == 5
    assert broken.asked == 1
    stage.clock.at += pause - 1
    stage.work()
    assert broken.asked == 1
    stage.asker_for = lambda grp: stage.model  # type: ignore[method-assign]
    stage.clock.at += 1
    assert stage.work()[0].result["found"] == 5
    assert tried(stage) == ()


def test_pauses_grow_until_it_goes_again(stage: Stage) -> None:
    """Ten minutes, forty, and so on."""
    broken = Broken("down")
    stage.asker_for = lambda grp: broken  # type: ignore[method-assign]
    rules(stage, 5)
    pauses = []
    for _ in range(3):
        stage.work()
        [one] = tried(stage)
        pauses.append(one.not_before - stage.clock.at)
        stage.clock.at = one.not_before
    assert pauses == [600, 2_400, 9_600]


def test_what_the_model_does_not_manage_is_set_aside_and_the_rest_goes_on(stage: Stage) -> None:
    """After five tries; the other thread was read at the first. A person may try once more."""

    def chokes(question: Question) -> Mapping[str, Any]:
        if "poison" in question.data:
            raise AskError("answer", "nonsense came")
        return learns(question)

    stage.model = Scripted(chokes)
    stage.say("The poison is in this thread.")
    rules(stage, 4, thread="planning")
    [first] = stage.work()
    assert (first.result["found"], first.result["threads"]) == (4, ["planning"])
    for _ in range(MOST_TRIES - 1):
        stage.clock.at += 12 * HOUR
        told = [one for one in stage.work() if one.work == "extract"]
    assert told[-1].result["aside"] == [["main", "nonsense came"]]
    assert str(told[-1]) == "a part of main was set aside: nonsense came"
    assert told[-1].level == "warning"
    [aside] = [one for one in tried(stage) if one.work.startswith("aside:")]
    assert "main, behind m0 and up to m2, was set aside: nonsense came" in aside.why
    stage.say("Quotes need two signatures.")
    rules(stage, 4)
    assert stage.work()[0].result["found"] == 5
    asked = len(stage.model.of(ExtractionAnswer))
    stage.clock.at += 24 * HOUR
    stage.work()
    assert len(stage.model.of(ExtractionAnswer)) == asked
    assert [one for one in tried(stage) if one.work.startswith("aside:")] == [aside]
    wish(stage)
    [again] = [one for one in stage.work() if one.work == "extract"]
    assert again.result["aside"] == [["main", "nonsense came"]]
    stage.model = Scripted(learns)
    wish(stage)
    [again] = [one for one in stage.work() if one.work == "extract"]
    assert again.result["found"] == 1
    assert "The poison is in this thread." in stage.texts()
    assert tried(stage) == ()


def refuses(poison: str) -> Callable[[Question], Mapping[str, Any]]:
    """A server that does not take what holds this."""

    def answer(question: Question) -> Mapping[str, Any]:
        if poison in question.data:
            raise AskError("refused", "it does not take the request (HTTP 400)")
        return (
            learns(question) if numbers(question, "person") else {"summary": "", "candidates": []}
        )

    return answer


def test_a_server_that_takes_no_request_costs_no_lesson(stage: Stage) -> None:
    """Nothing is set aside, however often it is tried; with the right settings all is read."""
    stage.model.answer = refuses("")
    rules(stage, 3)
    rules(stage, 3, thread="planning")
    for _ in range(MOST_TRIES + 1):
        wish(stage)
        stage.work()
        stage.clock.at += 24 * HOUR
    stage.work()
    assert [(one.work, one.kind) for one in tried(stage)] == [("extract", "setting")]
    asked = len(stage.model.asked)
    stage.clock.at += 1_000 * HOUR
    assert stage.work() == []
    assert len(stage.model.asked) == asked
    stage.model.answer = learns
    wish(stage)
    assert stage.work()[0].result["found"] == 6
    assert tried(stage) == ()


def test_a_text_that_the_server_does_not_take_is_set_aside_alone(stage: Stage) -> None:
    """Also where no other thread is new: it is tried whether any other text is taken."""
    stage.model.answer = refuses("poison")
    stage.say("The poison is in this thread.")
    rules(stage, 4)
    for _ in range(MOST_TRIES):
        stage.work()
        stage.clock.at += 12 * HOUR
    [aside] = tried(stage)
    assert aside.work.startswith("aside:")
    rules(stage, 5)
    assert stage.work()[0].result["found"] == 5


def test_a_persons_tries_set_nothing_aside(stage: Stage) -> None:
    """Not five of them in a minute: only those count that come after a pause."""

    def chokes(question: Question) -> Mapping[str, Any]:
        raise AskError("answer", "nonsense came")

    stage.model.answer = chokes
    rules(stage, 5)
    for _ in range(MOST_TRIES + 1):
        wish(stage)
        [told] = stage.work()
        assert "again at" in told.trouble
        stage.clock.at += 1
    until = {one.not_before for one in tried(stage)}
    assert max(until) < stage.clock.at + FIRST_PAUSE


def test_another_model_reads_what_was_set_aside(stage: Stage) -> None:
    """By itself, once; a smaller window makes more pieces of it."""

    def chokes(question: Question) -> Mapping[str, Any]:
        raise AskError("answer", "nonsense came")

    def first_sentences(question: Question) -> Mapping[str, Any]:
        found = learns(question)
        for one in found.get("candidates", ()):
            one["text"] = one["text"].partition(" It has")[0]
        return found

    stage.model.answer = chokes
    for number in range(5):
        stage.say(f"Rule number {number} holds here. " + f"It has many words {number}. " * 120)
    for _ in range(MOST_TRIES):
        stage.work()
        stage.clock.at += 12 * HOUR
    [aside] = tried(stage)
    stage.model.window = 8_000
    stage.settings["scout"] = LearningSettings(model="scripted:other")
    [told] = stage.work()
    assert len(told.result["aside"]) > 1
    assert len({one.work for one in tried(stage)} - {aside.work}) == len(told.result["aside"])
    asked = len(stage.model.asked)
    assert stage.work() == []
    stage.model.answer = first_sentences
    stage.settings["scout"] = LearningSettings(model="scripted:third")
    told, *_ = stage.work()
    assert told.result["found"] == 5
    assert tried(stage) == ()
    assert len(stage.model.asked) > asked


def test_a_key_that_is_refused_waits_for_another(stage: Stage) -> None:
    """And not for time; a person's wish asks once."""
    broken = Broken("key")
    stage.asker_for = lambda grp: broken  # type: ignore[method-assign]
    rules(stage, 5)
    [told] = stage.work()
    assert told.trouble == "it does not answer (until settings or environment change)"
    stage.clock.at += 1_000 * HOUR
    assert stage.work() == []
    wish(stage)
    stage.work()
    assert broken.asked == 2
    stage.clock.at += 1_000 * HOUR
    assert stage.work() == []


def test_wishes_that_find_nothing_leave_no_report(stage: Stage) -> None:
    """So that they push out none that says something."""
    rules(stage, 1)
    wish(stage)
    stage.work()
    for _ in range(3):
        wish(stage)
        assert str(stage.work()[0]) == "there was nothing new to read"
    with stage.learning() as learning:
        [report] = learning.books.reports("scout")
    assert "main" in report.body


def test_a_worker_for_one_group_begins_nothing_for_another(stage: Stage) -> None:
    """Whatever is due there."""
    rules(stage, 5)
    rules(stage, 5, grp="other")
    told: list[Told] = []
    work(stage.means, stage.clock, told.append, only="scout")
    assert [one.grp for one in told] == ["scout"]
    assert stage.texts("other") == []


def test_a_wish_is_served_at_once_and_once(stage: Stage) -> None:
    """With one turn, and in the middle of the conversation."""
    rules(stage, 1)
    with stage.learning() as learning:
        for work in ("extract", "consolidate"):
            learning.books.want("scout", work, stage.clock.at)
            learning.books.want("other", work, stage.clock.at)
    told = [(one.grp, one.work) for one in stage.work()]
    assert ("scout", "extract") in told
    assert ("scout", "consolidate") in told
    assert "Rule number 1 holds here." in stage.memory()
    with stage.learning() as learning:
        assert learning.books.wanted() == {}
    assert stage.work() == []


def test_a_proposal_waits_for_a_person(stage: Stage) -> None:
    """Nothing is written, the model is not asked again, and it is told."""
    stage.settings["scout"] = LearningSettings(model="scripted:m", approve=True)
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    [told] = stage.work()
    assert str(told) == "proposes 5 changes: pannier learned approve"
    assert stage.memory() == ""
    asked = len(stage.model.asked)
    stage.clock.at += 7 * HOUR
    assert stage.work() == []
    assert len(stage.model.asked) == asked
    with stage.learning() as learning:
        proposal = learning.proposal("scout")
        assert proposal is not None
        learning.accept("scout", proposal.id)
    stage.work()
    assert "Rule number 5 holds here." in stage.memory()
    assert len(stage.model.asked) == asked


def test_a_folder_that_cannot_be_written_costs_no_second_answer(stage: Stage) -> None:
    """The answer is kept, it is tried again later, and said."""
    rules(stage, 5)
    stage.work()
    learned = stage.home.group("scout").learned

    def breaks(question: Question) -> Mapping[str, Any]:
        learned.rmdir()
        learned.write_text("no folder")
        return learns(question)

    stage.model = Scripted(breaks)
    stage.clock.at += 7 * HOUR
    [told] = stage.work()
    assert "agent-memory" in told.failed
    assert stage.work() == []
    learned.unlink()
    learned.mkdir()
    stage.clock.at += FIRST_PAUSE
    [told] = stage.work()
    assert told.failed == ""
    assert "Rule number 5 holds here." in stage.memory()
    assert len(stage.model.asked) == 1
    assert tried(stage) == ()


def test_while_a_command_is_at_work_on_a_group_its_lessons_wait(stage: Stage) -> None:
    """And another group's do not; no answer is lost, nor is it a failure."""
    rules(stage, 5)
    rules(stage, 5, grp="other")
    worker = threading.Thread(target=stage.work)
    with only_one(stage.home, "scout"):
        worker.start()
        until = time.monotonic() + SECONDS
        while len(stage.texts("other")) < 5:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert stage.texts("scout") == []
    worker.join(SECONDS)
    assert len(stage.texts("scout")) == 5
    assert tried(stage) == ()


def test_an_edit_while_the_model_thinks_stands_and_is_merged_anew(stage: Stage) -> None:
    """The second question is made from the new text."""
    rules(stage, 5)
    stage.work()
    file = stage.home.group("scout").learned / "MEMORY.md"

    def edits(question: Question) -> Mapping[str, Any]:
        if question.answer is ConsolidationAnswer and not file.exists():
            file.write_text("# Mine\n\nDo not touch.\n")
        return learns(question)

    stage.model = Scripted(edits)
    stage.clock.at += 7 * HOUR
    stage.work()
    assert stage.memory().startswith("# Mine\n\nDo not touch.\n")
    assert "Rule number 5 holds here." in stage.memory()
    first, second = stage.model.of(ConsolidationAnswer)
    assert "Do not touch." not in first.data
    assert "Do not touch." in second.data


def test_candidates_that_the_model_passes_over_are_shown_once_more_and_then_left(
    stage: Stage,
) -> None:
    """A model that says nothing is not asked for ever."""

    def silent(question: Question) -> Mapping[str, Any]:
        return learns(question) if question.answer is ExtractionAnswer else {}

    stage.model = Scripted(silent)
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    stage.work()
    stage.clock.at += 7 * HOUR
    assert stage.work() == []
    assert len(stage.model.of(ConsolidationAnswer)) == 2
    with stage.learning() as learning:
        assert {one.state for one in learning.candidates("scout")} == {"left"}


def test_a_group_that_was_removed_is_nobodys_work(stage: Stage) -> None:
    """What it began is left where it is, and others go on."""
    rules(stage, 5)
    rules(stage, 5, grp="other")
    del stage.settings["scout"]
    assert [one.grp for one in stage.work()] == ["other"]


def test_each_group_has_its_own_model(stage: Stage) -> None:
    """And sees only what was said to it."""
    own = {grp: Scripted(learns) for grp in ("scout", "other")}

    def asker(grp: str) -> Asker:
        return own[grp]

    stage.asker_for = asker  # type: ignore[method-assign]
    rules(stage, 5)
    rules(stage, 5, grp="other")
    stage.work()
    for grp, model in own.items():
        [question] = model.of(ExtractionAnswer)
        texts = {shown(question, number) for number in numbers(question, "person")}
        first = 1 if grp == "scout" else 6
        assert texts == {f"Rule number {first + n} holds here." for n in range(5)}


def test_a_thread_that_is_deleted_while_it_is_read_leaves_nothing(stage: Stage) -> None:
    """The command that deletes it does not wait for a model; the worker cleans up then."""

    def deletes(question: Question) -> Mapping[str, Any]:
        with open_store(threads_file(stage.home, {}), write=True) as store:
            store.erase(1)
        return learns(question)

    stage.model.answer = deletes
    for _ in range(5):
        stage.say("Wilhelmina signs quotes here.")
    stage.work()
    assert len(stage.model.asked) == 1
    assert stage.texts() == []
    assert not [
        path
        for path in stage.home.root.rglob("*")
        if path.is_file() and b"Wilhelmina" in path.read_bytes()
    ]


def test_a_memory_that_a_person_deletes_is_gone_from_the_index_too(stage: Stage) -> None:
    """At the next look, without a model; and a file that was never there is no edit."""
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    stage.work()
    learned = stage.home.group("scout").learned
    assert (learned / "summary.md").exists()
    asked = len(stage.model.asked)
    (learned / "MEMORY.md").unlink()
    [told] = stage.work()
    assert {change["what"] for change in told.result["changes"]} == {"remove"}
    assert [path.name for path in learned.rglob("*") if path.is_file()] == []
    assert stage.work() == []
    assert len(stage.model.asked) == asked


def test_an_answer_with_half_a_character_is_read_without_it(stage: Stage) -> None:
    """Some servers cut an emoji in two; JSON can say that, and no file can hold it."""

    def cut(question: Question) -> Mapping[str, Any]:
        answer = learns(question)
        for one in (*answer.get("candidates", ()), *answer.get("add", ())):
            one["text"] += " \ud83d"
        left = [{"candidate": "c0\ud83d", "why": "\ud83d"}]
        return {**answer, "summary": "They talk. \ud83d", "leave": left}

    stage.model = Scripted(cut)
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    stage.work()
    assert "Rule number 5 holds here." in stage.memory()
    assert len(stage.model.asked) == 2
    assert tried(stage) == ()


@pytest.mark.parametrize("place", ["extracting.judge", "consolidating.decide"])
def test_an_answer_that_cannot_be_judged_is_a_bad_answer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whatever it fails for: so it is paid a few times, not for ever."""

    def fails(*_: object) -> None:
        raise UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(f"pannier.learning.work.{place}", fails)
    rules(stage, 5)
    stage.work()
    stage.clock.at += 7 * HOUR
    stage.work()
    assert {one.kind for one in tried(stage)} == {"answer"}

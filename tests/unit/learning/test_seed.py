"""Linger's page on agent memory, sentence by sentence: its Room is our thread, its run our turn,
its Task our background task. Each test quotes what it holds us to, and says where we deviate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hook.conftest import World

from pannier.clients.transcript import Entry, Message, Outcome, Reading, TurnBegins, TurnEnds
from pannier.learning.models.answers import ConsolidationAnswer, ExtractionAnswer
from pannier.learning.models.asking import Question
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file
from pannier_hook.estimate import estimate
from pannier_hook.events import Event

from .stage import HOUR, Stage, learns, shown

MINUTE = 60.0
RULE = "Anything over $40k needs my sign-off."


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "home", "scout", "other")


def turns(stage: Stage, number: int, *, grp: str = "scout", thread: str = "main") -> None:
    for _ in range(number):
        stage.say(grp=grp, thread=thread)


def happens(stage: Stage, *entries: Entry, task: bool = False, thread: str = "main") -> None:
    """Something else than a turn that succeeds."""
    stage.turns += 1
    stage.clock.at += 1
    event = Event(
        "stop", id=f"{stage.turns:016x}", at=int(stage.clock.at * 10**9), client="claude",
        session=f"scout-{thread}{'-task' * task}", thread=thread, task=task,
    )  # fmt: skip
    with open_store(threads_file(stage.home, {}), write=True) as store:
        store.apply("scout", event, Reading(entries))


def turn(
    stage: Stage, text: str, *more: Entry, inner: str = "", ends: Outcome = "succeeded"
) -> tuple[Entry, ...]:
    """A turn as entries."""
    key, at = f"own {stage.turns} {text[:20]}", int((stage.clock.at + 1) * 10**9)
    return (
        TurnBegins(key, at, inner),
        Message(f"{key} p", "person", "text", text, at, inner=inner),
        *more,
        Message(f"{key} a", "agent", "text", "I see.", at, inner=inner),
        TurnEnds(ends, at, inner=inner),
    )


def compacts(stage: Stage, thread: str = "main") -> None:
    key = f"compaction {stage.turns}"
    happens(stage, Message(key, "client", "compaction", "They spoke."), thread=thread)


def works(stage: Stage) -> list[str]:
    """What a worker does now."""
    return [told.work for told in stage.work()]


def remembers(stage: Stage, number: int = 5) -> None:
    """There is a memory."""
    turns(stage, number)
    stage.clock.at += 6 * HOUR
    assert works(stage) == ["extract", "consolidate"]


def recalled(stage: Stage, source: str, grp: str = "scout") -> str:
    """What Claude Code's hook gives the model when a context begins from this source."""
    root = stage.home.root
    world = World(stage.home.group(grp).root, root / "spool", root / "person")
    for folder in (world.spool, world.home):
        folder.mkdir(exist_ok=True)
    return world.start("claude", source).context


def extractions(stage: Stage) -> list[Question]:
    return stage.model.of(ExtractionAnswer)


def consolidations(stage: Stage) -> list[Question]:
    return stage.model.of(ConsolidationAnswer)


# ------------------------------------------------------------------------ When does memory update?


def test_memory_updates_on_its_own_schedule(stage: Stage) -> None:
    """“Memory updates on its own schedule, not the moment you speak. A lesson reaches other Rooms
    hours after you teach it.”"""
    stage.say(RULE)
    turns(stage, 4, thread="review")
    stage.work()
    assert stage.memory() == ""
    stage.clock.at += 6 * HOUR
    stage.work()
    assert RULE in stage.memory()
    assert RULE in recalled(stage, "startup")


def test_extraction_after_five_successful_runs(stage: Stage) -> None:
    """“The agent finishes five successful runs since the last extraction.”"""
    turns(stage, 4)
    happens(stage, *turn(stage, "This one fails.", ends="failed"))
    assert works(stage) == []
    turns(stage, 1)
    assert works(stage) == ["extract"]
    turns(stage, 4)
    assert works(stage) == []
    turns(stage, 1)
    assert works(stage) == ["extract"]


def test_runs_in_all_rooms_count_together(stage: Stage) -> None:
    """“Runs in all its Rooms count together.” Those of another agent do not."""
    turns(stage, 2)
    turns(stage, 2, thread="review")
    turns(stage, 3, grp="other")
    assert works(stage) == []
    turns(stage, 1, thread="planning")
    assert works(stage) == ["extract"]
    assert len(extractions(stage)) == 3


def test_consolidation_after_six_hours_without_a_successful_run(stage: Stage) -> None:
    """“The agent has had no successful run for six hours …”"""
    turns(stage, 5)
    assert works(stage) == ["extract"]
    stage.clock.at += 6 * HOUR - MINUTE
    assert works(stage) == []
    happens(stage, *turn(stage, "This one fails.", ends="failed"))
    stage.clock.at += MINUTE
    assert works(stage) == ["consolidate"]


def test_a_successful_run_begins_the_six_hours_anew(stage: Stage) -> None:
    """“… it waits until the agent is idle.”"""
    turns(stage, 5)
    stage.clock.at += 5 * HOUR
    turns(stage, 1)
    stage.clock.at += 5 * HOUR
    assert works(stage) == ["extract"]
    stage.clock.at += HOUR
    assert works(stage) == ["consolidate"]


def test_consolidation_when_a_room_conversation_is_compacted(stage: Stage) -> None:
    """“… or Linger compacts one of its Room conversations.” Also when the client does it itself."""
    turns(stage, 5)
    assert works(stage) == ["extract"]
    compacts(stage)
    assert works(stage) == ["consolidate"]


def test_consolidation_starts_early_when_many_candidates_wait(stage: Stage) -> None:
    """“It also starts early when many candidates are waiting.” Many are 40, unless it is set."""
    assert LearningSettings().consolidate_at == 40
    stage.settings["scout"] = LearningSettings(model="scripted:m", consolidate_at=5)
    turns(stage, 5)
    assert works(stage) == ["extract", "consolidate"]


def test_recall_in_a_new_conversation(stage: Stage) -> None:
    """“The agent starts a new conversation in a Room …” “A new conversation gets the latest memory
    at once.”"""
    remembers(stage)
    assert "Rule number 1 holds here." in recalled(stage, "startup")
    assert "Rule number 1 holds here." in recalled(stage, "clear")


def test_recall_after_a_compaction(stage: Stage) -> None:
    """“… or a conversation continues after Linger compacts it.”"""
    remembers(stage)
    assert "Rule number 1 holds here." in recalled(stage, "compact")


def test_extraction_shares_the_model(stage: Stage) -> None:
    """“Extraction waits for five runs because it shares the model with the conversations it reads.”
    So five turns cost one call, not five."""
    turns(stage, 5)
    stage.work()
    assert len(stage.model.asked) == 1


def test_consolidation_reads_the_whole_memory(stage: Stage) -> None:
    """“Consolidation reads the whole memory …”"""
    remembers(stage)
    turns(stage, 5)
    stage.clock.at += 6 * HOUR
    stage.work()
    for number in range(1, 6):
        assert f"Rule number {number} holds here." in consolidations(stage)[-1].data


def test_a_new_agent_starts_empty(stage: Stage) -> None:
    """“A new agent starts empty. Its first memory appears after its fifth successful run and the
    consolidation that follows. Until then, it has no `agent-memory/` folder and no note.” Ours has
    the folder, for it is mounted; it is empty."""
    turns(stage, 4)
    stage.clock.at += 24 * HOUR
    stage.work()
    turns(stage, 1)
    stage.work()
    assert list(stage.home.group("scout").learned.iterdir()) == []
    assert "agent-memory/summary.md" not in recalled(stage, "startup")
    stage.clock.at += 6 * HOUR
    stage.work()
    names = {file.name for file in stage.home.group("scout").learned.iterdir()}
    assert names == {"MEMORY.md", "summary.md", "session_summaries"}
    assert "agent-memory/summary.md" in recalled(stage, "startup")


def test_a_running_conversation_keeps_its_memory(stage: Stage) -> None:
    """“A running conversation keeps its memory. A conversation already under way gets new memory
    only after Linger compacts it, which happens to an idle Room conversation about every 12 hours.”
    How long a thread rests until then is set by `context.compaction.idle_after`."""
    remembers(stage)
    assert recalled(stage, "resume") == ""
    assert "Rule number 1 holds here." in recalled(stage, "compact")


def test_a_tasks_report_can_enter_memory(stage: Stage) -> None:
    """“Only Room conversations count. A Task's report to the agent is part of the Room, so it can
    enter memory.”"""
    report = Message("report", "tool", "result", "The build needs 8 GB.", call="c", tool="Task")
    turns(stage, 4)
    happens(stage, *turn(stage, "How much does the build need?", report))
    stage.work()
    assert "The build needs 8 GB." in extractions(stage)[0].data


def test_the_tasks_own_steps_do_not(stage: Stage) -> None:
    """“The Task's own steps and Document work do not, and their runs do not count toward
    extraction.” The same of a sub-agent's; there are no documents here."""
    turns(stage, 4)
    happens(stage, *turn(stage, "Steps of a task."), task=True)
    happens(stage, *turn(stage, "Steps of a sub-agent.", inner="agent-1"))
    assert works(stage) == []
    turns(stage, 1)
    assert works(stage) == ["extract"]
    [asked] = extractions(stage)
    assert "Steps of a" not in asked.data


def test_a_restart_does_not_reset_the_count(stage: Stage) -> None:
    """“A restart resets the count. When the Linger server restarts, the count of runs toward the
    next extraction starts again from zero.” Here we deviate: nothing that was said is passed over
    because of a restart."""
    turns(stage, 4)
    stage.work()
    restarted = Stage(stage.home.root.parent / "unused", "scout", "other")
    restarted.home, restarted.clock, restarted.turns = stage.home, stage.clock, stage.turns
    turns(restarted, 1)
    assert works(restarted) == ["extract"]


def test_a_correction_follows_the_same_path(stage: Stage) -> None:
    """“A correction you make in chat follows the same path. In the Room where you make it, the
    agent uses it at once, because it prefers what you say now over what it remembers. Other Rooms
    get it after the next extraction and consolidation.”"""

    def corrected(question: Question) -> dict[str, Any]:
        answer = learns(question)
        if question.answer is ExtractionAnswer or not stage.memory():
            return answer
        [old] = [line.split()[1] for line in question.data.splitlines() if "$40k" in line][:1]
        [new] = [one for one in answer["add"] if "$30k" in one["text"]]
        return {"revise": [{"lesson": old, "text": new["text"], "candidates": new["candidates"]}]}

    stage.model.answer = corrected
    stage.say(RULE)
    remembers(stage, 4)
    stage.say("Not $40k: anything over $30k needs my sign-off.")
    assert "what a person says now" in " ".join(recalled(stage, "startup").split()).lower()
    turns(stage, 4)
    assert "$40k needs" in recalled(stage, "startup")
    stage.clock.at += 6 * HOUR
    stage.work()
    assert "over $30k needs" in recalled(stage, "startup")
    assert "Anything over $40k" not in stage.memory()


# --------------------------------------------------------------------- How much can memory hold?


def windows(stage: Stage, tokens: int) -> None:
    """The smaller of the two models has a window of so many tokens."""
    stage.model.window = tokens


def test_the_size_follows_the_window(stage: Stage) -> None:
    """“The size of memory follows the context window of the agent's model. An agent on a smaller
    model keeps a shorter memory.”"""
    sizes = []
    for tokens in (6_000, 9_000):
        windows(stage, tokens)
        much(stage, 45)
        sizes.append(estimate(stage.memory()))
    assert sizes[0] <= 1_500 < sizes[1] <= 2_250


def much(stage: Stage, number: int) -> None:
    """So many long rules are said and learned."""
    for n in range(number):
        stage.say(f"Rule {stage.turns} says: {' '.join(f'w{stage.turns}x{n}' for n in range(12))}.")
    stage.clock.at += 6 * HOUR
    while stage.work():
        stage.clock.at += 6 * HOUR


def test_each_step_fits_in_half_the_window(stage: Stage) -> None:
    """“Each step fits in half the window. One extraction or consolidation uses at most half of the
    model's context window. The other half stays free for the Runtime's own prompt and the
    answer.”"""
    windows(stage, 8_000)
    much(stage, 40)
    assert len(extractions(stage)) > 1
    assert consolidations(stage)
    for asked in stage.model.asked:
        assert estimate(asked.instructions) + estimate(asked.data) <= 4_000
        assert asked.most <= 4_000


def test_the_memory_takes_at_most_half_of_that(stage: Stage) -> None:
    """“The memory takes at most half of that. The rest of the step is left for the candidates being
    merged. When the memory outgrows its share, consolidation shortens or drops its least useful
    sections.” The report says what was dropped."""
    windows(stage, 6_000)
    much(stage, 45)
    assert 1_000 < estimate(stage.memory()) <= 1_500
    with stage.learning() as learning:
        gone = learning.lessons("scout", gone=True)
        assert gone
        told = "".join(report.body for report in learning.books.reports("scout"))
    assert gone[0].text[:20] in told


def test_long_records_are_cut(stage: Stage) -> None:
    """“Long records are cut. Extraction keeps only the beginning of a very long message or tool
    result, such as a file or page that a tool returned.”"""
    stage.say("begin " + "middle " * 5_000 + "end")
    page = Message(
        "page", "tool", "result", "top " + "page " * 5_000 + "foot", call="c", tool="Get"
    )
    happens(stage, *turn(stage, "Get the page.", page))
    turns(stage, 3)
    stage.work()
    [asked] = extractions(stage)
    said = shown(asked, 1)
    assert said.startswith("begin middle")
    assert len(said) <= 4_000
    assert "top page page" in asked.data
    assert "foot" not in asked.data
    assert asked.data.count("page ") < 400


def test_session_summaries_cover_recent_rooms(stage: Stage) -> None:
    """“Session summaries cover recent Rooms. The folder keeps summaries for the 30 Rooms with the
    most recent activity. An older Room's summary is dropped after its candidates are merged.”"""
    for number in range(33):
        turns(stage, 1, thread=f"thread-{number}")
    stage.work()
    stage.clock.at += 6 * HOUR
    stage.work()
    stage.work()
    folder = stage.home.group("scout").learned / "session_summaries"
    names = {file.name.rsplit("-", 1)[0] for file in folder.iterdir()}
    assert names == {f"thread-{number}" for number in range(3, 33)}


def test_memory_keeps_what_fits(stage: Stage) -> None:
    """“Memory keeps what fits, not everything.”"""
    windows(stage, 6_000)
    much(stage, 45)
    with stage.learning() as learning:
        kept, gone = learning.lessons("scout"), learning.lessons("scout", gone=True)
    assert kept
    assert gone
    assert all(replace(lesson).text in stage.memory() for lesson in kept)

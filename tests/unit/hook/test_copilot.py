"""Copilot CLI: a prompt carries the memory when the session's log of events does not hold it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pannier_hook.unframing import read_back

from .conftest import Answer, World

SESSION = "0c3a0000-1111-4222-8333-444455556666"
ANSWER = {"type": "assistant.message", "data": {"content": "ok"}}
BEGUN = {"type": "session.compaction_start", "data": {"trigger": "threshold"}}
DONE = {"type": "session.compaction_complete", "data": {"success": True, "summaryContent": "S"}}
FAILED = {"type": "session.compaction_complete", "data": {"success": False, "summaryContent": "S"}}


def _text(answer: Answer) -> str:
    """What the client would put before its model; "" when nothing was printed."""
    if not answer.out:
        return ""
    given = json.loads(answer.out)
    assert set(given) == {"additionalContext"}
    text: str = given["additionalContext"]
    return text


class Session:
    """A session's log as the client writes it, and its prompts."""

    def __init__(self, world: World, state: Path | None = None) -> None:
        self.world = world
        self.file = (state or world.home / ".copilot") / "session-state" / SESSION / "events.jsonl"
        self.environment = {"COPILOT_HOME": str(state)} if state else {}

    def write(self, *events: object) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as log:
            log.writelines(json.dumps(e, separators=(",", ":")) + "\n" for e in events)

    def submit(self, text: str = "Hello", **more: str) -> Answer:
        """The hook's answer to a prompt, which the client does not record."""
        told: dict[str, object] = {"sessionId": SESSION, "timestamp": 1, "prompt": text, **more}
        words = ("user-prompt", "--client", "copilot")
        return self.world.run(*words, stdin=told, **self.environment)

    def prompt(self, text: str = "Hello", *, shown: str = "") -> str:
        """The memory that a prompt carried, or "". The client records what the model gets to see:
        that, or what another hook has `shown` in its place."""
        if not self.file.exists():
            answer = self.submit(text)
            self.write({"type": "session.start", "data": {}})
        else:
            answer = self.submit(text)
        assert answer.status == 0
        given = _text(answer)
        seen = f"{text}\n\n<system_reminder>\n{shown or given}\n</system_reminder>"
        data = {"content": text, "transformedContent": seen if given or shown else text}
        self.write(
            {"type": "hook.end", "data": {"output": {"additionalContext": given}}},
            {"type": "user.message", "data": data},
        )
        return given


@pytest.fixture
def session(world: World) -> Session:
    return Session(world)


def test_first_prompt_carries_memory_once(session: Session) -> None:
    """The first prompt gets the memory, though the session has no log yet; later ones nothing."""
    assert read_back(session.prompt()).complete
    session.write(ANSWER)
    assert session.prompt() == ""
    session.write(ANSWER)
    assert session.prompt() == ""
    assert session.world.errors() == []


def test_resume_carries_nothing(session: Session) -> None:
    """A resumed session holds the memory in its history, and so does a fork, which copies it."""
    session.prompt()
    session.write(ANSWER, {"type": "session.shutdown"}, {"type": "session.resume"})
    assert session.prompt() == ""


def test_a_turn_that_failed_keeps_the_memory(session: Session) -> None:
    """The client keeps the prompt of a turn that failed, and the memory with it."""
    session.prompt()
    session.write({"type": "session.error", "data": {"message": "400"}})
    assert session.prompt() == ""


def test_after_a_compaction(session: Session) -> None:
    """A compaction drops the memory: the next prompt carries it, once."""
    session.prompt()
    for _ in range(2):
        session.write(ANSWER, BEGUN, DONE)
        assert read_back(session.prompt()).complete
        session.write(ANSWER)
        assert session.prompt() == ""
    assert session.world.errors() == []


def test_a_prompt_within_a_compaction(session: Session) -> None:
    """What comes while the client compacts in the background stays: it counts."""
    session.prompt()
    session.write(ANSWER, BEGUN, DONE, ANSWER, BEGUN)
    assert session.prompt()
    session.write(ANSWER, DONE)
    assert session.prompt() == ""


@pytest.mark.parametrize("events", [(BEGUN,), (BEGUN, FAILED)])
def test_a_compaction_that_changed_nothing(session: Session, events: tuple[object, ...]) -> None:
    """A compaction that has not ended, or failed, drops nothing."""
    session.prompt()
    session.write(ANSWER, *events)
    assert session.prompt() == ""


def test_a_failed_compaction_does_not_hide_an_earlier_one(session: Session) -> None:
    """What the last compaction that succeeded has dropped stays dropped."""
    session.prompt()
    session.write(ANSWER, BEGUN, DONE, BEGUN, FAILED)
    assert session.prompt()


def test_after_going_back_to_the_first_prompt(session: Session) -> None:
    """Going back takes events out of the log: the prompt that comes instead carries the memory."""
    session.prompt()
    session.write(ANSWER)
    session.file.write_text('{"type":"session.start","data":{}}\n{"type":"session.info"}\n')
    assert session.prompt()
    assert session.world.errors() == []


def test_a_quoted_block_is_not_the_block(session: Session) -> None:
    """Other events that hold a prompt, such as a snapshot or a tool's output, do not count."""
    seen = "Hello\n\n<system_reminder>\n-----BEGIN PANNIER MEMORY 0-----"
    session.write(
        {"type": "session.start", "data": {}},
        {"type": "model.messages_snapshot", "data": {"messages": [{"content": seen}]}},
        {"type": "tool.execution_complete", "data": {"result": json.dumps({"a": seen})}},
    )
    assert session.prompt()


def test_a_block_that_a_person_writes(session: Session) -> None:
    """A prompt that quotes the reminder with the block does not count, wherever it stands in it."""
    block = "-----BEGIN PANNIER MEMORY 0-----\nx\n-----END PANNIER MEMORY 0-----"
    quoted = f"<system_reminder>\n{block}\n</system_reminder>"
    for text in (quoted, f"Look:\n\n{quoted}", f"{quoted}\n?"):
        session.write({"type": "session.start", "data": {}})
        seen = f"<current_datetime>now</current_datetime>\n\n{text}"
        session.write(
            {"type": "user.message", "data": {"content": text, "transformedContent": seen}}
        )
    assert session.prompt()
    session.write(ANSWER)
    assert session.prompt() == ""


def test_another_hook_beside_it(session: Session) -> None:
    """Where the client keeps what several hooks add, the memory is found among it."""
    block = "-----BEGIN PANNIER MEMORY 0-----\nx\n-----END PANNIER MEMORY 0-----"
    assert session.prompt(shown=f"MINE\n{block}\nMINE")
    session.write(ANSWER)
    assert session.prompt() == ""


def test_another_hook_that_takes_its_place(session: Session) -> None:
    """The client keeps one hook's text: when it is not ours, each prompt tries again and the spool
    says so."""
    assert session.prompt(shown="MINE")
    session.write(ANSWER)
    answer = session.submit()
    assert _text(answer)
    assert len(answer.errors) == 1
    assert "another hook" in answer.errors[0]


def test_a_log_that_is_not_written(session: Session) -> None:
    """A client that cannot write its state gets the memory once."""
    assert _text(session.submit())
    assert session.submit().out == b""


def test_sub_agents_get_nothing(session: Session) -> None:
    """The prompt of a sub-agent carries nothing: what it is told comes from the agent."""
    assert session.submit(agentId=SESSION).out == b""


def test_session_without_memory_gets_nothing_on_resume(session: Session) -> None:
    """A conversation that began without the hook does not get the memory on a resume."""
    session.write({"type": "session.start", "data": {}}, ANSWER)
    assert session.submit().out == b""


def test_state_elsewhere(world: World, tmp_path: Path) -> None:
    """COPILOT_HOME says where the log lies."""
    session = Session(world, tmp_path / "state")
    assert session.prompt()
    session.write(ANSWER, BEGUN, DONE)
    assert session.prompt()
    assert session.prompt() == ""


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "\0", "x" * 5000])
def test_hostile_session_ids(world: World, name: str) -> None:
    """A session id is never a path, and whatever it is, the hook ends well."""
    told: dict[str, object] = {"sessionId": name, "prompt": "Hello"}
    answer = world.run("user-prompt", "--client", "copilot", stdin=told)
    assert (answer.status, answer.out) == (0, b"")


def test_huge_log(session: Session) -> None:
    """Of a long log only the end is read; where that does not tell, nothing is injected."""
    session.prompt()
    with session.file.open("a") as log:
        log.truncate(log.tell() + (64 << 20))
        log.seek(0, 2)
        log.write("\n")
    assert session.prompt() == ""
    session.write(BEGUN, DONE)
    assert session.prompt()

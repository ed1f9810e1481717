"""A session of which its client wrote no transcript, and that was killed."""

from __future__ import annotations

import pytest

from pannier.clients.transcript import Message, Reader, State, TurnBegins, TurnEnds
from pannier.clients.transcripts import codex, gemini
from pannier_hook.events import Event, Log

READERS = {"codex": codex.read, "gemini": gemini.read}


def event(kind: str, number: int, **more: object) -> Event:
    values: dict[str, object] = {"id": f"{number:016x}", "at": number, "session": "s1"}
    return Event(kind, **(values | more))  # type: ignore[arg-type]


def prompted(read: Reader) -> State:
    reading = read(event("user-prompt", 1, details={"prompt": "precious"}), (), {})
    assert reading.entries == ()
    return reading.state


@pytest.mark.parametrize("name", READERS)
def test_its_prompts_are_kept(name: str) -> None:
    """When nothing more is heard of it, what the person said is all that is known, and is said
    once; should the turn end all the same, it is that turn which ends."""
    read = READERS[name]
    left = read(event("records", 2, details={"left": "true"}), (), prompted(read))
    begins, said = left.entries
    assert isinstance(begins, TurnBegins)
    assert isinstance(said, Message)
    assert (said.role, said.text, said.at) == ("person", "precious", 1)
    again = read(event("records", 3, details={"left": "true"}), (), left.state)
    assert again.entries == ()
    *_, ends = read(event("stop", 4, details={"last": "done"}), (), again.state).entries
    assert isinstance(ends, TurnEnds)
    assert ends.outcome == "succeeded"


@pytest.mark.parametrize("name", READERS)
def test_a_transcript_says_it_itself(name: str) -> None:
    """Of one that was written after all, the prompts stand there."""
    read = READERS[name]
    log = Log("sessions/rollout-x.jsonl", 0)
    left = read(event("records", 2, details={"left": "true"}, log=log), (), prompted(read))
    assert left.entries == ()

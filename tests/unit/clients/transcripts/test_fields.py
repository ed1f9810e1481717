"""Clients whose transcript cannot be read: the events' own fields tell the story."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.unit.clients.transcripts.claude_stories import told

from pannier.clients.transcript import Entry, Message, State, TurnBegins, TurnEnds
from pannier.clients.transcripts import fields
from pannier_hook.events import Event
from pannier_hook.messages import Message as Queued
from pannier_hook.messages import frame

QUEUED = frame(Queued("0123456789abcdef", "The bus leaves at six.", at=1, sender="bob"))


def event(number: int, kind: str, *, agent: str = "", **details: str) -> Event:
    return Event(kind, id=f"{number:016x}", at=number * 1000, agent=agent, details=details)


def read(*events: Event) -> list[Entry]:
    return list(_read(events))


def _read(events: tuple[Event, ...]) -> Iterator[Entry]:
    state: State = {}
    for one in events:
        reading = fields.read(one, (), state)
        state = json.loads(json.dumps(reading.state))
        yield from reading.entries


def test_a_turn() -> None:
    """Prompt, tool and last word make a turn that succeeded."""
    entries = read(
        event(1, "session-start", source="startup"),
        event(2, "user-prompt", prompt="what is there?"),
        event(3, "post-tool", tool="shell", call="c1", input='{"command":"ls"}', output="a\nb"),
        event(4, "stop", last="a and b"),
        event(5, "session-end"),
    )
    assert told(entries) == [
        "turn begins",
        "person text: what is there?",
        'agent call: {"command":"ls"}',
        "tool result: a",
        "agent text: a and b",
        "turn succeeded",
    ]
    messages = [e for e in entries if isinstance(e, Message)]
    assert [(m.call, m.tool) for m in messages if m.role in ("agent", "tool")][:2] == [
        ("c1", "shell"),
        ("c1", "shell"),
    ]
    positions = [m.position for m in messages]
    assert positions == sorted(set(positions))


def test_repeated_events_have_the_same_keys() -> None:
    """An event that comes again brings no new message and no new turn."""
    prompt, stop = event(1, "user-prompt", prompt="a"), event(2, "stop", last="b")
    once, twice = read(prompt, stop), read(prompt, stop, prompt, stop)
    assert _keys(once) == _keys(twice)


def _keys(entries: list[Entry]) -> set[str]:
    return {entry.key for entry in entries if isinstance(entry, Message | TurnBegins)}


def test_queue() -> None:
    """A message of the queue in a prompt is nobody's word; one at a stop begins a turn."""
    entries = read(
        event(1, "user-prompt", prompt=f"hello\n{QUEUED}"),
        event(2, "delivered", messages="0123456789abcdef"),
        event(3, "stop", last="noted"),
        event(4, "delivered", messages="fedcba9876543210"),
        event(5, "stop", last="noted, too", active="true"),
    )
    assert told(entries) == [
        "turn begins",
        "person text: hello",
        "pannier message: -----BEGIN PANNIER MESSAGE 0123456789abc",
        "agent text: noted",
        "turn succeeded",
        "turn begins",
        "agent text: noted, too",
        "turn succeeded",
    ]


def test_queue_beside_a_prompt() -> None:
    """A message that the client added to a prompt is known only from its delivery."""
    entries = read(
        event(1, "user-prompt", prompt="hello"),
        event(2, "delivered", messages="0123456789abcdef", prompt=QUEUED),
        event(3, "stop", last="noted"),
    )
    assert told(entries) == [
        "turn begins",
        "person text: hello",
        "pannier message: -----BEGIN PANNIER MESSAGE 0123456789abc",
        "agent text: noted",
        "turn succeeded",
    ]


def test_going_on_after_a_stop() -> None:
    """A person's own hook that makes the agent go on prolongs the turn."""
    entries = read(
        event(1, "user-prompt", prompt="a"),
        event(2, "stop", last="b"),
        event(3, "stop", last="c", active="true"),
    )
    assert [e.key for e in entries if isinstance(e, TurnBegins)] == [f"{1:016x}/turn"] * 2


def test_without_a_stop() -> None:
    """A turn that no stop ended was interrupted: by the next prompt, or the session's end."""
    entries = read(
        event(1, "user-prompt", prompt="a"),
        event(2, "user-prompt", prompt="b"),
        event(3, "session-end"),
        event(4, "session-end"),
    )
    ends = [e for e in entries if isinstance(e, TurnEnds)]
    assert [(e.outcome, e.reason) for e in ends] == [
        ("interrupted", fields.NO_STOP),
        ("interrupted", fields.SESSION_ENDED),
    ]


def test_api_failure() -> None:
    """A stop that names an error, or a session that ends with one, ends a turn that has failed."""
    entries = read(event(1, "user-prompt", prompt="a"), event(2, "stop", error="overloaded"))
    [end] = [e for e in entries if isinstance(e, TurnEnds)]
    assert (end.outcome, end.reason) == ("failed", "overloaded")
    entries = read(event(1, "user-prompt", prompt="a"), event(2, "session-end", reason="error"))
    [end] = [e for e in entries if isinstance(e, TurnEnds)]
    assert (end.outcome, end.reason) == ("failed", fields.FAILED)


def test_compaction_and_sub_agent() -> None:
    """A compaction's summary is the client's; a sub-agent's stop ends no turn of a person's."""
    entries = read(
        event(1, "user-prompt", prompt="a"),
        event(2, "stop", agent="helper", last="done"),
        event(3, "post-compact", summary="so far"),
    )
    assert told(entries) == ["turn begins", "person text: a", "client compaction: so far"]
    assert told(entries, inner="helper") == ["turn begins", "agent text: done", "turn succeeded"]

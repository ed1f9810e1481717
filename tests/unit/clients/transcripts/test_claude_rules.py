"""What holds for whatever stands in a transcript of Claude Code's."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.clients.transcripts.claude_stories import (
    NAMES,
    HandOver,
    event_of,
    hand_overs,
    read,
)

from pannier.clients.transcript import Entry, Line, Message
from pannier.clients.transcripts import claude
from pannier_hook.events import Log

STORIES = {name: hand_overs(name) for name in NAMES}
RECORDS = [line.data for parts in STORIES.values() for part in parts for line in part.lines]
TOKENS = ("type", "uuid", "parentUuid", "message", "content", "subtype", "attachment", "prompt")

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["user", "assistant", "attachment", "system", "text", "tool_result", "u1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(TOKENS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(st.sampled_from(NAMES), st.data())
@settings(max_examples=150, deadline=None)
def test_any_split_says_the_same(story: str, data: st.DataObject) -> None:
    """However the records are spread over hand-overs, they say the same."""
    split: list[HandOver] = []
    for part in STORIES[story]:
        count = len(part.lines)
        cuts = data.draw(st.lists(st.integers(0, count), max_size=5)) if count else []
        at = 0
        for cut in sorted(cuts):
            split.append(early(part, part.lines[at:cut]))
            at = cut
        split.append(HandOver(part.event, part.lines[at:]))
    assert read(split) == read(STORIES[story])


def early(part: HandOver, lines: tuple[Line, ...]) -> HandOver:
    """Some of the lines, with an event before: what was left over comes with the next one."""
    event, log = part.event, part.event.log
    assert log is not None
    before = event_of(
        event.kind,
        id=event.id,
        at=event.at,
        session=event.session,
        details=event.details,
        log=Log(log.name, log.offset, more=True),
    )
    return HandOver(before, lines)


@given(st.sampled_from(NAMES), st.integers(0, 10))
@settings(max_examples=50, deadline=None)
def test_repeated_records_have_the_same_keys(story: str, again: int) -> None:
    """Records that are handed over again, all or from some event on, bring no new message."""
    parts = STORIES[story]
    once = keys(read(parts))
    assert set(keys(read([*parts, *parts[again:]]))) == set(once)
    assert set(keys(read(parts[again:]))) <= set(once)


def keys(entries: list[Entry]) -> list[str]:
    return [entry.key for entry in entries if isinstance(entry, Message)]


@given(st.lists(st.binary(max_size=60) | values.map(lambda v: json.dumps(v).encode()), max_size=8))
@settings(max_examples=300, deadline=None)
def test_garbage_is_kept(lines: list[bytes]) -> None:
    """Whatever stands in a line, it is read without an error, and can be stored as text."""
    storable(lines)


@given(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=6), st.data())
@settings(max_examples=300, deadline=None)
def test_broken_records_are_kept(records: list[bytes], data: st.DataObject) -> None:
    """A real record with something else in some place of it is read without an error."""
    storable([json.dumps(_broken(json.loads(record), data)).encode() for record in records])


def _broken(value: Any, data: st.DataObject) -> Any:
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        name = data.draw(st.sampled_from(sorted(value)))
        return {**value, name: _broken(value[name], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], _broken(value[at], data), *value[at + 1 :]]
    return data.draw(values)


def storable(lines: list[bytes]) -> None:
    numbered = tuple(Line(".claude/projects/p/s.jsonl", 99 * n, d) for n, d in enumerate(lines))
    reading = claude.read(event_of("stop", id="0" * 16), numbered, {})
    json.dumps(reading.state).encode()
    for entry in reading.entries:
        for value in vars(entry).values():
            assert not isinstance(value, str) or value.encode("utf-8") is not None
            assert not isinstance(value, int) or -(1 << 63) <= value < 1 << 63


@given(values)
@settings(max_examples=100, deadline=None)
def test_any_state_will_do(state: Any) -> None:
    """A state that was written by somebody else is no error; what does not fit is forgotten."""
    [part] = [part for part in STORIES["parallel"] if part.event.kind == "stop"]
    for odd in (state, {"speakers": state}, {"speakers": {"": state}}, {"calls": state}):
        if isinstance(odd, dict):
            assert claude.read(part.event, part.lines, odd).entries


def test_state_stays_small() -> None:
    """What is remembered does not grow with the number of turns beyond a bound."""
    lines = []
    for turn in range(3000):
        lines += [
            record("user", f"u{turn}", f"d{turn - 1}", message={"content": "again"}),
            record("assistant", f"a{turn}", f"u{turn}", message={"content": "ok", "id": "m"}),
            record("system", f"d{turn}", f"a{turn}", subtype="turn_duration"),
        ]
    numbered = tuple(Line("s.jsonl", 99 * n, data) for n, data in enumerate(lines))
    reading = claude.read(event_of("stop", id="0" * 16), numbered, {})
    assert len(keys(list(reading.entries))) == 6000
    assert len(json.dumps(reading.state)) < 100_000


def record(kind: str, uuid: str, parent: str, **more: object) -> bytes:
    return json.dumps({"type": kind, "uuid": uuid, "parentUuid": parent, **more}).encode()

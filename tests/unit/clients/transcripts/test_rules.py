"""What holds for the readers of Codex and Gemini CLI, whatever they are given."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pannier.clients.transcript import Entry, Line, Message, State
from pannier_hook.events import Log

from .stories import ALL, READERS, entries, event_of, hand_overs, keys, lines_of

LOGS = {
    "codex": ".codex/sessions/2026/11/29/rollout-2026-11-29T23-35-22-s.jsonl",
    "gemini": ".gemini/tmp/files/chats/session-2026-11-29T23-59-01234567.jsonl",
}
FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
STORIES = pytest.mark.parametrize(("client", "story"), ALL, ids=lambda name: name)


def _transcripts(client: str, story: str) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """Each session's records, in the order in which they were handed over."""
    sessions: dict[str, tuple[Line, ...]] = {}
    for one in hand_overs(client, story):
        session = one.event.session
        sessions[session] = sessions.get(session, ()) + one.lines
    yield from sessions.items()


def _read(
    client: str, session: str, given: tuple[Line, ...], cuts: list[int], *, forget: bool = False
) -> list[Entry]:
    """In hand-overs that end at `cuts`; with `forget`, without the state of the one before."""
    found: list[Entry] = []
    state: State = {}
    ends = sorted({cut % (len(given) + 1) for cut in cuts} | {len(given)})
    for begin, end in zip([0, *ends], ends, strict=False):
        log = Log(given[begin].log, given[begin].offset) if begin < end else None
        event = event_of(client, session=session, log=log)
        reading = READERS[client](event, given[begin:end], {} if forget else state)
        state = json.loads(json.dumps(dict(reading.state)))
        found += reading.entries
    return found


def _messages(found: list[Entry]) -> list[str]:
    return [entry.key for entry in found if isinstance(entry, Message)]


@STORIES
@FEW
@given(cuts=st.lists(st.integers(0, 200), max_size=6))
def test_hand_overs_may_end_anywhere(client: str, story: str, cuts: list[int]) -> None:
    """However the records are cut into hand-overs, the same is said once, in the same order."""
    for session, lines in _transcripts(client, story):
        whole = _messages(_read(client, session, lines, []))
        assert len(set(whole)) == len(whole)
        assert _messages(_read(client, session, lines, cuts)) == whole


@STORIES
@FEW
@given(cuts=st.lists(st.integers(0, 200), max_size=6))
def test_nothing_is_new_without_the_state(client: str, story: str, cuts: list[int]) -> None:
    """A reader that has forgotten everything finds nothing that was not found before."""
    if (client, story) == ("codex", "agent"):
        # Where the copy of the parent's records ends stands at the beginning of the file only.
        cuts = []
    known = keys(entries(client, story))
    for session, lines in _transcripts(client, story):
        assert keys(_read(client, session, lines, cuts, forget=True)) <= known


@STORIES
def test_a_transcript_may_come_again(client: str, story: str) -> None:
    """The same records from the beginning, to a reader that knows them, say nothing new."""
    known = keys(entries(client, story))
    for session, lines in _transcripts(client, story):
        assert keys(_read(client, session, lines + lines, [len(lines)])) <= known


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(
        (
            *("type", "payload", "item", "id", "call_id", "content", "text", "turn_id", "usage"),
            *("ordinal", "timestamp", "output", "arguments", "summary", "action", "changes"),
            *("$set", "$rewindTo", "messages", "toolCalls", "result", "thoughts", "tokens"),
            *("functionResponse", "response", "displayContent", "sessionId", "history_base"),
        )
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names(), inner, max_size=5),
    max_leaves=12,
)


def _records(client: str) -> st.SearchStrategy[object]:
    """Anything, and what looks like a record of the client's."""
    kinds = {
        "codex": ("session_meta", "response_item", "event_msg", "turn_context", "compacted"),
        "gemini": ("user", "gemini", "info", "error"),
    }[client]
    inner = (
        *("message", "reasoning", "function_call", "function_call_output", "task_started"),
        *("task_complete", "turn_aborted", "error", "item_completed", "CommandExecution"),
    )
    payload = st.builds(
        lambda kind, rest: {**rest, "type": kind},
        st.sampled_from(inner),
        st.dictionaries(_names(), JSON, max_size=6),
    )
    shaped = st.builds(
        lambda kind, rest, value, id: {"id": id, **rest, "type": kind, "payload": value},
        st.sampled_from(kinds),
        st.dictionaries(_names(), JSON, max_size=6),
        payload,
        st.sampled_from(("a", "b")),
    )
    return JSON | shaped


@pytest.mark.parametrize("client", READERS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_nothing_in_a_record_is_an_error(client: str, data: st.DataObject) -> None:
    """Whatever stands in records, a reader goes on, and its state is JSON."""
    given_ = data.draw(st.lists(_records(client), max_size=6))
    text = b"".join(json.dumps(one).encode() + b"\n" for one in given_)
    lines = tuple(lines_of(LOGS[client], text))
    state: State = {}
    for kind in ("stop", "session-end"):
        reading = READERS[client](event_of(client, kind, log=Log(LOGS[client], 0)), lines, state)
        state = json.loads(json.dumps(dict(reading.state)))
        for entry in reading.entries:
            assert isinstance(getattr(entry, "key", ""), str)


@pytest.mark.parametrize("client", READERS)
@settings(max_examples=100, deadline=None)
@given(state=st.dictionaries(st.sampled_from(("rollouts", "logs", "unwritten")), JSON))
def test_no_state_is_an_error(client: str, state: State) -> None:
    """A state of another version is as none."""
    [name] = {line.log for _, lines in _transcripts(client, "tools") for line in lines}
    for session, lines in _transcripts(client, "tools"):
        READERS[client](event_of(client, session=session, log=Log(name, 0)), lines, state)

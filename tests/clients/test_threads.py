"""Threads of the real clients: what the endpoint saw is what is stored, record by record."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import OK, Answer
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.threads import intake
from pannier.threads.rows import MessageRow, ThreadRow, TurnRow
from pannier.threads.store import Store, open_store, threads_file
from pannier.threads.view import beginning, view
from pannier_hook.events import decode

from .living import Living, living
from .stories import (
    AFTERWARDS,
    ANOTHER_WAY,
    CLEARED,
    COMPACTED,
    COUNTED,
    DELEGATED,
    FAILING,
    FORKED,
    ONE,
    PLAIN_STORIES,
    PROMPTS,
    SLOW,
    STORIES,
    SUMMARY,
    THREE,
    TWO,
)
from .wire import Item, seen

SPOKEN = ("person", "agent", "tool")

FAILED_TOOLS = {
    "claude": ("File does not exist", "Exit code 1"),
    # The command within the first script said nothing.
    "codex": ("", "Script failed"),
    "gemini": ("File not found", "Exit Code: 1"),
}
_ALWAYS = {"user-prompt", "stop"}
_BOTH_COMPACTIONS = {"pre-compact", "post-compact"}
EVENTS = {
    "claude": {*_ALWAYS, *_BOTH_COMPACTIONS, "session-start", "session-end", "records"},
    "codex": {*_ALWAYS, *_BOTH_COMPACTIONS, "session-start", "session-end"},
    "gemini": {*_ALWAYS, "session-start", "session-end"},
    "qwen": {*_ALWAYS, "session-start", "post-tool"},
    "copilot": {*_ALWAYS, "session-end", "post-tool"},
    "opencode": {*_ALWAYS, "session-start", "post-tool"},
}
"""The kinds of events that each client's story brings about."""
READABLE_SUMMARY = ("claude", "gemini")
"""What stands for the past of a Codex session is encrypted for its model."""


@dataclass(frozen=True)
class Told:
    """A client's story, and what the store made of it."""

    living: Living
    events: Mapping[str, bytes]
    """The files of its spool."""
    store: Store
    thread: ThreadRow

    @property
    def client(self) -> str:
        return self.living.client.name

    @property
    def given(self) -> Sequence[tuple[Request, Answer]]:
        return self.living.model.given

    @property
    def messages(self) -> tuple[MessageRow, ...]:
        return self.store.messages(self.thread.id, branch=False)

    @property
    def turns(self) -> tuple[TurnRow, ...]:
        return self.store.turns(self.thread.id)

    @property
    def kinds(self) -> set[str]:
        """The kinds of its events."""
        return {decode(event).kind for event in self.events.values()}

    @property
    def unasked(self) -> int:
        """How often the agent was asked to go on although nothing was left to do."""
        return len([r for r, answer in self.given if answer == OK and r.tools])

    def has(self, prompt: str) -> bool:
        """Whether this client's story has it."""
        return any(request.holds(prompt) for request, _ in self.given)

    def said(self, text: str) -> MessageRow:
        """The one message with this text."""
        [found] = [m for m in self.messages if m.text == text]
        return found

    def outcome(self, prompt: str) -> str:
        """Of the turn that this prompt began."""
        [turn] = [t for t in self.turns if t.id == self.said(prompt).turn]
        return turn.outcome

    def on_branch(self, text: str) -> bool:
        return self.said(text).id in {m.id for m in self.store.messages(self.thread.id)}


@pytest.fixture(scope="module")
def open_stores() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module", params=list(STORIES))
def told(
    request: pytest.FixtureRequest, engine: Engine, folder: Path, open_stores: ExitStack
) -> Told:
    """A client that was driven through its story, and whose spool was taken in."""
    return _told(engine, folder, open_stores, request.param)


@pytest.fixture(scope="module", params=list(PLAIN_STORIES))
def told_plainly(
    request: pytest.FixtureRequest, engine: Engine, folder: Path, open_stores: ExitStack
) -> Told:
    """The same for a client whose transcript is not read."""
    return _told(engine, folder, open_stores, request.param)


def _told(engine: Engine, folder: Path, open_stores: ExitStack, client: str) -> Told:
    alive = living(engine, folder / f"threads-{client}", clients.get(client))
    {**STORIES, **PLAIN_STORIES}[client](alive)
    spool = alive.home.group("scout").spool
    events = {file.name: file.read_bytes() for file in (spool / "new").iterdir()}
    _take_in(alive)
    store = open_stores.enter_context(open_store(threads_file(alive.home, os.environ)))
    return Told(alive, events, store, store.find_thread("scout"))


def _take_in(alive: Living) -> None:
    taken = intake.take_in(alive.home, os.environ, seconds=60)
    assert not taken.problems
    spool = alive.home.group("scout").spool
    assert not [*(spool / "new").iterdir(), *(spool / "rejected").glob("*")]


def _stored(message: MessageRow) -> Item:
    text = message.text
    if message.kind == "call" and text.startswith("{"):
        text = json.dumps(json.loads(text), sort_keys=True)
    tool = message.tool if message.kind == "call" else ""
    # Gemini CLI's transcript puts the tool's name before the id that went over the wire.
    call = message.call.removeprefix(f"{message.tool}__")
    return Item(message.role, message.kind, text, call, tool)


def test_each_event_comes(told: Told) -> None:
    """The client calls the hook for each event that is registered, without anything wrong; and no
    hook makes the agent go on."""
    assert told.kinds == EVENTS[told.client]
    assert told.unasked == 0


def test_everything_once_and_in_order(told: Told) -> None:
    """Every message, call and result that the endpoint saw is stored, once and in that order."""
    wanted = [item for item in seen(told.given, PROMPTS)[0] if item.text != SUMMARY]
    spoken = [m for m in told.messages if m.role in SPOKEN and not m.inner]
    found = [_stored(m) for m in spoken if not (m.role == "person" and m.text.startswith("/"))]
    assert found == wanted


def test_calls_have_their_results(told: Told) -> None:
    """Each call is followed by its one result, by the same tool, in the same turn."""
    calls = [m for m in told.messages if m.kind == "call"]
    results = {m.call: m for m in told.messages if m.kind == "result"}
    assert len(calls) == len(results) == len([m for m in told.messages if m.kind == "result"]) > 2
    for call in calls:
        result = results[call.call]
        assert (result.parent, result.turn) == (call.id, call.turn)
        assert result.tool == call.tool


def test_failed_tools(told: Told) -> None:
    """A tool that failed is marked, and no other."""
    failed = [m.text for m in told.messages if m.failed]
    wanted = FAILED_TOOLS[told.client]
    assert len(failed) == len(wanted)
    assert all(part in text for part, text in zip(wanted, failed, strict=True))


def test_outcomes(told: Told) -> None:
    """A turn that was answered succeeded; one whose model failed, or that a person broke off, did
    not. No other turn is counted."""
    outcomes = {prompt: told.outcome(prompt) for prompt in PROMPTS if told.has(prompt)}
    wrong = {FAILING: "failed", SLOW: "interrupted"}
    assert outcomes == {prompt: wrong.get(prompt, "succeeded") for prompt in outcomes}
    assert outcomes.keys() >= {ONE, TWO, THREE, COMPACTED, FAILING, SLOW, AFTERWARDS}
    assert len([turn for turn in told.turns if turn.counts]) == len(outcomes)


def test_usage(told: Told) -> None:
    """What an answered turn cost is known."""
    answered = [turn for turn in told.turns if turn.counts and turn.outcome == "succeeded"]
    assert all(turn.input > 0 and turn.output > 0 for turn in answered)


def test_a_compaction(told: Told) -> None:
    """The summary is stored once, as what it is, and the thread goes on after it."""
    [compaction] = [m for m in told.messages if m.kind == "compaction"]
    assert (SUMMARY in compaction.text) == (told.client in READABLE_SUMMARY)
    branch = [m.id for m in told.store.messages(told.thread.id)]
    before, after = told.said("The third thing is done.").id, told.said(COMPACTED).id
    assert [i for i in branch if i in (before, compaction.id, after)] == [
        before,
        compaction.id,
        after,
    ]


def test_memory_is_no_message_of_anybody(told: Told) -> None:
    """What pannier injected is marked as such, in each fresh context."""
    injected = [m for m in told.messages if "BEGIN PANNIER MEMORY" in m.text]
    assert {(m.role, m.kind) for m in injected} == {("pannier", "memory")}
    assert len(injected) == 2 + told.has(CLEARED)


def test_a_rewind_and_a_fork_are_branches(told: Told) -> None:
    """What was said before the client went back stays, beside the thread's path; so does what was
    said before a fork."""
    if not told.has(ANOTHER_WAY):
        pytest.skip("this client is not driven to go back: it takes a person at its terminal")
    assert told.on_branch(ANOTHER_WAY)
    assert not told.on_branch(AFTERWARDS)
    assert told.on_branch(COMPACTED)
    assert told.on_branch(FORKED) != told.has(DELEGATED)
    path = [m for m in told.store.messages(told.thread.id) if m.role == "person"]
    assert [m.text for m in path][:3] == [ONE, TWO, THREE]


def test_a_cleared_session_goes_on_in_the_thread(told: Told) -> None:
    """A new session follows what the thread stood at, after `/clear` as in a new container."""
    if not told.has(CLEARED):
        pytest.skip("driven with Claude Code alone")
    path = [m.text for m in told.store.messages(told.thread.id)]
    assert path.index(DELEGATED) < path.index(CLEARED)
    assert told.said(CLEARED).session != told.said(DELEGATED).session
    assert len(told.store.sessions(told.thread.id)) == 3


def test_the_context_is_shown_as_it_was_sent(told: Told) -> None:
    """What `threads show --context` counts stood in the client's last request; what the thread
    began with did not, before the summary or the `/clear`. The provider's count is the one that the
    endpoint gave."""
    found = view(told.store, told.thread)
    assert found is not None
    sources = {session.id: session.source for session in told.store.sessions(told.thread.id)}
    begin = beginning(told.store.places(told.thread.id), sources)
    path = told.store.messages(told.thread.id)
    asked = [m.text for m in path if m.role == "person"][-1]
    last = [request for request, _ in told.given if request.tools and request.holds(asked)][-1]
    answer = [m for m in path if m.role == "agent"][-1]
    assert not last.holds(answer.text)
    counted = [m for m in path if begin <= m.id < answer.id and m.kind in ("text", "result")]
    assert [m.text for m in counted if not last.holds(m.text)] == []
    assert (found.report.exact, found.report.tokens) == (True, last.tokens)
    first = next(m for m in path if m.role == "agent" and m.kind == "text")
    assert first.id < begin
    assert not last.holds(first.text)  # Of what comes later Gemini CLI keeps some.


def test_sub_agents_are_inner(told: Told) -> None:
    """What a sub-agent said is kept as its own, and its turn does not count."""
    if not told.has(DELEGATED):
        pytest.skip("driven with Claude Code alone")
    counted = told.said(COUNTED)
    assert counted.inner
    assert not told.on_branch(COUNTED)
    [turn] = [turn for turn in told.turns if turn.id == counted.turn]
    assert turn.inner == counted.inner


def test_handing_over_again_adds_nothing(told: Told) -> None:
    """All events once more: nothing is stored twice, and no outcome changes."""
    before = told.messages, told.turns, told.store.thread(told.thread.id)
    for name, event in told.events.items():
        (told.living.home.group("scout").spool / "new" / name).write_bytes(event)
    _take_in(told.living)
    assert (told.messages, told.turns, told.store.thread(told.thread.id)) == before


def test_events_alone(told_plainly: Told) -> None:
    """Without its transcript a client's prompts, calls, results and last messages are stored, once
    and in order, and so are the outcomes of its turns."""
    name = told_plainly.client
    assert told_plainly.kinds == EVENTS[name]
    assert told_plainly.unasked == 0
    shown = [(m.role, m.kind) for m in told_plainly.messages]
    first = shown.index(("agent", "text"))
    assert shown[0] == ("person", "text")
    assert set(shown[1:first]) == {("agent", "call"), ("tool", "result")}
    assert shown[1:first:2] == [("agent", "call")] * ((first - 1) // 2)
    assert shown[first + 1 :] == [("person", "text")]
    assert [m.text for m in told_plainly.messages if m.role == "person"] == [ONE, FAILING]
    assert told_plainly.said("The first thing is done.").id == told_plainly.messages[first].id
    *_, missing = (m for m in told_plainly.messages if m.kind == "result")
    assert [m for m in told_plainly.messages if m.failed] == [missing]
    # Qwen Code tells nobody of a turn that failed when there is no terminal.
    failed = "" if name == "qwen" else "failed"
    assert [turn.outcome for turn in told_plainly.turns] == ["succeeded", failed]


def test_tool_results_as_the_model_had_them(told_plainly: Told) -> None:
    """What a tool gave is stored as the endpoint saw it. Copilot CLI tells the model more of an
    error than the hook."""
    asked = [request for request, _ in told_plainly.given if request.tools]
    given = [m for m in told_plainly.messages if m.kind == "result"]
    results = [m.text for m in given if not (m.failed and told_plainly.client == "copilot")]
    assert results
    assert all(any(request.holds(text) for request in asked) for text in results)

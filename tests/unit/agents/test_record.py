"""What an agent in Python says and does reaches the sidecar: through the spool, and read as any
client's transcript is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from pannier.clients.transcript import (
    Entry,
    HeadMoves,
    Message,
    State,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.clients.transcripts import langchain as reader
from pannier.threads.parts import chunks
from pannier_agents import rollback
from pannier_hook.events import Event
from pannier_hook.inbox import file_name
from pannier_hook.messages import Message as Queued

from .conftest import Folders
from .model import FakeModel, agent_with, say, thread


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


@tool
def burn() -> str:
    """Raises."""
    raise RuntimeError("fire")


def entries(events: Sequence[Event]) -> Iterator[Entry]:
    states: dict[str, State] = {}
    for _, parts in groupby(events, lambda event: event.id):
        for chunk in chunks(list(parts)):
            session = chunk.event.session
            reading = reader.read(chunk.event, chunk.lines, states.get(session, {}))
            states[session] = reading.state
            yield from reading.entries


def messages(folders: Folders) -> list[Message]:
    """Each message once, as the store keeps them."""
    found: dict[str, Message] = {}
    for entry in entries(folders.events()):
        if isinstance(entry, Message):
            found.setdefault(entry.key, entry)
    return list(found.values())


def shown(folders: Folders) -> list[tuple[str, str, str]]:
    return [(one.role, one.kind, one.text) for one in messages(folders) if one.kind != "memory"]


def turns(folders: Folders) -> list[str]:
    ended = [entry for entry in entries(folders.events()) if isinstance(entry, TurnEnds)]
    return [entry.outcome for entry in ended]


def ask(agent: Any, text: str, name: str = "a") -> Any:
    return agent.invoke({"messages": [HumanMessage(text)]}, thread(name))


def calls_once(name: str, **arguments: str) -> Any:
    def answer(asked: list[BaseMessage]) -> AIMessage:
        if isinstance(asked[-1], ToolMessage):
            return AIMessage("done")
        call = {"name": name, "args": arguments, "id": f"call-{len(asked)}", "type": "tool_call"}
        usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        return AIMessage("I look.", tool_calls=[call], usage_metadata=usage)

    return answer


def send(folders: Folders, text: str, number: int = 1) -> None:
    message = Queued(f"{number:016x}", text, at=time.time_ns(), sender="bot")
    (folders.inbox / "new" / file_name(number, message)).write_bytes(message.encode())


def test_a_turn_with_a_tool(folders: Folders) -> None:
    """Prompt, call, result and answer are there once, in order, each following the one before; the
    call has its result, and the turn succeeded."""
    agent = agent_with(
        FakeModel(asked=[], answer=calls_once("look", where="here")),
        InMemorySaver(),
        folders.group(),
        tools=[look],
    )
    ask(agent, "look here")
    said = messages(folders)
    assert [(one.role, one.kind, one.text) for one in said if one.kind != "memory"] == [
        ("person", "text", "look here"),
        ("agent", "text", "I look."),
        ("agent", "call", '{"where": "here"}'),
        ("tool", "result", "nothing in here"),
        ("agent", "text", "done"),
    ]
    assert [one.role for one in said if one.kind == "memory"] == ["pannier"]
    by_key = {f"{one.parent.key}": one for one in said if one.parent is not None}  # type: ignore[union-attr]
    assert len(by_key) == len(said) - 1
    [call] = [one for one in said if one.kind == "call"]
    [result] = [one for one in said if one.kind == "result"]
    assert (call.call, call.tool) == (result.call, result.tool)
    assert by_key[call.key] == result
    assert turns(folders) == ["succeeded"]
    [usage] = {e for e in entries(folders.events()) if isinstance(e, Usage)}
    assert (usage.input, usage.output) == (10, 2)


def test_each_turn_hands_over_what_is_new(folders: Folders) -> None:
    """The second turn's records are the second turn's, also by another process."""
    saver, model = InMemorySaver(), FakeModel(asked=[])
    ask(agent_with(model, saver, folders.group()), "one")
    size = len(folders.events())
    ask(agent_with(model, saver, folders.group()), "two")
    later = [one.text for one in entries(folders.events()[size:]) if isinstance(one, Message)]
    assert later == ["two", "ok"]
    kinds = [event.kind for event in folders.events()]
    assert kinds.count("session-start") == 2
    sources = [e.details["source"] for e in folders.events() if e.kind == "session-start"]
    assert sources == ["startup", "resume"]
    offsets = [event.log.offset for event in folders.events() if event.log]
    assert offsets == sorted(set(offsets))


def test_a_model_that_raises(folders: Folders) -> None:
    """The turn failed, with the reason; its prompt is kept, and the next turn goes on from it."""

    def fails(_: list[BaseMessage]) -> AIMessage:
        raise RuntimeError("no credit")

    saver = InMemorySaver()
    with pytest.raises(RuntimeError):
        ask(agent_with(FakeModel(asked=[], answer=fails), saver, folders.group()), "one")
    ask(agent_with(FakeModel(asked=[]), saver, folders.group()), "two")
    assert [text for *_, text in shown(folders)] == ["one", "two", "ok"]
    ended = [entry for entry in entries(folders.events()) if isinstance(entry, TurnEnds)]
    assert [(end.outcome, end.reason) for end in ended] == [
        ("failed", "RuntimeError: no credit"),
        ("succeeded", ""),
    ]
    begun = [entry.key for entry in entries(folders.events()) if isinstance(entry, TurnBegins)]
    assert len(begun) == len(set(begun)) == 2


def test_a_tool_that_raises(folders: Folders) -> None:
    """The turn failed; at the next one the call gets a result that says that there is none, so that
    the model's provider takes the history."""
    saver = InMemorySaver()
    model = FakeModel(asked=[], answer=calls_once("burn"))
    with pytest.raises(RuntimeError, match="fire"):
        ask(agent_with(model, saver, folders.group(), tools=[burn]), "burn")
    model = FakeModel(asked=[])
    ask(agent_with(model, saver, folders.group(), tools=[burn]), "again")
    [asked] = model.asked
    kinds = [type(one).__name__ for one in asked]
    assert kinds == ["HumanMessage", "HumanMessage", "AIMessage", "ToolMessage", "HumanMessage"]
    assert [kind for _, kind, _ in shown(folders)] == [
        "text",
        "text",
        "call",
        "result",
        "text",
        "text",
    ]
    assert turns(folders) == ["failed", "succeeded"]
    [result] = [one for one in messages(folders) if one.kind == "result"]
    assert result.failed


def test_an_interrupted_turn(folders: Folders) -> None:
    """A turn that is cancelled counts as interrupted, and the cancellation is not swallowed."""

    async def run() -> None:
        asked = asyncio.Event()

        class Slow(FakeModel):
            async def _agenerate(self, *_: Any, **__: Any) -> Any:
                asked.set()
                await asyncio.Event().wait()

        agent = agent_with(Slow(asked=[]), InMemorySaver(), folders.group())
        turn = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("one")]}, thread("a")))
        await asked.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(run())
    assert turns(folders) == ["interrupted"]


def test_what_a_compaction_takes_away_was_recorded(folders: Folders) -> None:
    """Everything that was said is there once; the summary stands where the compaction was."""
    compaction: AgentMiddleware[Any, Any, Any] = SummarizationMiddleware(
        FakeModel(answer=say("the summary")), trigger=("messages", 6), keep=("messages", 1)
    )
    agent = agent_with(FakeModel(asked=[]), InMemorySaver(), folders.group(), between=[compaction])
    for text in ("one", "two", "three", "four"):
        ask(agent, text)
    said = shown(folders)
    assert [text for role, _, text in said if role == "person"] == ["one", "two", "three", "four"]
    assert [text for role, _, text in said if role == "agent"] == ["ok"] * 4
    assert [role for role, kind, _ in said if kind == "compaction"] == ["client"]
    assert turns(folders) == ["succeeded"] * 4


@pytest.mark.parametrize("state", ["gone", "full", "read-only"])
def test_a_spool_that_takes_nothing(folders: Folders, state: str) -> None:
    """The agent works; with the next event everything is handed over."""
    if state == "gone":
        folders.spool.rename(folders.root / "away")
    elif state == "full":
        (folders.spool / "tmp").write_text("in the way")
    else:
        (folders.spool / "new").symlink_to("/dev")
    agent = agent_with(FakeModel(asked=[]), InMemorySaver(), folders.group())
    assert ask(agent, "one")["messages"][-1].text == "ok"
    if state == "gone":
        (folders.root / "away").rename(folders.spool)
    elif state == "full":
        (folders.spool / "tmp").unlink()
    else:
        (folders.spool / "new").unlink()
    ask(agent, "two")
    assert [text for *_, text in shown(folders)] == ["one", "ok", "two", "ok"]


def test_branches_know_what_was_handed_over(folders: Folders) -> None:
    """After a rollback the thread goes on from the old message; nothing is doubled."""
    agent = agent_with(FakeModel(asked=[]), InMemorySaver(), folders.group())

    async def run() -> None:
        async def turn(text: str) -> None:
            await agent.ainvoke({"messages": [HumanMessage(text)]}, thread("a"))

        await turn("one")
        first = (await agent.aget_state(thread("a"))).values["messages"][-1].id
        await turn("two")
        await rollback(agent, "a", first, group=folders.group())
        await turn("three")

    asyncio.run(run())
    said = [one for one in messages(folders) if one.kind != "memory"]
    assert [one.text for one in said] == ["one", "ok", "two", "ok", "three", "ok"]
    parents = [one.parent for one in said]
    assert parents[2] == parents[4]
    moved = [entry for entry in entries(folders.events()) if isinstance(entry, HeadMoves)]
    assert [move.to for move in moved] == [parents[4]]


def test_a_message_of_the_queue_at_a_prompt(folders: Folders) -> None:
    """It is put beside what the person says, in its frame, and counts as delivered."""
    send(folders, "the build is red")
    model = FakeModel(asked=[])
    ask(agent_with(model, InMemorySaver(), folders.group()), "hello")
    assert [type(one).__name__ for one in model.asked[0]] == ["HumanMessage"] * 3
    assert "the build is red" in model.asked[0][2].text
    roles = [(role, kind) for role, kind, _ in shown(folders)]
    assert roles == [("person", "text"), ("pannier", "message"), ("agent", "text")]
    assert turns(folders) == ["succeeded"]
    assert not list((folders.inbox / "new").iterdir())
    assert len(list((folders.inbox / "done").iterdir())) == 1


def test_a_message_of_the_queue_at_a_turns_end(folders: Folders) -> None:
    """The agent goes on with it, in a turn of its own, and once: what comes meanwhile waits."""

    def answer(asked: list[BaseMessage]) -> AIMessage:
        send(folders, f"message {len(asked)}", len(asked))
        return AIMessage(f"heard {len(asked)}")

    model = FakeModel(asked=[], answer=answer)
    ask(agent_with(model, InMemorySaver(), folders.group()), "hello")
    assert [len(asked) for asked in model.asked] == [2, 4]
    assert [kind for _, kind, _ in shown(folders)] == ["text", "text", "message", "text"]
    assert turns(folders) == ["succeeded", "succeeded"]
    active = [e.details["active"] for e in folders.events() if e.kind == "stop"]
    assert active == ["false", "true"]
    assert len(list((folders.inbox / "new").iterdir())) == 1


@pytest.mark.parametrize(
    "given", ["hello", [("user", "hello")], [{"role": "user", "content": "hello"}]]
)
def test_other_forms_of_a_message(folders: Folders, given: Any) -> None:
    """A text, a pair or a dict is recorded as the message that it becomes, twice as two."""
    agent = agent_with(FakeModel(asked=[]), InMemorySaver(), folders.group())
    for _ in range(2):
        agent.invoke({"messages": given}, thread("a"))
    assert [text for *_, text in shown(folders)] == ["hello", "ok", "hello", "ok"]


def test_an_agent_without_threads(folders: Folders) -> None:
    """It works, with its memory; that nothing can be recorded is reported, once."""
    agent = agent_with(FakeModel(asked=[]), None, folders.group())
    for _ in range(2):
        answer = agent.invoke({"messages": [HumanMessage("hello")]})
        assert "The mug is blue." in answer["messages"][0].text
    [event] = folders.events()
    assert "needs a checkpointer" in event.details["text"]


def test_a_large_increment(folders: Folders) -> None:
    """More than fits into one file goes in parts, which together are the whole."""
    agent = agent_with(FakeModel(asked=[]), InMemorySaver(), folders.group())
    text = "ä" * 5_000_000
    ask(agent, text)
    parts = [event.part for event in folders.events() if event.kind == "user-prompt"]
    assert parts == [(1, 3), (2, 3), (3, 3)]
    assert [len(said) for *_, said in shown(folders)] == [len(text), 2]

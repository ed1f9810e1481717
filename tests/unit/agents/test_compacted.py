"""A compaction as it is recorded: the summary and the memory once, on the branch on which they
stand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.checkpoint.memory import InMemorySaver

from pannier.clients.transcript import After, Message
from pannier_agents import (
    Context,
    ContextSettings,
    ThreadState,
    compact,
    memory_middleware,
    rollback,
    tokens,
)
from pannier_agents.errors import SummaryError
from pannier_agents.settings import Compaction
from pannier_hook.unframing import read_back

from .conftest import Folders
from .model import Answer, FakeModel, say, thread
from .test_record import messages, turns

OK = say("ok")
SETTINGS = ContextSettings(
    window=6_000,
    compaction=Compaction(
        trigger_percent=50, reserve_tokens=1_000, keep_recent_tokens=500, min_messages=4
    ),
)


class Agents:
    """An agent with all of pannier's parts, and the models that it asks."""

    def __init__(self, folders: Folders, *, answer: Answer = OK) -> None:
        self.folders = folders
        self.saver = InMemorySaver()
        self.model = FakeModel(asked=[], answer=answer)
        self.summarizer = FakeModel(asked=[], answer=say("It was about mugs."))
        self.prompt = ""
        self.begin()

    def begin(self) -> None:
        """As in a new process."""
        middleware = memory_middleware(
            SETTINGS, summarizer=self.summarizer, group=self.folders.group()
        )
        [self.context] = [one for one in middleware if isinstance(one, Context)]
        self.agent: Any = create_agent(
            self.model,
            [],
            system_prompt=self.prompt or None,
            middleware=middleware,
            state_schema=ThreadState,
            checkpointer=self.saver,
        )

    async def say(self, text: str) -> None:
        await self.agent.ainvoke({"messages": [HumanMessage(text)]}, thread("a"))

    async def compacted(self) -> list[str]:
        """Turns until there was a compaction; what was said."""
        said: list[str] = []
        while not self.summarizer.asked:
            said.append(f"{len(said)} {'mug ' * 400}")
            await self.say(said[-1])
            assert len(said) < 20
        return said


def branch(folders: Folders) -> list[Message]:
    """From the last message back to the first, in order. One that names none follows what the
    session said last."""
    said = messages(folders)
    before = dict(zip((one.key for one in said), (None, *said), strict=False))
    found = {one.key: one for one in said}
    one: Message | None = said[-1]
    way: list[Message] = []
    while one is not None:
        way.append(one)
        one = found[one.parent.key] if isinstance(one.parent, After) else before[one.key]
    return way[::-1]


def memories(asked: list[BaseMessage]) -> list[str]:
    return [one.text for one in asked if read_back(one.text).complete]


def test_a_compaction_is_recorded(folders: Folders) -> None:
    """The summary and the new memory stand on the branch before what was said next; everything that
    was said is there once."""

    async def story() -> list[str]:
        agents = Agents(folders)
        said = await agents.compacted()
        folders.write("The mug is red.")
        await agents.say("more")
        return said

    said = asyncio.run(story())
    way = branch(folders)
    assert [one.text for one in way if one.role == "person"] == [*said, "more"]
    kinds = [(one.role, one.kind) for one in way]
    assert kinds[-6:] == [
        ("person", "text"),
        ("client", "compaction"),
        ("pannier", "memory"),
        ("agent", "text"),
        ("person", "text"),
        ("agent", "text"),
    ]
    assert kinds.count(("client", "compaction")) == 1
    assert kinds.count(("pannier", "memory")) == 2
    assert "It was about mugs." in way[-5].text
    assert len(messages(folders)) == len(way)
    assert turns(folders) == ["succeeded"] * (len(said) + 1)


def test_the_memory_stands_there_once(folders: Folders) -> None:
    """After a compaction the context has the memory of then, once, and keeps the same bytes in
    later calls and in another process, whatever the files say by then."""

    async def story() -> list[list[BaseMessage]]:
        agents = Agents(folders)
        await agents.say("hello")
        folders.write("The mug is red.")
        await agents.compacted()
        folders.write("The mug is green.")
        agents.begin()
        await agents.say("more")
        await agents.say("and more")
        return agents.model.asked

    asked = asyncio.run(story())
    found = [memories(one) for one in asked]
    assert [len(one) for one in found] == [1] * len(asked)
    assert "The mug is blue." in found[0][0]
    assert "The mug is red." in found[-1][0]
    assert found[-3] == found[-2] == found[-1]
    assert asked[-1][: len(asked[-2])] == asked[-2]
    assert asked[-1][0].text == found[-1][0]


def test_back_to_before_it(folders: Folders) -> None:
    """After a rollback to before the compaction, neither the context nor the branch has the
    summary; the old memory stands there, once."""

    async def story() -> list[BaseMessage]:
        agents = Agents(folders)
        await agents.say("hello")
        [*_, last] = (await agents.agent.aget_state(thread("a"))).values["messages"]
        await agents.compacted()
        await rollback(agents.agent, "a", last.id, group=folders.group())
        await agents.say("more")
        return agents.model.asked[-1]

    asked = asyncio.run(story())
    assert [one.text for one in asked[1:]] == ["hello", "ok", "more"]
    assert len(memories(asked)) == 1
    assert [one.kind for one in branch(folders)] == ["text", "memory", *["text"] * 3]
    assert len([one for one in messages(folders) if one.kind == "compaction"]) == 1


def test_a_compaction_without_a_turn(folders: Folders) -> None:
    """It is stored at once, before anybody speaks; what is said next follows it."""

    async def story() -> tuple[Agents, bool, bool]:
        agents = Agents(folders)
        for number in range(4):
            await agents.say(f"{number} {'mug ' * 200}")
        done = await compact(agents.agent, "a", agents.context)
        again = await compact(agents.agent, "a", agents.context)
        return agents, done, again

    agents, done, again = asyncio.run(story())
    assert (done, again) == (True, False)
    found = messages(folders)
    assert (found[-1].kind, found[-1].text) == ("compaction", "It was about mugs.")
    asyncio.run(agents.say("more"))
    assert [one.kind for one in branch(folders)][-4:] == ["compaction", "memory", "text", "text"]
    assert branch(folders)[-4].text == "It was about mugs."
    assert len(memories(agents.model.asked[-1])) == 1


def test_a_compaction_in_another_process(folders: Folders) -> None:
    """It keeps as much of the history as one in the process of the turn would, which knows the
    system prompt: what the provider counted beyond the messages is taken for it."""
    prompt = "Be brief. " * 300

    def answer(asked: list[BaseMessage]) -> AIMessage:
        count = tokens.of_messages(asked)
        usage = UsageMetadata(input_tokens=count, output_tokens=1, total_tokens=count + 1)
        return AIMessage("ok", usage_metadata=usage)

    async def kept(begin_anew: bool) -> int:
        agents = Agents(folders, answer=answer)
        agents.prompt = prompt
        agents.begin()
        for number in range(6):
            await agents.say(f"{number} {'mug ' * 150}")
        if begin_anew:
            agents.begin()
        assert await compact(agents.agent, "a", agents.context)
        asked = len(agents.model.asked)
        await agents.say("more")
        [sent] = agents.model.asked[asked:]
        return len(sent)

    assert asyncio.run(kept(True)) == asyncio.run(kept(False))


def test_a_turn_that_fails_after_it(folders: Folders) -> None:
    """The model fails after the summary was written: the summary is used at the next try, and
    recorded once."""
    fails = False

    def answer(asked: list[BaseMessage]) -> AIMessage:
        if fails and agents.summarizer.asked:
            raise RuntimeError("no answer")
        return AIMessage("ok")

    agents = Agents(folders, answer=answer)

    async def story() -> None:
        nonlocal fails
        fails = True
        try:
            await agents.compacted()
        except RuntimeError:
            fails = False
        await agents.say("more")

    asyncio.run(story())
    assert len(agents.summarizer.asked) == 1
    assert [one.kind for one in branch(folders)].count("compaction") == 1
    assert len(memories(agents.model.asked[-1])) == 1


def test_a_summarizer_that_fails(folders: Folders) -> None:
    """Who asks for a compaction is told why there is none, and everything is as it was."""

    def fails(_: list[BaseMessage]) -> AIMessage:
        raise RuntimeError("no credit")

    async def story() -> Any:
        agents = Agents(folders)
        agents.summarizer.answer = fails
        for number in range(4):
            await agents.say(f"{number} {'mug ' * 200}")
        before = await agents.agent.aget_state(thread("a"))
        with pytest.raises(SummaryError, match="RuntimeError: no credit"):
            await compact(agents.agent, "a", agents.context)
        assert (await agents.agent.aget_state(thread("a"))).config == before.config

    asyncio.run(story())
    assert not [one for one in messages(folders) if one.kind == "compaction"]

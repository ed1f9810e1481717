"""Threads of an agent in Python outlive its process, and can go back and forth: the same on SQLite
and on PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from psycopg import AsyncConnection

from pannier_agents import (
    UnknownCheckpoint,
    UnknownThread,
    checkpoints,
    open_checkpointer,
    ready,
    rollback,
)
from pannier_agents.group import Group
from pannier_hook.inbox import file_name
from pannier_hook.messages import ROLLBACK, Message
from tests.unit.agents.conftest import Folders
from tests.unit.agents.model import FakeModel, agent_with, thread

from .conftest import CHECKOUT


@dataclass(frozen=True)
class Processes:
    """Agents in processes of their own, all of one thread."""

    store: str
    thread: str
    folders: Folders

    def run(self, do: str, word: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "tests.agents.process", self.store, self.thread, do, word]
        environ = {**os.environ, **self.folders.group().environ}
        return subprocess.run(argv, cwd=CHECKOUT, env=environ, capture_output=True, text=True)

    def __call__(self, do: str, word: str) -> Any:
        done = self.run(do, word)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "group")


@pytest.fixture
def process(store: str, new_thread: Callable[[], str], folders: Folders) -> Processes:
    return Processes(store, new_thread(), folders)


def test_resumed_rolled_back_and_returned_to(process: Processes) -> None:
    """A thread is resumed in a new process, rolled back, continued, and returned to its other
    branch; neither branch sees what was said in the other."""
    process("say", "one")
    first = process("say", "two")
    assert first["said"] == ["one", "answer to one", "two", "answer to two"]
    assert first["asked"] == [["one", "answer to one", "two"]]
    one = first["ids"][1]

    assert process("back", one)["said"] == ["one", "answer to one"]
    other = process("say", "three")
    assert other["asked"] == [["one", "answer to one", "three"]]
    assert other["said"] == ["one", "answer to one", "three", "answer to three"]

    back = process("back", first["checkpoint"])
    assert back["said"] == first["said"]
    assert process("say", "four")["asked"] == [[*first["said"], "four"]]

    assert process("back", other["checkpoint"])["said"] == other["said"]
    assert back["count"] > other["count"] > first["count"]


@pytest.mark.parametrize("when", ["die", "die-early"])
def test_a_killed_process_loses_no_message(process: Processes, when: str) -> None:
    """What a person said to a process that was killed is there in the next one."""
    process("say", "one")
    assert process.run(when, "two").returncode == -signal.SIGKILL
    said = process("say", "three")["said"]
    assert said == ["one", "answer to one", "two", "three", "answer to three"]


@pytest.mark.parametrize("wrong", ["thread", "checkpoint", "empty", "other"])
def test_what_is_unknown(store: str, new_thread: Callable[[], str], wrong: str) -> None:
    """An unknown thread or checkpoint, and one of another thread, is an error that names it, and
    makes no history."""
    name, other, nobody = new_thread(), new_thread(), new_thread()

    async def run() -> None:
        async with open_checkpointer(store) as saver:
            agent = agent_with(FakeModel(asked=[]), saver, Group())
            for each in (name, other):
                await agent.ainvoke({"messages": [HumanMessage("hello")]}, thread(each))
            before = await checkpoints(saver, name)
            theirs = (await checkpoints(saver, other))[0].id
            to = {"checkpoint": "1ef4f797-8335-6428-8001-8a1503f9b875", "other": theirs}.get(
                wrong, ""
            )
            if wrong == "thread":
                with pytest.raises(UnknownThread, match=nobody):
                    await rollback(agent, nobody, before[0].id)
                with pytest.raises(UnknownThread, match=nobody):
                    await checkpoints(saver, nobody)
                assert not (await agent.aget_state(thread(nobody))).values
            else:
                with pytest.raises(UnknownCheckpoint, match=f"{name}.*{to!r}"):
                    await rollback(agent, name, to)
            assert await checkpoints(saver, name) == before

    asyncio.run(run())


def test_the_inbox_asks_for_a_rollback(
    store: str, new_thread: Callable[[], str], folders: Folders
) -> None:
    """Before the next input the thread goes back where the host asked for; what cannot be done is
    reported, and asked for no more."""
    name, group = new_thread(), folders.group()

    def ask(number: int, key: str) -> None:
        message = Message(f"{number:016x}", "", at=number, kind=ROLLBACK, checkpoint=key)
        (folders.inbox / "new" / file_name(number, message)).write_bytes(message.encode())

    async def steps(turn: Callable[[str], Awaitable[list[str]]], agent: Any) -> None:
        await turn("one")
        [*_, last] = (await agent.aget_state(thread(name))).values["messages"]
        await turn("two")
        ask(1, f"{name}/{last.id}")
        ask(2, f"{name}/nothing")
        prepared = await ready(agent, name, group=group)
        assert prepared.thread == name
        assert [f"thread {name!r} has no checkpoint 'nothing'" in p for p in prepared.problems] == [
            True
        ]
        assert await turn("three") == ["one", "ok", "three", "ok"]
        assert (await ready(agent, name, group=group)).problems == ()

    async def run() -> None:
        async with open_checkpointer(store) as saver:
            agent = agent_with(FakeModel(asked=[]), saver, group)

            async def turn(text: str) -> list[str]:
                given = {"messages": [HumanMessage(text)]}
                done = await agent.ainvoke(given, thread(name), durability="sync")
                return [one.text for one in done["messages"][1:]]

            await steps(turn, agent)

    asyncio.run(run())
    problems = [event.details["text"] for event in folders.events() if event.kind == "error"]
    assert len(problems) == 1


def test_several_processes_at_once(process: Processes) -> None:
    """Several that begin and write at the same time wait for each other: none fails."""
    argv = [sys.executable, "-m", "tests.agents.process", process.store]
    environ = {**os.environ, **process.folders.group().environ}
    started = [
        subprocess.Popen(
            [*argv, f"{process.thread}-{number}", "say", "hello"],
            cwd=CHECKOUT,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for each in started:
        output, errors = each.communicate(timeout=60)
        assert each.returncode == 0, errors
        assert json.loads(output)["said"] == ["hello", "answer to hello"]


def test_a_connection_that_breaks(
    postgres: str, new_thread: Callable[[], str], folders: Folders
) -> None:
    """After PostgreSQL hung up, as in a restart, the next turn has a connection again."""
    name = new_thread()

    async def run() -> None:
        async with open_checkpointer(postgres) as saver:
            agent = agent_with(FakeModel(asked=[]), saver, folders.group())
            await agent.ainvoke({"messages": [HumanMessage("one")]}, thread(name))
            async with await AsyncConnection.connect(postgres) as admin:
                await admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                )
            await agent.ainvoke({"messages": [HumanMessage("two")]}, thread(name))
            assert len((await agent.aget_state(thread(name))).values["messages"]) == 5

    asyncio.run(run())

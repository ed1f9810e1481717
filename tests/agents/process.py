"""An agent in a process of its own: `python -m tests.agents.process STORE THREAD DO WORD`.

`say TEXT`: a turn. `die TEXT`: a turn in which the process is killed as it asks its model;
`die-early TEXT`: when the text is written down, before the first step. `back ID`: a rollback. Each
prints, as JSON, what the thread says now, what the model was asked, and the id of the latest
checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from pannier_agents import checkpoints, open_checkpointer, ready, rollback
from pannier_agents.group import Group
from tests.unit.agents.model import FakeModel, agent_with, thread


def answer(asked: list[BaseMessage]) -> AIMessage:
    return AIMessage(f"answer to {asked[-1].text}")


def die(*_: object) -> AIMessage:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _kill_after_input(saver: Any) -> None:
    put = saver.aput

    async def aput(config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if metadata["source"] == "loop":
            die()
        return await put(config, checkpoint, metadata, versions)

    saver.aput = aput


async def main(store: str, name: str, do: str, word: str) -> None:
    group = Group()
    model = FakeModel(asked=[], answer=die if do == "die" else answer)
    async with open_checkpointer(store) as saver:
        if do == "die-early":
            _kill_after_input(saver)
        agent = agent_with(model, saver, group)
        if do == "back":
            await rollback(agent, name, word, group=group)
        else:
            await ready(agent, name, group=group)
            given = {"messages": [HumanMessage(word)]}
            await agent.ainvoke(given, thread(name), durability="sync")
        state = await agent.aget_state(thread(name))
        rows = await checkpoints(saver, name)
        said = {
            "said": [one.text for one in state.values["messages"][1:]],
            "ids": [one.id for one in state.values["messages"][1:]],
            "asked": [[one.text for one in asked[1:]] for asked in model.asked],
            "checkpoint": rows[0].id,
            "count": len(rows),
        }
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

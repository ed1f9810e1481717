"""What stays word for word, whatever gives way: the system's messages, the task, the latest
request."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from pannier_agents import Context
from pannier_agents.marks import Marks
from pannier_agents.messages import injected, is_injected, is_summary
from pannier_agents.view import request, task

from .conftest import Folders
from .model import FakeModel, agent_with, say, thread
from .pairing import in_messages
from .test_context import SETTINGS, look, works
from .test_fitting import World, steps
from .test_record import messages


def person(text: str) -> HumanMessage:
    return HumanMessage(text, id=text)


def texts(messages: list[BaseMessage]) -> list[str]:
    return [one.text for one in messages]


def test_the_task_is_all_that_was_said_first() -> None:
    """All messages of the first input, and all of the latest one with what the queue put beside
    it; what came between is neither. What is said in the middle of a turn takes no place of what
    it began with."""
    history = [
        injected("memory", "what is remembered"),
        *map(person, ["the specification", "the rules", "do it"]),
        AIMessage("done"),
        person("between"),
        *steps(0, 1, 20),
        AIMessage("done"),
        *map(person, ["look at this", "and that"]),
        injected("message", "beside"),
        *steps(1, 2, 20),
    ]
    assert texts(task(history)) == ["the specification", "the rules", "do it"]
    assert texts(request(history)) == ["look at this", "and that", "beside"]
    history += [person("a picture of a tool's"), *steps(2, 3, 20), person("a reminder")]
    assert texts(request(history)) == ["look at this", "and that", "beside", "a reminder"]
    assert texts(request([*history, AIMessage("done")])) == texts(request(history))
    assert task([]) == request([]) == []


def test_an_input_of_several_messages() -> None:
    """After a compaction each of them stands there word for word."""
    said = ["the specification", "the rules", "do it"]
    history = [*map(person, said), *steps(0, 200, 250)]
    now = World().decide(history, {}, 6_000)
    sent = [one.text for one in now.view.lead if not is_summary(one)]
    assert sent == said


@pytest.mark.parametrize("window", [6_000, 3_000])
def test_messages_of_the_system(window: int) -> None:
    """They stay before all else, each once, wherever in the history they were, and no summary is
    made of them."""
    system = [SystemMessage("Never delete.", id="s0"), SystemMessage("Be kind.", id="s1")]
    history: list[BaseMessage] = [system[0], injected("memory", "m " * 50), person("count")]
    history[1].id = "memory"
    world, marks = World(), Marks()
    for number in range(120):
        history += steps(number, number + 1, 250)
        if number == 20:
            history += [system[1], SystemMessage("Never delete.", id="again"), person("go on")]
        now = world.decide(history, marks, window)
        marks = now.marks
        assert now.used <= world.size(window).most
    assert now.view.messages[:2] == system
    assert is_injected(now.view.messages[2], "memory")
    assert texts(now.view.messages).count("Never delete.") == 1
    assert world.asked
    assert not any("Never delete." in one.text for asked in world.asked for one in asked)


def test_the_memory_stands_behind_the_system(folders: Folders) -> None:
    """From the first request on, also after compactions: no provider is sent a message of the
    system's behind others. All of it is recorded once."""
    model = FakeModel(answer=works(40), asked=[])
    context = Context(SETTINGS, summarizer=FakeModel(answer=say("Some.")), group=folders.group())
    agent = agent_with(model, InMemorySaver(), folders.group(), tools=[look], between=[context])
    given = [SystemMessage("Never delete."), HumanMessage("Count.")]
    agent.invoke({"messages": given}, thread("a") | {"recursion_limit": 500})
    for asked in model.asked:
        assert asked[0].text == "Never delete."
        assert is_injected(asked[1], "memory")
        assert asked[2].text == "Count."
        assert in_messages(asked) == []
    said = messages(folders)
    assert [one.text for one in said if one.role == "person"] == ["Count."]
    assert len([one for one in said if one.kind == "memory"]) > 1
    assert any(is_summary(one) for one in model.asked[-1])

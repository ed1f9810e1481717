"""The list that an agent is given: what is in it, in which order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, PIIMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from pannier_agents import Context, ContextSettings, Recall, Record, Spill, memory_middleware

from .conftest import Folders
from .model import FakeModel, thread


class Own(AgentMiddleware):
    """A person's."""


def test_the_order(folders: Folders) -> None:
    """What records and spills is outermost, what decides on the context innermost; a person's own
    stand between."""
    own, summarizer, settings = Own(), FakeModel(), ContextSettings(window=50_000)
    record, spill, between, recall, context = memory_middleware(
        settings, others=[own], summarizer=summarizer, group=folders.group()
    )
    assert isinstance(record, Record)
    assert isinstance(spill, Spill)
    assert between is own
    assert isinstance(recall, Recall)
    assert isinstance(context, Context)
    assert spill.settings == settings.spill_buffer
    assert (context.settings, context.summarizer) == (settings, summarizer)


def test_settings_of_the_group(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without settings, those of this container's group hold; what is switched off is left out, and
    what contradicts itself is refused with the reason."""
    said = {"window": 9_000, "compaction": {"keep_recent_tokens": 500, "reserve_tokens": 500}}
    off = {**said, "spill_buffer": {"enabled": False}}
    monkeypatch.setenv("PANNIER_CONTEXT", json.dumps(off))
    parts = {type(one): one for one in memory_middleware(group=folders.group())}
    assert list(parts) == [Record, Recall, Context]
    assert parts[Context].settings.window == 9_000  # type: ignore[attr-defined]
    wrong = {"pruning": {"soft_trim_chars": 9_000, "hard_clear_threshold": 8_000}}
    monkeypatch.setenv("PANNIER_CONTEXT", json.dumps(wrong))
    with pytest.raises(ValueError, match=r"soft_trim_chars .* is above"):
        memory_middleware(group=folders.group())


def test_what_is_redacted_before_it_is_recorded(folders: Folders) -> None:
    """What stands before pannier's list changes what is recorded, too: no address is in the spool,
    of a prompt, a result and an answer."""

    def answer(asked: list[BaseMessage]) -> AIMessage:
        if isinstance(asked[-1], ToolMessage):
            return AIMessage("Ask joe@secret.example.")
        return AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])

    @tool
    def look() -> str:
        """Look somebody up."""
        return "It is joe@secret.example."

    redact = PIIMiddleware(
        "email", apply_to_input=True, apply_to_output=True, apply_to_tool_results=True
    )
    model = FakeModel(asked=[], answer=answer)
    agent: Any = create_agent(
        model,
        [look],
        middleware=[redact, *memory_middleware(group=folders.group())],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": "I am ann@secret.example"}, thread("a"))
    handed = b"".join(one.encode() for one in folders.events())
    assert b"REDACTED_EMAIL" in handed
    assert b"@secret" not in handed
    assert not any("@secret" in one.text for asked in model.asked for one in asked)

"""What keeping an agent's context below its window costs and saves: a scripted agent that makes
2,000 model calls in one turn, and the time that the middleware takes for one call."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from langchain.agents.middleware import ModelRequest, SummarizationMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.runtime import Runtime

from pannier_agents.context import Context
from pannier_agents.group import Group
from pannier_agents.pruning import pruned
from pannier_agents.settings import ContextSettings

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.unit.agents.conftest import Folders
from tests.unit.agents.runs import Harbour, harbour
from tests.unit.agents.scripted import (
    WINDOW,
    Script,
    ScriptedModel,
    found,
    look,
    message_tokens,
    order,
)

SETTINGS = ContextSettings()
CALLS_AT_ONCE = 20
"""Calls that are timed together."""


@dataclass(frozen=True)
class Figures:
    """Of one run. Tokens as the model counts them."""

    sent: int
    without: int
    """The same requests, each with the whole history."""
    steady: float
    """The least share of a request that stands at the beginning of the next one, compactions and
    steps of pruning left out."""
    reused: float
    """The share of all requests that stands at the beginning of the next one."""
    steps: int
    """Steps of pruning."""
    summaries: int
    least: int
    """Summaries that nobody could do without, with the same settings."""
    largest: int
    """Tokens of the largest request."""


def figures(folder: Path, calls: int) -> Figures:
    """Run the scripted agent. Ends the process if a provider would have refused a request."""
    return asyncio.run(_figures(Folders(folder), folder / "threads.db", calls))


async def _figures(folders: Folders, path: Path, calls: int) -> Figures:
    asked, summarizer = (
        ScriptedModel(factor=1.2, profile={"max_input_tokens": WINDOW}) for _ in range(2)
    )
    options: Any = {"settings": SETTINGS, "asked": asked, "summarizer": summarizer}
    async with harbour(path, folders.group(), **options) as here:
        await here.work(0, calls)
        if asked.log.problems:
            sys.exit(f"bench: {asked.log.problems[0]}")
        return _figures_of(here, await here.stored())


def _figures_of(here: Harbour, stored: Sequence[AnyMessage]) -> Figures:
    sent, factor = here.model.log.sent, here.model.factor
    history = without = 0.0
    for message in stored:
        if isinstance(message, AIMessage):
            without += history
        history += message_tokens(message) * factor
    # What a compaction takes away and what decides whether it is due are pruned already.
    soft, hard = SETTINGS.pruning.soft_trim_chars, SETTINGS.pruning.hard_clear_threshold
    small = sum(message_tokens(pruned(one, soft, hard)) for one in stored) * factor
    limit = WINDOW * SETTINGS.compaction.trigger_percent / 100
    gain = limit - SETTINGS.compaction.keep_recent_tokens
    summaries = len(here.summarizer.summaries)
    breaks = here.model.log.breaks()
    steady = [one.share for one in sent[1:] if one not in breaks]
    shares = [one.share for one in sent[1:]]
    return Figures(
        sum(one.tokens for one in sent),
        int(without),
        min(steady, default=0.0),
        sum(shares) / len(shares),
        len(breaks) - summaries,
        summaries,
        max(0, ceil((small - limit) / gain)),
        max(one.tokens for one in sent),
    )


# ---- the time of one call ---------------------------------------------------------------------


def ours(before: list[AnyMessage], folder: Path, window: int) -> Ours:
    """Pannier's in a group of its own; above `window` tokens something is due."""
    return Ours(before, window, Folders(folder).group())


def history(messages: int) -> list[AnyMessage]:
    """A conversation of about so many messages."""
    script = Script(largest=5_000)
    said: list[AnyMessage] = [HumanMessage(order("Look.", 0, messages), id="h")]
    step = 0
    while len(said) < messages:
        said += _step(script, step)
        step += 1
    return said


def _step(script: Script, step: int) -> list[AnyMessage]:
    calls = script.calls(0, step)
    ids = [f"call_0_{step}_0_{k}" for k in range(len(calls))]
    made = [
        {"name": "look", "args": call._asdict(), "id": id}
        for call, id in zip(calls, ids, strict=True)
    ]
    said: list[AnyMessage] = [AIMessage("I look.", id=f"a{step}", tool_calls=made)]
    for call, id in zip(calls, ids, strict=True):
        said.append(ToolMessage(found(*call), id=f"r{id}", tool_call_id=id, name="look"))
    return said


@dataclass
class Theirs:
    """LangChain's middleware that summarizes, with a window in which nothing is due."""

    before: list[AnyMessage]
    window: int = 1_000_000_000
    call: Any = field(init=False)

    def __post_init__(self) -> None:
        model = ScriptedModel(profile={"max_input_tokens": self.window})
        middleware = SummarizationMiddleware(
            model, trigger=("fraction", 0.7), keep=("tokens", 20_000)
        )
        self.call = lambda messages: middleware.before_model({"messages": messages}, Runtime())

    def seconds(self) -> float:
        """Of a call, each with one step more than the one before."""
        script = Script(largest=5_000)
        messages, taken = list(self.before), 0.0
        for step in range(CALLS_AT_ONCE):
            messages = [*messages, *_step(script, 1_000_000 + step)]
            begin = time.perf_counter()
            self.call(messages)
            taken += time.perf_counter() - begin
        return taken / CALLS_AT_ONCE


@dataclass
class Ours(Theirs):
    """Pannier's."""

    group: Group | None = None

    def __post_init__(self) -> None:
        model = ScriptedModel(window=self.window, profile={"max_input_tokens": self.window})
        context = Context(SETTINGS, group=self.group)
        state: dict[str, Any] = {}

        def call(messages: list[AnyMessage]) -> None:
            request: ModelRequest[Any] = ModelRequest(
                model=model,
                messages=messages,
                system_message=SystemMessage("You work in a harbour's office."),
                tools=[look],
                state={"messages": messages, **state},  # type: ignore[arg-type]
                runtime=Runtime(),
            )
            response = context.wrap_model_call(request, _answer)
            if isinstance(response, ExtendedModelResponse) and response.command:
                state.update(response.command.update or {})

        self.call = call


def _answer(request: ModelRequest[Any]) -> ModelResponse[Any]:
    return ModelResponse(result=[AIMessage("Well.")])

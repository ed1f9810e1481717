"""What the model would be sent, in numbers, for a person. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from pannier_agents import tokens
from pannier_agents.budget import Budget
from pannier_agents.messages import is_injected, is_summary
from pannier_agents.planning import Weighed, staying
from pannier_agents.pruning import is_cleared, kept_in, text_of
from pannier_agents.view import request, task

_MOST = 200
"""Of the pruned and of the spilled results the newest are named."""
_LONGEST_NAME = 1_000
_LONGEST_SUMMARY = 200_000
_PARTS = ("memory", "task", "summary", "request", "said", "calls", "results")


@dataclass(frozen=True)
class Fixed:
    """Estimated tokens of what is no message."""

    system: int
    tools: int
    count: int
    """Of the tools."""

    @property
    def tokens(self) -> int:
        return self.system + self.tools

    @classmethod
    def of(cls, system: SystemMessage | None, tools: Sequence[object]) -> Fixed:
        said = tokens.of_message(system) if system else 0
        return cls(said, tokens.of_tools(tools), len(tools))


def report_of(now: Weighed, budget: Budget, fixed: Fixed) -> str:
    """The report as JSON; its form is in docs/context.md."""
    made = now.marks.get("compacted")
    budget = budget.beside(staying(now))
    report = {
        "window": budget.window,
        "limit": budget.limit,
        "tokens": now.used,
        "exact": now.scale.exact,
        "parts": [*_parts(now, fixed)],
        "summary": made["summary"][:_LONGEST_SUMMARY] if made and now.view.lead else "",
        "pruned": [*_pruned(now)][-_MOST:],
        "spilled": [*_spilled(now.messages)][-_MOST:],
    }
    return json.dumps(report, ensure_ascii=False, separators=(",", ":"))


def _parts(now: Weighed, fixed: Fixed) -> Iterator[dict[str, Any]]:
    tasks = {one.id for one in task(now.messages)}
    requests = {one.id for one in request(now.messages)}
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for one in now.view.messages:
        part = _part(one, tasks, requests)
        count[part] += 1
        size[part] += tokens.of_message(one)
    factor = now.scale.factor
    system, said = fixed.system + size["system"], int(fixed.system > 0) + count["system"]
    yield {"part": "system", "messages": said, "tokens": _by(system, factor)}
    yield {"part": "tools", "messages": fixed.count, "tokens": _by(fixed.tools, factor)}
    for part in _PARTS:
        yield {"part": part, "messages": count[part], "tokens": _by(size[part], factor)}


def _by(size: int, factor: float) -> int:
    return round(size * factor)


def _part(message: BaseMessage, tasks: set[str | None], requests: set[str | None]) -> str:
    if isinstance(message, SystemMessage):
        return "system"
    if is_injected(message, "memory"):
        return "memory"
    if message.id in tasks:
        return "task"
    if is_summary(message):
        return "summary"
    if message.id in requests:
        return "request"
    if isinstance(message, ToolMessage):
        return "results"
    calls = isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls)
    return "calls" if calls else "said"


def _pruned(now: Weighed) -> Iterator[dict[str, Any]]:
    for before, after in zip(now.messages[now.view.start :], now.view.tail, strict=True):
        if isinstance(after, ToolMessage) and after is not before:
            old, new = text_of(before.content), text_of(after.content)
            yield {
                **_call(after),
                "from": len(old),
                "to": len(new),
                "how": "cleared" if is_cleared(new) else "trimmed",
            }


def _spilled(messages: Sequence[BaseMessage]) -> Iterator[dict[str, Any]]:
    for one in messages:
        if isinstance(one, ToolMessage) and (found := kept_in(text_of(one.content))):
            path, size = found
            yield {**_call(one), "path": path[:_LONGEST_NAME], "bytes": size}


def _call(message: ToolMessage) -> dict[str, str]:
    id, tool = message.tool_call_id, message.name or ""
    return {"call": id[:_LONGEST_NAME], "tool": tool[:_LONGEST_NAME]}

"""A scripted agent that works for thousands of calls in one turn, and a model that checks what it
is asked as a provider would.

Where a script stands is told by the request alone, so that rollbacks, restarts and several threads
at once need nothing else.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, SkipValidation

from . import pairing

WINDOW = 128_000

# ---- the pretended tokenizer ------------------------------------------------------------------

IMAGE_TOKENS = 1_600
MESSAGE_TOKENS = 6


@lru_cache(maxsize=50_000)
def text_tokens(text: str) -> float:
    """3.4 ASCII characters a token, less in what is code, 1.1 tokens a character of Chinese or
    Japanese."""
    others = (len(text.encode("utf-8", "replace")) - len(text)) / 2
    a_token = 3.4 if text.count(" ") * 9 > len(text) else 2.9
    return (len(text) - others) / a_token + others * 1.1


def message_tokens(message: BaseMessage) -> float:
    count = MESSAGE_TOKENS + _content_tokens(message.content)
    if isinstance(message, AIMessage):
        count += sum(text_tokens(json.dumps(call["args"])) + 12 for call in message.tool_calls)
    return count


def _content_tokens(content: Any) -> float:
    if isinstance(content, str):
        return text_tokens(content)
    return sum(
        text_tokens(block if isinstance(block, str) else block["text"])
        if isinstance(block, str) or "text" in block
        else IMAGE_TOKENS
        for block in content
    )


# ---- the tool ---------------------------------------------------------------------------------

_ENGLISH = (
    "The ferry to Ærø leaves at 07:40, and nobody had told the harbour master. "
    "She counted the crates again: forty-one, one fewer than the list said.\n"
)
_CODE = (
    'def load(path: Path, *, strict: bool = True) -> dict[str, Any]:\n    """Read it."""\n'
    "    with path.open(encoding='utf-8') as file:\n        return json.load(file)['rows'][-1]\n\n"
)
_CHINESE = (
    "渡轮每天早上七点四十分出发，港口的负责人却完全不知道这件事。箱子又数了一遍，少了一个。\n"
)
_JAPANESE = (
    "フェリーは毎朝七時四十分に出ますが、港の人は誰も聞いていませんでした。箱は一つ足りません。\n"
)
_LONG = 70_000
KINDS = {
    name: (text * (_LONG // len(text) + 2))
    for name, text in (
        ("english", _ENGLISH),
        ("code", _CODE),
        ("chinese", _CHINESE),
        ("japanese", _JAPANESE),
    )
}
_PICTURE = "iVBORw0KGgo="


def found(kind: str, size: int, number: int, shape: str = "text") -> Any:
    """A tool's result: `size` characters, different for each number."""
    begin = number * 37 % 1_000
    text = f"[{number}] " + KINDS[kind][begin : begin + size]
    if shape == "text":
        return text
    middle = len(text) // 2
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": text[:middle]},
        {"type": "text", "text": text[middle:]},
    ]
    if shape == "picture":
        image = {"type": "image", "base64": _PICTURE, "mime_type": "image/png"}
        blocks.insert(1, image)
    return blocks


async def _found(kind: str, size: int, number: int, shape: str = "text") -> Any:
    return found(kind, size, number, shape)


look = StructuredTool.from_function(
    found, _found, name="look", description="Look for something in the papers."
)


class Call(NamedTuple):
    """One of a script's tool calls."""

    kind: str
    size: int
    number: int
    shape: str


@dataclass(frozen=True)
class Script:
    """What the agent does at each step: 1 to 4 calls at once, whose results are mostly short and
    now and then long."""

    most: int = 4
    """Calls at once."""
    largest: int = 45_000
    """Characters of a result."""

    def calls(self, seed: int, step: int) -> list[Call]:
        chance = random.Random(f"{seed}/{step}")
        return [self._call(chance, step * 10 + k) for k in range(chance.randint(1, self.most))]

    def _call(self, chance: random.Random, number: int) -> Call:
        low, high = chance.choices(
            [(100, 1_500), (1_500, 5_000), (5_000, 20_000), (20_000, self.largest)], [50, 30, 15, 5]
        )[0]
        kind = chance.choices([*KINDS], [45, 35, 10, 10])[0]
        size = chance.randint(min(low, self.largest // 2), min(high, self.largest))
        # As many tokens, more or less, in either script.
        size = size // 3 if kind in ("chinese", "japanese") else size
        return Call(kind, size, number, chance.choices(["text", "list", "picture"], [85, 13, 2])[0])


# ---- what is remembered -----------------------------------------------------------------------


def unit(message: BaseMessage) -> tuple[str, ...]:
    """What of a message is sent, as a provider's cache compares it."""
    content = message.content
    said = content if isinstance(content, str) else json.dumps(content)
    if isinstance(message, AIMessage):
        return message.type, said, json.dumps(message.tool_calls)
    if isinstance(message, ToolMessage):
        return message.type, said, message.tool_call_id, message.status, str(message.name)
    return message.type, said


@dataclass(frozen=True)
class Sent:
    """A request: in which step, how many tokens and messages."""

    step: int
    tokens: int
    messages: int
    share: float
    """How much of the request before is its beginning: 1.0 if it was only added to."""
    saved: float
    """How many tokens smaller it is than the request before with what came since; 0 for one with
    another summary."""


@dataclass
class Log:
    """All requests of one script, the last one whole."""

    sent: list[Sent] = field(default_factory=list)
    messages: list[BaseMessage] = field(default_factory=list)
    units: list[tuple[str, ...]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What a provider would have objected to."""

    def add(self, step: int, tokens: int, tools: str, messages: list[BaseMessage]) -> None:
        units = [(tools,), *map(unit, messages)]
        share, saved = shared(self.units, units), 0.0
        if self.sent and summary(messages) == summary(self.messages):
            new = sum(map(message_tokens, messages[len(self.messages) :]))
            saved = self.sent[-1].tokens + new - tokens
        self.sent.append(Sent(step, tokens, len(messages), share, saved))
        self.messages, self.units = messages, units

    def breaks(self) -> list[Sent]:
        """The requests that do not begin with the whole request before."""
        return [one for one in self.sent if one.share < 1]


def summary(messages: Sequence[BaseMessage]) -> str:
    """That of the last compaction, by the mark that LangChain gives it."""
    marked = [one for one in messages if one.additional_kwargs.get("lc_source") == "summarization"]
    return marked[-1].text if marked else ""


def shared(before: Sequence[tuple[str, ...]], after: Sequence[tuple[str, ...]]) -> float:
    """How much of what was sent before, if anything was, is the beginning of what is sent after."""
    if not before:
        return 1.0
    sizes = [sum(map(len, one)) for one in before]
    pairs = zip(before, after, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))
    return sum(sizes[:same]) / max(1, sum(sizes))


# ---- the model --------------------------------------------------------------------------------


class Place(NamedTuple):
    """Which step comes next in which script, and before which it ends."""

    seed: int
    step: int
    last: int


_STEP = re.compile(r"call_(\d+)_(\d+)_(\d+)_\d+")
_ORDER = re.compile(r"\[steps (\d+) to (\d+) of (\d+)\]")


def order(text: str, first: int, last: int, seed: int = 0) -> str:
    """A prompt that makes the agent take the steps from `first` to before `last` of a script."""
    return f"{text} [steps {first} to {last} of {seed}]"


def place(messages: Sequence[BaseMessage]) -> Place:
    """By what a request ends with."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and (id := _STEP.fullmatch(message.tool_call_id)):
            seed, step, last = map(int, id.groups())
            return Place(seed, step + 1, last)
        if isinstance(message, HumanMessage) and (order := _ORDER.search(message.text)):
            first, last, seed = map(int, order.groups())
            return Place(seed, first, last)
    return Place(0, 0, 0)


Summarize = Callable[[int], str]
"""The summary, by the number of the attempt. May raise."""


def good(number: int) -> str:
    return f"## Summary {number}\n" + "The agent looked through the papers and took notes. " * 40


class ScriptedModel(BaseChatModel):
    """Takes the steps of scripts, writes summaries when it is asked without tools, and refuses what
    exceeds its window."""

    script: Script = Script()
    """For all seeds."""
    window: int = WINDOW
    factor: float = 1.0
    """By how much its tokenizer counts more than `text_tokens`."""
    reports: bool = True
    """Whether it tells how many tokens it was sent."""
    summarize: SkipValidation[Summarize] = good
    hold: Any = None
    """An asyncio.Event for which summaries wait."""
    check: SkipValidation[Callable[[Sequence[BaseMessage]], list[str]]] = pairing.in_messages
    logs: SkipValidation[dict[int, Log]] = Field(default_factory=lambda: defaultdict(Log))
    """By seed."""
    summaries: SkipValidation[list[tuple[int, str]]] = Field(default_factory=list)
    """Tokens of each request for a summary, and how it ended."""

    @property
    def log(self) -> Log:
        """Of the script with seed 0."""
        return self.logs[0]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self._answer(messages, str(kwargs.get("tools", "")))
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.hold is not None and not kwargs.get("tools"):
            self.summaries.append((self.count(messages, ""), "held"))
            await self.hold.wait()
        await asyncio.sleep(0)
        return self._generate(messages, stop, None, **kwargs)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=json.dumps([convert_to_openai_tool(one) for one in tools]))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def count(self, messages: Sequence[BaseMessage], tools: str) -> int:
        """Tokens of a request."""
        return int((sum(map(message_tokens, messages)) + text_tokens(tools)) * self.factor)

    def _answer(self, messages: list[BaseMessage], tools: str) -> AIMessage:
        tokens = self.count(messages, tools)
        answer = self._step(messages, tools, tokens) if tools else self._summary(messages, tokens)
        if self.reports:
            said = int(message_tokens(answer) * self.factor)
            answer.response_metadata = {"model_provider": "scriptedmodel"}
            answer.usage_metadata = UsageMetadata(
                input_tokens=tokens, output_tokens=said, total_tokens=tokens + said
            )
        return answer

    def _step(self, messages: list[BaseMessage], tools: str, tokens: int) -> AIMessage:
        seed, step, last = place(messages)
        log = self.logs[seed]
        log.add(step, tokens, tools, messages)
        log.problems += [f"step {step}: {one}" for one in self.check(messages)]
        if tokens > self.window:
            log.problems.append(f"step {step}: {tokens} tokens are more than {self.window}")
            self._refuse(tokens)
        if step >= last:
            return AIMessage(f"Done after {step} steps.")
        calls = [
            {"name": "look", "args": call._asdict(), "id": f"call_{seed}_{step}_{last}_{k}"}
            for k, call in enumerate(self.script.calls(seed, step))
        ]
        # A model may call without a word.
        return AIMessage(f"I look at {len(calls)} papers." if step % 3 else "", tool_calls=calls)

    def _summary(self, messages: list[BaseMessage], tokens: int) -> AIMessage:
        if any(isinstance(one, ToolMessage) or getattr(one, "tool_calls", ()) for one in messages):
            # Anthropic: "requests which include tool_use or tool_result blocks must define tools".
            self.log.problems.append("a summary: calls or results in a request without tools")
        if tokens > self.window:
            self.summaries.append((tokens, "over the window"))
            self._refuse(tokens)
        try:
            text = self.summarize(len(self.summaries) + 1)
        except Exception as problem:
            self.summaries.append((tokens, str(problem)))
            raise
        self.summaries.append((tokens, "well" if text.strip() else "empty"))
        return AIMessage(text)

    def _refuse(self, tokens: int) -> None:
        raise ContextOverflowError(f"prompt is too long: {tokens} tokens > {self.window} maximum")


def holds(messages: Sequence[BaseMessage], text: str) -> bool:
    """Whether a person's message says exactly this."""
    return any(isinstance(one, HumanMessage) and one.text == text for one in messages)
